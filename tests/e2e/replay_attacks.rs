//! `x11prof replay` of malformed recordings, of clients that die, and to servers that fail: the replay succeeds or
//! prints one line of error, without a hang or panic.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use x11prof_trace::Timestamp;

use crate::harness::raw::{Client, Order};
use crate::harness::{Finished, Place, Recording};
use crate::hostile::{changed, garble, shift};

/// Core opcodes.
const CREATE_WINDOW: u8 = 1;
const DESTROY_WINDOW: u8 = 4;
const GET_GEOMETRY: u8 = 14;
const CHANGE_PROPERTY: u8 = 18;
const SET_SELECTION_OWNER: u8 = 22;
const SEND_EVENT: u8 = 25;
const SET_SCREEN_SAVER: u8 = 107;
const KILL_CLIENT: u8 = 113;
const CREATE_PIXMAP: u8 = 53;
const FREE_PIXMAP: u8 = 54;
const NO_OPERATION: u8 = 127;
/// Time limit for the replay of a short recording, whatever its bytes are.
const LONGEST: Duration = Duration::from_secs(60);

/// Replays `x11prof.mcap`. Asserts that it succeeds or fails with one line.
fn played(place: &Place, words: &[&str]) -> Finished {
    let began = Instant::now();
    let played = place.run(["replay", "x11prof.mcap"].iter().chain(words));
    let said = played.stderr();
    assert!(!said.contains("panicked"), "{played}");
    match played.status() {
        Some(0) => assert!(said.contains("of CPU time"), "{played}"),
        _ => drop(played.failed_with_one_line(1)),
    }
    assert!(began.elapsed() < LONGEST, "{:?}: {played}", began.elapsed());
    played
}

/// Request counts by kind, without the requests that the player adds.
fn counts(place: &Place, trace: &str) -> Vec<(String, u64)> {
    let report = place.json(["report", trace, "--params", "sun4-ipc", "--format", "json"]);
    let requests = report["requests"].as_array().expect("requests");
    let count = |one: &Value| {
        let name = one["name"].as_str().expect("a name").to_owned();
        (name, one["count"].as_u64().expect("a count"))
    };
    let mut counts: Vec<(String, u64)> = requests.iter().map(count).collect();
    counts.retain(|(name, _)| name != "GetInputFocus");
    counts.sort();
    counts
}

#[test]
fn garbled_recordings_replay_or_give_a_one_line_error() {
    let place = Place::new();
    for (name, seed, of) in [
        ("xset.mcap", 1, 50),
        ("xset.mcap", 2, 2000),
        ("xclock.mcap", 3, 500),
        ("xclock.mcap", 4, 5000),
        ("xterm.mcap", 5, 2000),
        ("xterm.mcap", 6, 20_000),
        ("gtk3-widget-factory.mcap", 7, 20_000),
    ] {
        changed(&place, name, seed, |record, random| {
            garble(record, random, of);
        });
        played(&place, &["--server", "xvfb", "--pace", "full"]);
    }
}

#[test]
fn truncated_recording_replays_or_fails_cleanly() {
    let place = Place::new();
    let whole = std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/xterm.mcap"
    ));
    let whole = whole.expect("a kept trace");
    for part in [1, 3, 5, 7] {
        place.write("x11prof.mcap", &whole[..whole.len() * part / 8]);
        played(&place, &["--server", "xvfb", "--pace", "full"]);
    }
}

#[test]
fn weeks_long_recording_requires_full_pace() {
    let place = Place::new();
    changed(&place, "xset.mcap", 1, |record, random| {
        shift(record, |time| {
            Timestamp::from_nanos(time.as_nanos() + (random() << 20))
        });
    });
    let refused = played(&place, &["--server", "xvfb"]).failed_with_one_line(1);
    assert!(refused.contains("--pace full"), "{refused}");
    played(&place, &["--server", "xvfb", "--pace", "full"]);
}

/// Makes a recording of 70 clients of which each sends a request each 50 ms for four seconds.
fn slow_session(place: &Place) {
    let mut recording = Recording::at(
        place,
        &place.path("x11prof.mcap"),
        &["--keep-images", "--server", "xvfb"],
    );
    let mut clients: Vec<Client> = (0..70).map(|_| recording.raw(Order::Little)).collect();
    for _ in 0..80 {
        for client in &mut clients {
            client.request(NO_OPERATION, 0, &[]);
            client.sync();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(clients);
    assert!(recording.signal(Signal::INT).success());
}

#[test]
fn killed_or_hung_server_gives_a_one_line_error() {
    let place = Place::new();
    slow_session(&place);
    for signal in ["KILL", "STOP"] {
        // Two seconds suffice for the start and are less than the session takes. Without `setpriv`
        // a stopped server would outlive its shell.
        let server = format!(
            "setpriv --pdeathsig KILL Xvfb -screen 0 1280x1024x24 \"$@\" &\nsleep 2\nkill -{signal} $!\nsleep 60\nkill -KILL $!\n"
        );
        place.write("server", server.as_bytes());
        let refused = played(&place, &["--server-command", "sh ./server"]);
        refused.failed_with_one_line(1);
    }
}

#[test]
fn thousand_clients_are_replayed() {
    let place = Place::new();
    let mut recording = Recording::at(
        &place,
        &place.path("x11prof.mcap"),
        &["--keep-images", "--server", "xvfb"],
    );
    for _ in 0..10 {
        let mut clients: Vec<Client> = (0..100).map(|_| recording.raw(Order::Little)).collect();
        for client in &mut clients {
            let (pixmap, root) = (client.id(1), client.root());
            client.request(CREATE_PIXMAP, 24, &[pixmap, root, 8 | 8 << 16]);
            client.sync();
        }
    }
    assert!(recording.signal(Signal::INT).success());
    let said = played(&place, &["--server", "xvfb"]);
    said.succeeded();
    assert!(said.stderr().contains("of 1000 clients"), "{said}");
    assert_eq!(
        counts(&place, "x11prof.mcap"),
        counts(&place, "replay-xvfb.mcap")
    );
}

#[test]
fn failing_requests_and_dying_clients_are_reproduced() {
    let place = Place::new();
    let mut recording = Recording::at(
        &place,
        &place.path("x11prof.mcap"),
        &["--keep-images", "--server", "xvfb"],
    );
    let mut first = recording.raw(Order::Little);
    // No client has such a pixmap.
    (0..7).for_each(|n| first.request(FREE_PIXMAP, 0, &[0x00ff_ff00 | n]));
    let mut second = recording.raw(Order::Little);
    let pixmap = second.id(1);
    let root = second.root();
    second.request(CREATE_PIXMAP, 24, &[pixmap, root, 8 | 8 << 16]);
    second.sync();
    // The second dies within a request of 400 bytes.
    let half = [NO_OPERATION, 0, 100, 0, 0, 0, 0, 0];
    second.socket.write_all(&half).expect("half a request");
    drop(second);
    first.request(NO_OPERATION, 0, &[]);
    assert!(recording.signal(Signal::INT).success());
    let said = played(&place, &["--server", "xvfb", "--format", "json"]);
    said.succeeded();
    assert!(!said.stderr().contains("that failed"), "{said}");
    assert!(said.stderr().contains("of 2 clients"), "{said}");
    assert_eq!(
        counts(&place, "x11prof.mcap"),
        counts(&place, "replay-xvfb.mcap")
    );
}

#[test]
fn replay_to_a_display_in_use_requires_yes_and_keeps_settings() {
    let place = Place::new();
    let mut recording = Recording::at(
        &place,
        &place.path("x11prof.mcap"),
        &["--keep-images", "--server", "xvfb"],
    );
    let mut client = recording.raw(Order::Little);
    let root = client.root();
    // A property of the root window: RESOURCE_MANAGER, 8 bits.
    client.request(CHANGE_PROPERTY, 0, &[root, 23, 31, 8, 4, 0x6162_6364]);
    client.request(SET_SCREEN_SAVER, 0, &[0x0007_0007, 0]);
    // AllTemporary: kills the resources of disconnected clients.
    client.request(KILL_CLIENT, 0, &[0]);
    client.request(NO_OPERATION, 0, &[]);
    // Requests that are left out must take a small part of the server's time.
    (0..500).for_each(|_| client.sync());
    drop(client);
    assert!(recording.signal(Signal::INT).success());
    let server = crate::harness::Server::xvfb(&[]);
    let words = ["replay", "x11prof.mcap", "--display", &server.display];
    let line = place.run(words).failed_with_one_line(2);
    assert!(line.contains("--yes"), "{line}");
    let played = place.run(words.iter().chain(&["--yes"]));
    played.succeeded();
    let said = played.stderr();
    for left_out in ["1 ChangeProperty", "1 KillClient", "1 SetScreenSaver"] {
        assert!(said.contains(left_out), "{said}");
    }
    let properties = server.client("xprop").arg("-root").output();
    let properties = properties.expect("xprop runs").stdout;
    assert!(!String::from_utf8_lossy(&properties).contains("RESOURCE_MANAGER"));
    // On a private server all requests are replayed.
    let played = place.run(["replay", "x11prof.mcap", "--server", "xvfb"]);
    played.succeeded();
    assert!(!played.stderr().contains("replaced by"), "{played}");
}

#[test]
fn replay_changes_no_windows_or_keys_of_other_programs() {
    let place = Place::new();
    let server = crate::harness::Server::xvfb(&[]);
    let socket = format!("/tmp/.X11-unix/X{}", server.display.trim_start_matches(':'));
    let mut others: Vec<Client> = (0..9)
        .map(|_| {
            let socket = std::os::unix::net::UnixStream::connect(&socket).expect("a server");
            Client::set_up(socket.into(), Order::Little, &[])
        })
        .collect();
    let other = others.last_mut().expect("a client");
    let window = other.id(1);
    other.request(
        CREATE_WINDOW,
        0,
        &[window, other.root(), 0, 0x10_0010, 0, 0, 0],
    );
    other.sync();

    let mut recording = Recording::at(&place, &place.path("x11prof.mcap"), &["--server", "xvfb"]);
    let mut client = recording.raw(Order::Little);
    let (own, root) = (client.id(1), client.root());
    assert_ne!(own >> 21, window >> 21);
    let keyboard = client.extension("XKEYBOARD");
    client.request(DESTROY_WINDOW, 0, &[window]);
    client.request(SET_SELECTION_OWNER, 0, &[0, 1, 0]);
    // A ClientMessage to the window with the focus, to a root window about itself and about another window, and an
    // UnmapNotify.
    for (destination, code, subject) in [
        (1, 33, own),
        (root, 33, root),
        (root, 33, window),
        (root, 18, window),
    ] {
        let event = [code | 32 << 8, subject, window, 0, 0, 0, 0, 0];
        client.request(SEND_EVENT, 0, &[&[destination, 0][..], &event].concat());
    }
    client.request(keyboard, 23, &[0x100, 0, 0, 0]);
    // GetInputFocus. Errors precede its reply.
    client.request(43, 0, &[]);
    let mut message = [0; 32];
    while message[0] != 1 {
        client.socket.read_exact(&mut message).expect("a message");
    }
    drop(client);
    assert!(recording.signal(Signal::INT).success());
    let words = [
        "replay",
        "x11prof.mcap",
        "--yes",
        "--display",
        &server.display,
    ];
    let played = place.run(words);
    played.succeeded();
    let said = played.stderr();
    for left_out in [
        "3 SendEvent",
        "1 SetSelectionOwner",
        "1 XKEYBOARD:GetKbdByName",
    ] {
        assert!(said.contains(left_out), "{said}");
    }
    other.request(GET_GEOMETRY, 0, &[window]);
    assert_eq!(other.reply().0[0], 1, "the window is still there");
}

#[test]
fn mostly_unplayable_recording_is_refused() {
    let place = Place::new();
    let mut recording = Recording::at(
        &place,
        &place.path("x11prof.mcap"),
        &["--keep-images", "--server", "xvfb"],
    );
    let mut client = recording.raw(Order::Little);
    // RECORD exposes other clients' messages, so a replay sends none of its requests.
    let record = client.extension("RECORD");
    (0..500).for_each(|_| client.request(record, 0, &[0x000d_0001]));
    (0..500).for_each(|_| drop(client.reply()));
    drop(client);
    assert!(recording.signal(Signal::INT).success());
    let refused = played(&place, &["--server", "xvfb"]).failed_with_one_line(1);
    assert!(refused.contains("% of the server time"), "{refused}");
}
