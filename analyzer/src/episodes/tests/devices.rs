//! Touches, key names, and clients that delay each other.

use x11prof_trace::{Block, ConnectionId, Control, Record, SwitchKind, Timestamp};

use super::*;
use crate::episodes::landmarks::Landmarks;
use crate::text::label::Label;

/// QueryExtension of this name.
fn query_extension(name: &str) -> Vec<u8> {
    let mut padded = name.as_bytes().to_vec();
    padded.resize(name.len().next_multiple_of(4), 0);
    let words = padded.chunks_exact(4);
    let words = words.map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let all: Vec<u32> = std::iter::once(name.len() as u32).chain(words).collect();
    request(98, 0, &all)
}

/// The extension is present, with this opcode.
fn extension_is(sequence: u16, major: u8) -> Vec<u8> {
    let mut bytes = reply(sequence);
    (bytes[8], bytes[9]) = (1, major);
    bytes
}

/// An XI2 event of a finger. It has no server time, so it begins at its delivery.
fn touch(kind: u16, finger: u32) -> Vec<u8> {
    let mut bytes = vec![0; 80];
    (bytes[0], bytes[1]) = (35, 131);
    bytes[2] = 2;
    bytes[4] = 12;
    bytes[8..10].copy_from_slice(&kind.to_le_bytes());
    bytes[16..20].copy_from_slice(&finger.to_le_bytes());
    bytes
}

/// The input episodes: landmark, events, microseconds.
fn inputs(trace: &Synthetic) -> Vec<(String, u64, u64)> {
    let all = found(trace).into_iter();
    all.filter(|one| one.trigger == Trigger::Input)
        .map(|one| (one.landmark.to_string(), one.events, one.latency() / 1000))
        .collect()
}

#[test]
fn touch_updates_coalesce_per_finger() {
    const BEGIN: u16 = 18;
    const UPDATE: u16 = 19;
    const END: u16 = 20;
    let mut all = Scheduled::new();
    all.at(2 * MS)
        .client_sends(&[query_extension("XInputExtension")]);
    all.at(3 * MS).server_sends(&[extension_is(2, 131)]);
    for (millis, events) in [
        (100, vec![touch(BEGIN, 7)]),
        (
            200,
            vec![touch(UPDATE, 7), touch(UPDATE, 7), touch(UPDATE, 7)],
        ),
        // Two fingers: two movements.
        (300, vec![touch(UPDATE, 7), touch(UPDATE, 8)]),
        (400, vec![touch(END, 7)]),
    ] {
        all.at(millis * MS).server_sends(&events);
        all.client((millis + 1) * MS, SwitchKind::In);
        all.at((millis + 4) * MS)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.at((millis + 6) * MS)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client((millis + 7) * MS, SwitchKind::Blocked);
        all.waits((millis + 7) * MS, POLL);
    }
    all.at(900 * MS).end();
    let of = |name: &str, events, micros| (name.to_owned(), events, micros);
    assert_eq!(
        inputs(&all.trace),
        [
            of("TouchBegin", 1, 6000),
            of("TouchUpdate", 3, 6000),
            of("TouchUpdate", 1, 6000),
            of("TouchUpdate", 1, 4000),
            of("TouchEnd", 1, 6000),
        ]
    );
}

/// An XI2 event about a key, at this time of the server's.
fn key(kind: u16, millis: u32) -> Vec<u8> {
    let mut bytes = touch(kind, 38);
    bytes[12..16].copy_from_slice(&millis.to_le_bytes());
    bytes
}

#[test]
fn raw_and_window_event_are_one_action() {
    const PRESS: u16 = 2;
    const RAW_PRESS: u16 = 13;
    let mut all = Scheduled::new();
    all.at(2 * MS)
        .client_sends(&[query_extension("XInputExtension")]);
    all.at(3 * MS).server_sends(&[extension_is(2, 131)]);
    // Together, or the window's when the client has handled the other.
    for (millis, later) in [(100, 0), (200, 400)] {
        let time = 1000 + millis as u32;
        all.at(millis * MS).server_sends(&[key(RAW_PRESS, time)]);
        if later > 0 {
            all.client(millis * MS + 100, SwitchKind::In);
            all.client(millis * MS + 200, SwitchKind::Blocked);
        }
        all.at(millis * MS + later)
            .server_sends(&[key(PRESS, time)]);
        all.client((millis + 1) * MS, SwitchKind::In);
        all.at((millis + 4) * MS)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client((millis + 7) * MS, SwitchKind::Blocked);
        all.waits((millis + 7) * MS, POLL);
    }
    all.at(900 * MS).end();
    let found = inputs(&all.trace);
    let names: Vec<_> = found.iter().map(|one| (one.0.as_str(), one.1)).collect();
    assert_eq!(names, [("KeyPress keycode 38", 2); 2]);
    assert!(found.iter().all(|one| one.2 >= 3500), "{found:?}");
}

/// A reply with `more` after its 32 bytes.
fn long_reply(sequence: u16, more: &[u8]) -> Vec<u8> {
    let mut bytes = reply(sequence);
    bytes[4..8].copy_from_slice(&(more.len() as u32 / 4).to_le_bytes());
    bytes.extend(more);
    bytes
}

/// Presses these keys every 100 ms from `millis` on; each is handled in 4 ms.
fn press(all: &mut Scheduled, millis: u64, keys: &[u8]) {
    for (n, key) in (0..).zip(keys) {
        let now = millis + 100 * n;
        let mut event = key_press(1, 0);
        event[1] = *key;
        all.at(now * MS).server_sends(&[event]);
        all.client(now * MS + 100, SwitchKind::In);
        all.at((now + 4) * MS).client_sends(&[no_operation(1)]);
        all.client((now + 5) * MS, SwitchKind::Blocked);
        all.waits((now + 5) * MS, POLL);
    }
}

#[test]
fn keys_are_named_by_the_keyboard_mapping() {
    let mut all = Scheduled::new();
    press(&mut all, 100, &[38]);
    // GetKeyboardMapping of the keys 36 to 38, two keysyms each.
    all.at(300 * MS)
        .client_sends(&[request(101, 0, &[36 | 3 << 8])]);
    let keysyms = [0xFF0D_u32, 0, 0, 0, 0x61, 0x41];
    let keysyms = keysyms.map(u32::to_le_bytes).concat();
    let mut mapping = long_reply(3, &keysyms);
    mapping[1] = 2;
    all.at(301 * MS).server_sends(&[mapping]);
    press(&mut all, 400, &[36, 37, 38]);
    all.at(900 * MS).end();
    let names: Vec<String> = inputs(&all.trace).into_iter().map(|one| one.0).collect();
    assert_eq!(
        names,
        [
            "KeyPress keycode 38",
            "KeyPress Return",
            "KeyPress keycode 37",
            "KeyPress a"
        ]
    );
}

#[test]
fn shifted_key_is_named_by_keysym_and_absorbs_shift() {
    const SHIFT: u8 = 50;
    let mut all = Scheduled::new();
    all.at(10 * MS)
        .client_sends(&[request(101, 0, &[36 | 3 << 8])]);
    let keysyms = [0xFF0D_u32, 0, 0x3D, 0x2B, 0x61, 0x41];
    let keysyms = keysyms.map(u32::to_le_bytes).concat();
    let mut mapping = long_reply(2, &keysyms);
    mapping[1] = 2;
    all.at(11 * MS).server_sends(&[mapping]);
    all.at(12 * MS)
        .client_sends(&[request(101, 0, &[u32::from(SHIFT) | 1 << 8])]);
    let mut mapping = long_reply(3, &0xFFE1_u32.to_le_bytes());
    mapping[1] = 1;
    all.at(13 * MS).server_sends(&[mapping]);
    // Both wait when the client begins.
    let mut shift = key_press(3, 0);
    shift[1] = SHIFT;
    let mut plus = key_press(3, 0);
    (plus[1], plus[28]) = (37, 1);
    all.at(100 * MS).server_sends(&[shift, plus]);
    all.client(100 * MS + 100, SwitchKind::In);
    all.at(104 * MS).client_sends(&[no_operation(1)]);
    all.client(105 * MS, SwitchKind::Blocked);
    all.waits(105 * MS, POLL);
    press(&mut all, 200, &[37]);
    all.at(900 * MS).end();
    let found = inputs(&all.trace);
    let names: Vec<_> = found.iter().map(|one| (one.0.as_str(), one.1)).collect();
    assert_eq!(names, [("KeyPress plus", 2), ("KeyPress equal", 1)]);
}

/// CreateWindow at this position in its parent, and a property of the window.
fn window(id: u32, parent: u32, (at, size): (u32, u32), property: u32, text: &str) -> Vec<u8> {
    let mut padded = text.as_bytes().to_vec();
    padded.resize(text.len().next_multiple_of(4), 0);
    let create = request(1, 0, &[id, parent, at, size, 0, 0, 0]);
    let words = [id, property, 31, 8, text.len() as u32];
    let mut change = request(18, 0, &words);
    change.extend(&padded);
    change[2] += (padded.len() / 4) as u8;
    [create, change].concat()
}

fn key_in(window: u32) -> Vec<u8> {
    let mut event = key_press(1, 0);
    event[12..16].copy_from_slice(&window.to_le_bytes());
    event
}

const WM_NAME: u32 = 39;
const WM_CLASS: u32 = 67;

#[test]
fn key_is_named_after_the_visible_toplevel() {
    let (top, proxy) = (BASE + 0x10, BASE + 0x11);
    let mut all = Scheduled::new();
    let beside = 0xFFFF_FFFF;
    all.at(10 * MS).client_sends(&[
        window(top, ROOT, (0, 200 | 100 << 16), WM_CLASS, "notes\0Notes\0"),
        window(
            proxy,
            top,
            (beside, 1 | 1 << 16),
            WM_CLASS,
            "f\0FocusProxy\0",
        ),
    ]);
    all.at(100 * MS).server_sends(&[key_in(proxy)]);
    all.client(100 * MS + 100, SwitchKind::In);
    all.at(104 * MS).client_sends(&[no_operation(1)]);
    all.client(105 * MS, SwitchKind::Blocked);
    all.waits(105 * MS, POLL);
    all.at(900 * MS).end();
    let names: Vec<String> = inputs(&all.trace).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["KeyPress keycode 38 in Notes"]);
}

#[test]
fn many_titles_do_not_exhaust_the_symbol_table() {
    let mut trace = Synthetic::new();
    let (mut episodes, mut pipeline) = (Episodes::new(&EpisodeOptions::default()), Pipeline::new());
    for n in 0..100_000_u32 {
        let id = BASE + 0x10;
        let title = format!("title {n}");
        trace.client_sends(&[window(id, ROOT, (0, 1 | 1 << 16), WM_NAME, &title)]);
        trace.wait(100 * MS).server_sends(&[key_in(id)]);
        // DestroyWindow.
        trace.wait(MS).client_sends(&[request(4, 0, &[id])]);
        for record in trace.records.drain(..) {
            pipeline.feed(record, |observation| episodes.observe(observation));
        }
    }
    let findings = episodes.finish();
    assert!(findings.count() >= 100_000, "{}", findings.count());
    let last = findings.episodes().last().unwrap().landmark.to_string();
    assert!(last.contains("\"title "), "{last}");
    let new = "a name that comes after all of them";
    assert_eq!(x11prof_protocol::Symbol::new(new).as_str(), new);
}

#[test]
fn keys_are_named_by_the_xkb_map() {
    let mut all = Scheduled::new();
    all.at(2 * MS).client_sends(&[query_extension("XKEYBOARD")]);
    all.at(3 * MS).server_sends(&[extension_is(2, 140)]);
    // XkbGetMap.
    all.at(4 * MS).client_sends(&[request(140, 8, &[0; 6])]);
    let mut map = long_reply(3, &[0; 40]);
    // Types and keysyms: one type with an entry that preserves modifiers, one key with a keysym.
    (map[12], map[15], map[17], map[20]) = (3, 1, 38, 1);
    (map[40 + 5], map[40 + 6]) = (1, 1);
    (map[60 + 6], map[68]) = (1, b'b');
    all.at(5 * MS).server_sends(&[map]);
    press(&mut all, 400, &[38]);
    all.at(900 * MS).end();
    let names: Vec<String> = inputs(&all.trace).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["KeyPress b"]);
}

#[test]
fn blocked_write_extends_episode_and_counts_as_server() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[key_press(1, 0)]);
    all.client(100 * MS, In);
    all.at(104 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(105 * MS, Blocked);
    all.waits(105 * MS, POLL);
    // The server was busy until now. Then it reads the client's data, and there is room to write.
    all.at(150 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(150 * MS + 50, In);
    all.at(160 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(161 * MS, Blocked);
    all.waits(161 * MS, POLL);
    all.at(900 * MS).end();
    assert_eq!(
        inputs(&all.trace),
        [("KeyPress keycode 38".to_owned(), 1, 60_000)]
    );
    let episodes = found(&all.trace);
    let key = episodes.iter().find(|one| one.trigger == Trigger::Input);
    let parts = key.unwrap().parts;
    assert_eq!(
        parts.of(LatencyComponent::Server(ServerCause::Reply)) / 1000,
        45_000
    );
    assert_eq!(parts.of(LatencyComponent::Client) / 1000, 5000 + 9950);
    assert_eq!(parts.of(LatencyComponent::Network), 0);
}

#[test]
fn image_that_the_socket_holds_up_is_no_animation() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    all.at(100 * MS).server_sends(&[key_press(1, 0)]);
    all.client(100 * MS, In);
    let mut at = 101 * MS;
    for _ in 0..8 {
        all.at(at).client_sends(&[poly_fill_rectangle(1)]);
        // A brief wait of unknown kind, and then for room to write, until the server reads the next part.
        all.client(at + 20, Blocked);
        all.client(at + 60, In);
        all.client(at + 80, Blocked);
        all.waits(at + 80, POLL);
        at += 20 * MS;
        all.at(at).client_sends(&[poly_fill_rectangle(1)]);
        all.client(at + 40, In);
        at += 1000;
    }
    all.client(at, Blocked);
    all.waits(at, POLL);
    all.at(900 * MS).end();
    let [(_, _, latency)] = &inputs(&all.trace)[..] else {
        panic!("one key")
    };
    assert!((160_000..180_000).contains(latency), "{latency}");
    let episodes = found(&all.trace);
    let names: Vec<_> = episodes
        .iter()
        .map(|one| (one.landmark.as_str(), one.unsure))
        .collect();
    let start = ("Connected, nothing shown", None);
    assert_eq!(names, [start, ("KeyPress keycode 38", None)]);
}

/// Bytes from another client at N microseconds, after its setup.
fn other_sends(trace: &mut Synthetic, micros: u64, offset: u64, bytes: &[u8]) {
    trace.records.push(Record::Block(Block {
        time: Timestamp::from_nanos(1_000_000_000 + micros * 1000),
        connection: ConnectionId(2),
        direction: x11prof_trace::Direction::ToServer,
        offset,
        wire_len: bytes.len() as u32,
        fds: 0,
        gaps: Vec::new(),
        bytes: bytes.to_vec().into(),
    }));
}

#[test]
fn server_grab_delays_other_clients_only() {
    const SETUP: u64 = 12;
    for (by_other, expected) in [(true, (20, 5)), (false, (0, 25))] {
        let mut trace = Synthetic::new();
        // The other client connects like the first one.
        let again: Vec<Record> = trace.records.iter().filter_map(second).collect();
        trace.records.extend(again);
        let grab = request(36, 0, &[]);
        if by_other {
            other_sends(&mut trace, 10 * MS, SETUP, &grab);
        } else {
            trace.wait(10 * MS).client_sends(&[grab]);
        }
        let asked = if by_other { 20 } else { 10 };
        trace.wait(asked * MS).client_sends(&[get_input_focus()]);
        if by_other {
            other_sends(&mut trace, 40 * MS, SETUP + 4, &request(37, 0, &[]));
        }
        let sequence = if by_other { 1 } else { 2 };
        trace.wait(25 * MS).server_sends(&[reply(sequence)]);
        trace.wait(MS).client_sends(&[no_operation(1)]);
        trace.end();
        let episodes = found(&trace);
        let of = episodes.iter().filter(|one| one.client == ConnectionId(1));
        let parts: Vec<_> = of.map(|one| one.parts).collect();
        let sum = |asked| -> u64 {
            let each = parts
                .iter()
                .map(|parts| parts.of(LatencyComponent::Server(asked)));
            each.sum::<u64>() / 1_000_000
        };
        assert_eq!(
            (sum(ServerCause::Grabbed), sum(ServerCause::Reply)),
            expected,
            "{by_other}"
        );
    }
}

/// Converts a record of the first client's connection to one of a second client's.
fn second(record: &Record) -> Option<Record> {
    match record.clone() {
        Record::Block(block) => Some(Record::Block(Block {
            connection: ConnectionId(2),
            ..block
        })),
        Record::Control(time, Control::Opened(mut opened)) => {
            opened.connection = ConnectionId(2);
            opened.pid = None;
            Some(Record::Control(time, Control::Opened(opened)))
        }
        _ => None,
    }
}

/// LeaveNotify after the request of this number.
fn leaves(sequence: u16, millis: u32, mode: u8) -> Vec<u8> {
    let mut bytes = key_press(sequence, millis);
    (bytes[0], bytes[1], bytes[30]) = (8, 0, mode);
    bytes
}

pub(super) fn button(kind: u8, sequence: u16, millis: u32) -> Vec<u8> {
    let mut bytes = key_press(sequence, millis);
    (bytes[0], bytes[1]) = (kind, 1);
    bytes
}

#[test]
fn crossing_caused_by_a_client_joins_its_episode() {
    use SwitchKind::{Blocked, In};
    let clicked = |own: bool| {
        let mut all = Scheduled::new();
        all.at(100 * MS).server_sends(&[button(4, 1, 1099)]);
        all.client(100 * MS + 100, In);
        // UnmapWindow, or a request without effect.
        let hides = match own {
            true => request(10, 0, &[5]),
            false => no_operation(1),
        };
        all.at(101 * MS).client_sends(&[hides]);
        all.at(102 * MS).server_sends(&[leaves(2, 1101, 0)]);
        all.at(160 * MS).client_sends(&[poly_fill_rectangle(1)]);
        all.client(160 * MS + 20, Blocked);
        all.waits(160 * MS + 20, POLL);
        all.at(900 * MS).end();
        inputs(&all.trace)
    };
    let press = "ButtonPress button 1".to_owned();
    assert_eq!(clicked(true), [(press, 2, 60_500)]);
    // The user's.
    assert_eq!(clicked(false).len(), 2);
}

#[test]
fn crossing_from_a_grab_is_no_user_action() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    all.at(100 * MS)
        .server_sends(&[leaves(1, 1099, 2), button(4, 1, 1099)]);
    all.client(100 * MS + 100, In);
    all.at(120 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(120 * MS + 20, Blocked);
    all.waits(120 * MS + 20, POLL);
    all.at(900 * MS).end();
    let press = "ButtonPress button 1".to_owned();
    assert_eq!(inputs(&all.trace), [(press, 2, 20_500)]);
}

#[test]
fn click_with_a_crossing_is_one_action() {
    use SwitchKind::{Blocked, In};
    for apart in [0, 3 * MS] {
        let mut all = Scheduled::new();
        all.at(100 * MS).server_sends(&[leaves(1, 1099, 0)]);
        all.client(100 * MS + 100, In);
        // The client has sent nothing when it reads the click.
        let click = [button(4, 1, 1100 + apart as u32 / 1000)];
        all.at(100 * MS + 200 + apart).server_sends(&click);
        all.at(120 * MS).client_sends(&[poly_fill_rectangle(1)]);
        all.client(120 * MS + 20, Blocked);
        all.waits(120 * MS + 20, POLL);
        all.at(900 * MS).end();
        let found = inputs(&all.trace);
        let names: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["ButtonPress button 1"], "{found:?}");
    }
    // Both arrive together.
    let mut all = Scheduled::new();
    let both = [leaves(1, 1099, 0), button(4, 1, 1099)];
    all.at(100 * MS).server_sends(&both);
    all.client(100 * MS + 100, In);
    all.at(120 * MS).client_sends(&[poly_fill_rectangle(1)]);
    all.client(120 * MS + 20, Blocked);
    all.waits(120 * MS + 20, POLL);
    all.at(900 * MS).end();
    let press = "ButtonPress button 1".to_owned();
    assert_eq!(inputs(&all.trace), [(press, 2, 20_500)]);
}

#[test]
fn crossings_of_the_user_are_a_landmark_of_their_own() {
    use SwitchKind::{Blocked, In};
    let mut all = Scheduled::new();
    // A grab makes the pointer leave; a second later, the user does.
    for (number, mode, took) in [(0, 1, 12), (1, 0, 4)] {
        let at = (100 + 1000 * number) * MS;
        let leaves = leaves(1, 1099 + 1000 * number as u32, mode);
        all.at(at).server_sends(&[leaves]);
        all.client(at + 100, In);
        all.at(at + took * MS)
            .client_sends(&[poly_fill_rectangle(1)]);
        all.client(at + took * MS + 20, Blocked);
        all.waits(at + took * MS + 20, POLL);
    }
    all.at(2000 * MS).end();
    let found = findings(&all.trace, &EpisodeOptions::default());
    let name = |(kind, name): &(Trigger, Label)| (kind.name(), name.to_string());
    let sums = |of: &Landmarks| -> Vec<_> {
        // Without the start-up.
        let list = of.list().into_iter().take(2);
        list.map(|(key, of)| (name(key), of.total)).collect()
    };
    let expected = |names: [&str; 2]| {
        let [grab, user] = names.map(str::to_owned);
        vec![
            (("asynchronous", grab), 12_000_000),
            (("input", user), 4_000_000),
        ]
    };
    assert_eq!(sums(&found.landmarks), expected(["LeaveNotify"; 2]));
    let groups = ["Crossings without motion", "Pointer crossings"];
    assert_eq!(sums(&found.groups), expected(groups));
}
