//! `x11prof replay`: the same requests on another server, and the same picture.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, ImageFormat, InputFocus, WindowClass,
};

use crate::harness::raw::Order;
use crate::harness::{
    Finished, Place, Recording, Server, is_key_down, needs, until, wait, xterm_trace,
};
use crate::timed::slow_handlers;

/// The screens of private servers.
const SCREEN: &str = "1280x1024x24";
const INDEXED: &str = "1280x1024x8";

/// The screen of a server, as `replay --pictures` writes it.
fn picture(server: &Server) -> Vec<u8> {
    let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
    let screen = &x.setup().roots[screen];
    let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
    let format = ImageFormat::Z_PIXMAP;
    let cookie = x.get_image(format, screen.root, 0, 0, width, height, u32::MAX);
    let image = cookie.expect("a request").reply().expect("an image");
    let mut picture = format!("P6\n{width} {height}\n255\n").into_bytes();
    match image.depth {
        8 => image
            .data
            .iter()
            .for_each(|pixel| picture.extend([*pixel; 3])),
        _ => image
            .data
            .chunks_exact(4)
            .for_each(|pixel| picture.extend([pixel[2], pixel[1], pixel[0]])),
    }
    picture
}

/// Waits until the screen stays unchanged.
fn settled(server: &Server) -> Vec<u8> {
    let mut last = picture(server);
    let mut same = 0;
    until("a picture that stays", || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let now = picture(server);
        same = if now == last { same + 1 } else { 0 };
        last.clone_from(&now);
        (same == 3).then_some(now)
    })
}

/// A recording of clients, with a picture for each mark.
struct Session {
    place: Place,
    server: Server,
    recording: Recording,
    pictures: Vec<(String, Vec<u8>)>,
    clients: Vec<Child>,
}

impl Session {
    fn new(more: &[&str]) -> Session {
        Session::on(SCREEN, more)
    }

    fn on(screen: &str, more: &[&str]) -> Session {
        let place = Place::new();
        let server = Server::xvfb(&["-screen", "0", screen]);
        let mut words = vec!["--keep-images", "--display", &server.display];
        words.extend(more);
        let recording = Recording::at(&place, &place.path("trace.mcap"), &words);
        Session {
            place,
            server,
            recording,
            pictures: Vec::new(),
            clients: Vec::new(),
        }
    }

    fn client(&mut self, program: &str, package: &str, arguments: &[&str]) {
        needs(program, package);
        let mut command = self.recording.client(program);
        command
            .args(arguments)
            .env("HOME", self.place.path("."))
            .env("NO_AT_BRIDGE", "1")
            .env("GDK_BACKEND", "x11")
            .env("GSETTINGS_BACKEND", "memory")
            .current_dir(self.place.path("."));
        self.clients.push(command.spawn().expect("it starts"));
    }

    /// Waits for a window, by its class.
    fn window(&self, class: &str) {
        let words = ["search", "--sync", "--onlyvisible", "--class", class];
        self.xdotool(&words);
    }

    /// Sends input through xdotool, which is not recorded.
    fn xdotool(&self, words: &[&str]) {
        needs("xdotool", "xdotool");
        Finished::of(self.server.client("xdotool").args(words)).succeeded();
    }

    /// Sets a mark and stores a picture of the screen.
    fn mark(&mut self, name: &str) {
        let picture = settled(&self.server);
        let words = ["mark", "--display", &self.server.display, name];
        self.place.ok(words);
        self.pictures.push((name.to_owned(), picture));
    }

    /// Stops the recording; its clients exit with it.
    fn end(&mut self) {
        assert!(self.recording.signal(Signal::INT).success());
        for client in &mut self.clients {
            // The client may have exited with its connection.
            let _ = client.kill();
            let _ = client.wait();
        }
    }

    /// Replays the recording to a similar server. Asserts the recorded request counts and the picture of each mark,
    /// and returns the report.
    fn is_the_same_on(&self, server: &str, pace: &str) -> Value {
        let folder = self.place.path("pictures");
        let pictures = folder.to_string_lossy().into_owned();
        let words = ["--pace", pace, "--pictures", &pictures, "--format", "json"];
        let played = self.place.run(
            ["replay", "trace.mcap", "--server", server]
                .iter()
                .chain(&words),
        );
        let said = played.stderr();
        let compared: Value = serde_json::from_str(&played.succeeded()).expect("JSON");
        for (name, recorded) in &self.pictures {
            let file = format!("pictures/{server}/{name}.ppm");
            assert_eq!(self.place.mode(&file), 0o600);
            let shown = std::fs::read(self.place.path(&file));
            let shown = shown.expect("a picture");
            let differ = different(recorded, &shown);
            assert!(differ.is_none(), "{name}: {differ:?} differ\n{said}");
        }
        let replay = format!("replay-{server}.mcap");
        let (recorded, replayed) = (self.counts("trace.mcap"), self.counts(&replay));
        // The comparison counts the recorded requests, without the player's.
        let lines = compared["requests"].as_array().expect("requests");
        let compared_requests = lines.iter().filter_map(|line| line["count"].as_u64());
        let requests: u64 = recorded.iter().map(|(_, count)| count).sum();
        assert_eq!(compared_requests.sum::<u64>(), requests, "{compared}");
        let has = |name: &str| lines.iter().any(|line| line["name"] == name);
        assert!(lines.iter().all(|line| line["count"] != 0), "{compared}");
        let recorded_focus = recorded.iter().any(|(name, _)| name == "GetInputFocus");
        assert_eq!(has("GetInputFocus"), recorded_focus, "{compared}");
        let added = added(&said);
        let expected: Vec<(String, u64)> = recorded
            .into_iter()
            .map(|(name, count)| match name.as_str() {
                "GetInputFocus" => (name, count + added),
                _ => (name, count),
            })
            .collect();
        let mut expected: Vec<_> = expected;
        if added > 0 && !expected.iter().any(|(name, _)| name == "GetInputFocus") {
            expected.push(("GetInputFocus".to_owned(), added));
        }
        expected.sort();
        assert_eq!(expected, replayed, "{said}");
        // The recording does not contain the order in which the server read two clients, so an event may be sent to
        // a destroyed window.
        let mut failed = said.lines().filter(|line| line.contains("that failed"));
        assert!(failed.all(|line| line.ends_with(" SendEvent")), "{said}");
        compared
    }

    /// Requests by kind.
    fn counts(&self, trace: &str) -> Vec<(String, u64)> {
        let report = self
            .place
            .json(["report", trace, "--params", "sun4-ipc", "--format", "json"]);
        let requests = report["requests"].as_array().expect("requests");
        let mut counts: Vec<(String, u64)> = requests
            .iter()
            .map(|one| {
                let name = one["name"].as_str().expect("a name").to_owned();
                (name, one["count"].as_u64().expect("a count"))
            })
            .collect();
        counts.sort();
        counts
    }
}

/// The number of additional round trips that the player reports.
fn added(said: &str) -> u64 {
    let line = said
        .lines()
        .find(|line| line.contains("GetInputFocus request"));
    let number = line.and_then(|line| line.split(' ').nth(2)?.parse().ok());
    number.unwrap_or(0)
}

/// The number of differing pixels and the first of them; `None` if the pictures are equal.
fn different(a: &[u8], b: &[u8]) -> Option<(usize, usize)> {
    assert_eq!(a.len(), b.len(), "pictures of one size");
    let differ = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
    let mut at = differ.map(|(at, _)| at / 3);
    let first = at.next()?;
    Some((at.count() + 1, first))
}

#[test]
fn signal_ends_all_replays() {
    let trace = xterm_trace();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let mut replay = place.x11prof(["replay", "--times", "99", "--server", "xvfb"]);
        let mut child = replay.arg(trace).spawn().expect("x11prof starts");
        let second = place.path("replay-xvfb-2.mcap");
        until("the second replay", || second.exists().then_some(()));
        // At most moments a server of a replay starts or ends.
        kill_process(Pid::from_child(&child), signal).expect("a signal is sent");
        let status = wait(&mut child, "replay");
        assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
        assert!(!place.path("replay-xvfb-4.mcap").exists());
    }
}

/// Records an xterm into which xdotool sends input.
fn record_in_xterm(place: &Place, input: &str) {
    let find = "xdotool search --sync --onlyvisible --class xterm mousemove --window %1 50 50";
    let shell = format!("xterm & {find}; xdotool {input} sleep .5; kill $!");
    place.ok(["record", "--server", "xvfb", "--", "sh", "-c", &shell]);
}

/// A trace may end while a key is pressed, and a signal may end the replay.
#[test]
fn replay_leaves_no_key_pressed() {
    needs("xdotool", "xdotool");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let (x, _) = x11rb::connect(Some(&server.display)).expect("a connection");
    let replay = [
        "replay",
        "x11prof.mcap",
        "--yes",
        "--display",
        &server.display,
    ];
    record_in_xterm(&place, "keydown a");
    place.ok(replay);
    assert!(!is_key_down(&x));
    record_in_xterm(&place, "keydown a sleep 3 keyup a");
    for signal in [Signal::INT, Signal::TSTP] {
        let mut command = place.x11prof(replay);
        let mut child = command.process_group(0).spawn().expect("it starts");
        until("a key that is down", || is_key_down(&x).then_some(()));
        kill_process_group(Pid::from_child(&child), signal).expect("sent");
        let status = wait(&mut child, "x11prof replay");
        assert!(!status.success() && !is_key_down(&x), "{status}");
    }
}

#[test]
fn replay_presses_no_keys_for_other_programs() {
    needs("xdotool", "xdotool");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
    let (window, root) = (
        x.generate_id().expect("an id"),
        x.setup().roots[screen].root,
    );
    let values = CreateWindowAux::new()
        .override_redirect(1)
        .event_mask(EventMask::KEY_PRESS);
    let class = WindowClass::INPUT_OUTPUT;
    x.create_window(0, window, root, 0, 0, 1280, 1024, 0, class, 0, &values)
        .and_then(|_| x.map_window(window))
        .and_then(|_| x.set_input_focus(InputFocus::PARENT, window, 0_u32))
        .and_then(|_| x.flush())
        .expect("it is sent");
    record_in_xterm(&place, "key a");
    let words = [
        "replay",
        "x11prof.mcap",
        "--yes",
        "--display",
        &server.display,
    ];
    let replayed = place.run(words);
    replayed.succeeded();
    let said = replayed.stderr();
    assert!(said.contains("1 input left out"), "{said}");
    x.get_input_focus().expect("sent").reply().expect("a reply");
    while let Some(event) = x.poll_for_event().expect("a connection") {
        assert!(matches!(event, Event::MappingNotify(_)), "{event:?}");
    }
}

#[test]
fn core_drawing_and_typing_replay_identically_at_any_pace() {
    let mut session = Session::new(&[]);
    session.client(
        "xterm",
        "xterm",
        &["+bc", "-geometry", "60x10", "-e", "cat"],
    );
    session.window("XTerm");
    session.mark("begin");
    session.xdotool(&["mousemove", "100", "60", "type", "the quick brown fox"]);
    session.client("wish", "tk", &[]);
    session.window("Wish");
    session.mark("typed");
    session.end();
    session.is_the_same_on("xvfb", "recorded");
    session.is_the_same_on("xvfb", "full");
    let diff = session
        .place
        .run(["diff", "trace.mcap", "--", "replay-xvfb.mcap"]);
    let said = diff.stderr();
    diff.succeeded();
    assert!(said.contains("is a replay of trace.mcap"), "{said}");
    // A different server plays the same requests.
    session
        .place
        .ok(["replay", "trace.mcap", "--server", "xvnc", "--pace", "full"]);
    // The number of the player's own round trips depends on the server.
    let counts = |trace| {
        let mut counts = session.counts(trace);
        counts.retain(|(name, _)| name != "GetInputFocus");
        counts
    };
    assert_eq!(counts("replay-xvnc.mcap"), counts("replay-xvfb.mcap"));
    // X.Org's keyboard driver uses other key codes for the arrow keys.
    let other_keys = |server| {
        let words = ["replay", "trace.mcap", "--pace", "full", "--server", server];
        let played = session.place.run(words);
        let said = played.stderr();
        played.succeeded();
        said.contains("are other keys on this server")
    };
    assert!(other_keys("xorg-dummy") && !other_keys("xvfb"));
}

#[test]
fn window_manager_and_clients_replay_identically() {
    let mut session = Session::new(&[]);
    let started = session.place.path("started");
    let touch = format!("touch {}", started.display());
    session.client("openbox", "openbox", &["--startup", &touch]);
    until("openbox's start", || started.exists().then_some(()));
    session.client(
        "xterm",
        "xterm",
        &["+bc", "-geometry", "40x8+40+40", "-e", "cat"],
    );
    // The order of simultaneous requests of two clients is not recorded.
    session.window("XTerm");
    session.client(
        "xmessage",
        "x11-utils",
        &["-geometry", "+400+300", "a message"],
    );
    session.window("Xmessage");
    session.mark("windows");
    // Drag the title bar.
    let drag = "mousemove 200 48 mousedown 1 mousemove 300 200 mousemove 420 260 mouseup 1";
    session.xdotool(&drag.split(' ').collect::<Vec<_>>());
    session.mark("dragged");
    session.end();
    session.is_the_same_on("xvfb", "recorded");
}

#[test]
fn indexed_visual_replays_identically() {
    let mut session = Session::on(INDEXED, &[]);
    session.client(
        "xterm",
        "xterm",
        &["+bc", "-bg", "navy", "-fg", "gold", "-e", "cat"],
    );
    session.window("XTerm");
    session.client(
        "xmessage",
        "x11-utils",
        &["-bg", "coral", "-geometry", "+700+500", "a message"],
    );
    session.window("Xmessage");
    session.mark("windows");
    session.end();
    session.is_the_same_on("xvfb-8", "recorded");
}

#[test]
fn menu_and_incremental_selection_replay_identically() {
    let mut session = Session::new(&[]);
    session.client(
        "xterm",
        "xterm",
        &["+bc", "-geometry", "80x20", "-e", "cat"],
    );
    session.window("XTerm");
    // The menu is an override-redirect window with a pointer grab.
    session.xdotool(&[
        "mousemove",
        "200",
        "100",
        "keydown",
        "ctrl",
        "mousedown",
        "1",
    ]);
    session.mark("menu");
    session.xdotool(&["mousemove", "900", "900", "mouseup", "1", "keyup", "ctrl"]);
    // A selection that is transferred in pieces (INCR) between two clients.
    let long = session
        .place
        .write("long", &b"a long selection ".repeat(40_000));
    let owner = format!("xsel -nib <{}", long.display());
    session.client("sh", "dash", &["-c", &owner]);
    let mut paste = session.recording.client("xsel");
    until("the selection", || {
        let pasted = Finished::of(paste.arg("-ob")).stdout();
        (pasted.len() == 40_000 * 17).then_some(())
    });
    session.mark("pasted");
    session.end();
    session.is_the_same_on("xvfb", "recorded");
}

#[test]
fn render_toolkit_replays_identically() {
    // Recordings do not contain shared memory, so disable it.
    let mut session = Session::new(&["--try", "no-sharing"]);
    session.client("mousepad", "mousepad", &["--disable-server"]);
    session.window("Mousepad");
    session.mark("begin");
    session.end();
    session.is_the_same_on("xvfb", "recorded");
}

#[test]
fn input_method_replays_identically() {
    let mut session = Session::new(&["--try", "no-sharing"]);
    session.client("nabi", "nabi", &[]);
    needs("xprop", "x11-utils");
    until("the input method", || {
        let mut xprop = session.server.client("xprop");
        let property = Finished::of(xprop.args(["-root", "XIM_SERVERS"])).stdout();
        property.contains("@server=nabi").then_some(())
    });
    needs("xterm", "xterm");
    // Both programs must use the same locale.
    let words = "LC_ALL=C.UTF-8 XMODIFIERS=@im=nabi xterm +bc -geometry 60x10+0+300 -e cat";
    let words: Vec<&str> = words.split(' ').collect();
    session.client("env", "coreutils", &words);
    session.window("XTerm");
    session.xdotool(&["mousemove", "100", "360", "type", "hello "]);
    session.mark("typed");
    // Type Hangul, which the input method composes from letters.
    session.xdotool(&["key", "shift+space"]);
    session.xdotool(&["type", "dkssud "]);
    session.mark("composed");
    session.end();
    session.is_the_same_on("xvfb", "recorded");
}

#[test]
fn drag_and_drop_between_clients_replays_identically() {
    let mut session = Session::new(&["--try", "no-sharing"]);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/dragged.py");
    for side in ["from", "to"] {
        session.client("/usr/bin/python3", "python3-gi", &[program, side]);
        session.xdotool(&[
            "search",
            "--sync",
            "--onlyvisible",
            "--name",
            &format!("Drag {side}"),
        ]);
    }
    session.mark("begin");
    let drag = "mousemove 120 90 mousedown 1 mousemove 180 95 mousemove 300 95";
    session.xdotool(&drag.split(' ').collect::<Vec<_>>());
    session.xdotool(&["mousemove", "480", "90", "mousemove", "490", "92"]);
    session.mark("dragged");
    session.xdotool(&["mouseup", "1"]);
    session.mark("dropped");
    let [.., before, after] = &session.pictures[..] else {
        panic!("three pictures")
    };
    assert_ne!(before.1, after.1, "the text was dropped");
    session.end();
    session.is_the_same_on("xvfb", "recorded");
}

#[test]
fn both_byte_orders_are_replayed() {
    let place = Place::new();
    let help = Command::new("Xvfb").arg("-help").output().expect("help");
    let reported = String::from_utf8_lossy(&help.stderr).contains("+byteswappedclients");
    if reported {
        // The private server of a replay refuses clients of the other order.
        return;
    }
    let mut recording = Recording::start(&place, &["--keep-images"]);
    for order in [Order::Little, Order::Big] {
        let mut client = recording.raw(order);
        let (pixmap, context, root) = (client.id(1), client.id(2), client.root());
        let size = match order {
            Order::Little => 64 | 64 << 16,
            Order::Big => 64 << 16 | 64,
        };
        client.request(53, 24, &[pixmap, root, size]);
        client.request(55, 0, &[context, pixmap, 0]);
        client.request(70, 0, &[pixmap, context, 0, size]);
        client.sync();
    }
    assert!(recording.signal(Signal::INT).success());
    let played = place.run([
        "replay",
        "trace.mcap",
        "--server",
        "xvfb",
        "--format",
        "json",
    ]);
    let said = played.stderr();
    played.succeeded();
    assert!(!said.contains("requests that failed"), "{said}");
    assert!(said.contains("of 2 clients"), "{said}");
}

#[test]
fn unplayable_recording_gives_a_one_line_error() {
    let place = Place::new();
    let refused = |words: &[&str], line: &str| {
        let said = place.run(words).failed_with_one_line(1);
        assert!(said.contains(line), "{said}");
    };
    place.write("none.mcap", b"no trace");
    refused(&["replay", "none.mcap", "--server", "xvfb"], "none.mcap");
    refused(&["replay", "--server", "xvfb"], "no such recording");
    let attached = {
        let server = Server::xvfb(&[]);
        let trace = place.path("attached.mcap");
        let words = ["--attach", "--seconds", "1", "--display", &server.display];
        let mut xclock = server.client("xclock").spawn().expect("xclock starts");
        let window = ["search", "--sync", "--onlyvisible", "--class", "XClock"];
        Finished::of(server.client("xdotool").args(window)).succeeded();
        place.ok(["record", "-o"]
            .iter()
            .map(|word| (*word).into())
            .chain([trace.to_string_lossy().into_owned()])
            .chain(words.map(str::to_owned)));
        xclock.kill().expect("it runs");
        xclock.wait().expect("it has ended");
        "attached.mcap"
    };
    refused(
        &["replay", attached, "--server", "xvfb"],
        "begins in the middle of a session",
    );
    let depth = Recording::start(&place, &[]);
    drop(depth.raw(Order::Little));
    let mut depth = depth;
    assert!(depth.signal(Signal::INT).success());
    refused(
        &["replay", "trace.mcap", "--server", "xvfb-8"],
        "it was recorded at depth 24, the display has depth 8",
    );
}

/// `git bisect run` finds the commit that slowed a server, and the report names the request.
#[test]
fn git_bisect_finds_the_commit_that_slowed_a_request() {
    const COMMITS: usize = 6;
    const SLOW_FROM: usize = 4;
    needs("git", "git");
    let place = Place::new();
    let library = slow_handlers(&place);
    let recording = Recording::start(&place, &[]);
    let mut client = recording.raw(Order::Little);
    // With the preloaded library each request takes 100 µs.
    (0..300).for_each(|_| client.request(127, 20, &[]));
    client.sync();
    drop(client);
    let mut recording = recording;
    assert!(recording.signal(Signal::INT).success());
    place.write("budget.toml", b"[total]\nserver_ms = 15.0\n");
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
        Finished::of(git.args(words).current_dir(place.path("."))).succeeded()
    };
    git(&["init", "-q"]);
    for commit in 1..=COMMITS {
        let preloaded = match commit >= SLOW_FROM {
            true => format!("LD_PRELOAD=\"$LD_PRELOAD:{}\"", library.display()),
            false => String::new(),
        };
        let server =
            format!("# {commit}\nexec env {preloaded} Xvfb -screen 0 1280x1024x24 \"$@\"\n");
        place.write("server", server.as_bytes());
        git(&["add", "server"]);
        git(&["commit", "-q", "-m", &format!("commit {commit}")]);
    }
    let oldest = format!("HEAD~{}", COMMITS - 1);
    git(&["bisect", "start", "HEAD", &oldest]);
    let x11prof = env!("CARGO_BIN_EXE_x11prof");
    let replay = ["replay", "trace.mcap", "--server-command", "sh ./server"];
    let budget = ["--budget", "budget.toml"];
    let mut words = vec!["bisect", "run", x11prof];
    words.extend(replay.iter().chain(&budget));
    let found = git(&words);
    let first_bad = format!("commit {SLOW_FROM}");
    let verdict = found
        .lines()
        .skip_while(|line| !line.contains("is the first bad commit"));
    assert!(
        verdict.clone().any(|line| line.contains(&first_bad)),
        "{found}"
    );
    git(&["checkout", "-q", "--detach", "bisect/bad"]);
    let slow = place.run(replay.iter().chain(&budget));
    assert_eq!(slow.status(), Some(1), "{slow}");
    assert!(slow.stdout().contains(" NoOperation +"), "{slow}");
}

#[test]
fn server_ends_with_the_script_that_started_it() {
    let place = Place::new();
    let pid = place.path("pid");
    let script = format!("Xvfb \"$@\" & echo $! >'{}'\nwait\n", pid.display());
    place.write("server", script.as_bytes());
    let mut replay = place.x11prof(["replay", "--server-command", "sh ./server"]);
    Finished::of(replay.arg(xterm_trace())).succeeded();
    let server = std::fs::read_to_string(pid).expect("a process id");
    let command = std::path::Path::new("/proc")
        .join(server.trim())
        .join("cmdline");
    let is_over = || std::fs::read(&command).map_or(true, |words| words.is_empty());
    until("the server's end", || is_over().then_some(()));
}

/// A stopped server takes no signal until it continues.
#[test]
fn interrupted_replay_ends_a_stopped_server() {
    let place = Place::new();
    let mut command = place.x11prof(["replay", "--server", "xvfb"]);
    let mut replay = command.arg(xterm_trace()).spawn().expect("x11prof starts");
    let pid = replay.id();
    let child = |word: &str| {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.ok()?.split(' ').find_map(|child| {
            let words = std::fs::read_to_string(format!("/proc/{child}/cmdline")).ok()?;
            Pid::from_raw(child.parse().ok()?).filter(|_| words.contains(word))
        })
    };
    until("the player", || child("--replay-player"));
    let server = child("Xvfb").expect("a server");
    kill_process(server, Signal::STOP).expect("a signal");
    let since = Instant::now();
    kill_process(Pid::from_child(&replay), Signal::INT).expect("a signal");
    wait(&mut replay, "x11prof replay");
    assert!(since.elapsed() < Duration::from_secs(4));
}
