//! `x11prof drive` and `type`: programs driven by sessions, and the latency of each action.

use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use serde_json::Value;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, InputFocus, PropMode, WindowClass,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use crate::harness::examples::example;
use crate::harness::{Finished, Place, Recording, Server, is_key_down, needs, quiet, until, wait};

/// Handlers' times in milliseconds.
const TIMES: [&str; 4] = ["10", "30", "100", "300"];

/// xterm running `cat`, which echoes typed text and does nothing else.
const XTERM: [&str; 5] = ["xterm", "-e", "sh", "-c", "cat"];

fn words<'a>(all: &[&[&'a str]]) -> Vec<&'a str> {
    all.concat()
}

/// The latencies of the actions in a result with a single run.
fn latencies(result: &Value) -> Vec<f64> {
    let actions = result["actions"].as_array().expect("actions");
    let of = actions.iter().map(|action| &action["latencies_ms"][0]);
    let missing = || panic!("an action without latency: {result}");
    of.map(|latency| latency.as_f64().unwrap_or_else(missing))
        .collect()
}

#[test]
fn key_latencies_match_handler_times() {
    let place = Place::new();
    let _quiet = quiet();
    let program = example("microbench");
    let program = program.to_str().expect("a path");
    // The client writes its measurements a while after the last key.
    place.write("session.txt", b"type \"abcd\"\nwait 1s\n");
    let run = words(&[
        &["drive", "session.txt", "--format", "json", "--"],
        &[program, "keyboard", "compute", "truth.json"],
        &TIMES,
    ]);
    let result = place.json(&run);
    let latencies = latencies(&result);
    assert_eq!(latencies.len(), 4, "{result}");
    for (asked, latency) in TIMES.iter().zip(&latencies) {
        let asked: f64 = asked.parse().expect("a number");
        // A handler takes at least its requested time; event times are rounded to milliseconds.
        assert!(*latency > asked - 1.0, "{latencies:?}");
    }
    assert!(latencies.is_sorted(), "{latencies:?}");
    assert_eq!(result["plays"][0]["without_response"], 0);
}

#[test]
fn recorded_session_can_be_driven_again() {
    let place = Place::new();
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let server = Server::xvfb(&["-screen", "0", "1280x1024x24"]);
    let trace = place.path("trace.mcap");
    let mut recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let mut client = recording.client("xterm");
    let mut xterm = client.args(&XTERM[1..]).spawn().expect("it starts");
    let xdotool = |words: &[&str]| {
        Finished::of(server.client("xdotool").args(words)).succeeded();
    };
    xdotool(&["search", "--sync", "--onlyvisible", "--class", "XTerm"]);
    xdotool(&["mousemove", "100", "60", "type", "--delay", "60", "Hi!"]);
    xdotool(&["key", "Return", "key", "ctrl+l"]);
    xdotool(&["mousemove", "100", "60", "click", "1"]);
    xterm.kill().expect("it ran");
    xterm.wait().expect("it ended");
    recording.signal(rustix::process::Signal::INT);

    let text = place.ok(["drive", "trace.mcap", "--print"]);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("pause"))
        .collect();
    let kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(lines[0].starts_with("window \"XTerm\""), "{text}");
    assert!(text.contains("type \"Hi!\\n\""), "{text}");
    assert!(text.contains("key ctrl+l"), "{text}");
    assert!(
        text.contains("\nclick 1 99 59\n"),
        "a border of one pixel: {text}"
    );
    assert!(
        kinds
            .iter()
            .all(|kind| ["window", "move", "type", "key", "click"].contains(kind)),
        "{text}"
    );

    // The keys of a stranger's recording are shown before they are typed.
    let shown = place.run(["drive", "trace.mcap", "--", "false"]).stderr();
    let actions = shown.find("type \"Hi!\\n\"");
    assert!(
        shown.starts_with("x11prof: actions in trace.mcap:"),
        "{shown}"
    );
    assert!(actions.is_some(), "{shown}");

    place.write("session.txt", text.as_bytes());
    let played = words(&[
        &[
            "drive",
            "session.txt",
            "--times",
            "3",
            "--format",
            "json",
            "--",
        ],
        &XTERM,
    ]);
    let result = place.json(&played);
    let actions = result["actions"].as_array().expect("actions");
    assert_eq!(
        actions.len(),
        kinds.len() + 2,
        "the window is no action, four keys are one line: {result}"
    );
    assert!(
        actions
            .iter()
            .all(|of| of["latencies_ms"].as_array().map(Vec::len) == Some(3))
    );
    let keys = actions.iter().filter(|of| {
        of["action"]
            .as_str()
            .is_some_and(|of| of.starts_with("type"))
    });
    assert!(
        keys.clone().all(|of| of["latency"]["count"] == 2),
        "{result}"
    );
    let text = place.ok(["diff", "drive-2.mcap", "--", "drive-3.mcap", "--all"]);
    assert!(text.contains("ms an action: "), "{text}");
}

#[test]
fn two_versions_are_driven_and_compared() {
    let place = Place::new();
    needs("xterm", "xterm");
    place.write("session.txt", b"type \"ab\"\n");
    let run = words(&[
        &[
            "drive",
            "session.txt",
            "--times",
            "2",
            "--old",
            "xterm -bd red -e cat",
            "--",
        ],
        &XTERM,
    ]);
    let text = place.ok(&run);
    assert!(text.contains("2 recordings"), "{text}");
    for trace in [
        "drive-1.mcap",
        "drive-2.mcap",
        "drive-old-1.mcap",
        "drive-old-2.mcap",
        "drive-cold.mcap",
        "drive-old-cold.mcap",
    ] {
        assert!(place.path(trace).exists(), "{trace}");
    }
}

#[test]
fn blocked_session_stops_with_a_one_line_error() {
    let place = Place::new();
    needs("xterm", "xterm");
    for (session, said) in [
        (
            "window \"Gimp\"\nkey a\n",
            "stopped before action 1 (key a): waited 15 s for a window \"Gimp\"",
        ),
        (
            "type \"a\"\nwindow \"XTerm\"\nkey F35\n",
            "stopped before action 2 (key F35): the keyboard has no key F35",
        ),
        (
            "window \"XTerm\"\nclick 1 3000 3000\n",
            "stopped before action 1 (click 1 3000 3000): the root window is there",
        ),
        (
            "type \"exit\\n\"\nwindow \"Gimp\"\nkey a\n",
            "the program ended",
        ),
    ] {
        place.write("session.txt", session.as_bytes());
        let run = place.run(["drive", "session.txt", "--", "xterm", "-e", "sh"]);
        let line = run.failed_with_one_line(1);
        assert!(line.contains(said), "{line}");
        assert!(place.path("drive-1.mcap").exists());
    }
    needs("mousepad", "mousepad");
    let session = "type \"x\"\nkey ctrl+q\nwindow \"Mousepad\" \"*Untitled 1 - Mousepad\"\nkey a\n";
    place.write("session.txt", session.as_bytes());
    let mut run = place.x11prof([
        "drive",
        "session.txt",
        "--",
        "sh",
        "-c",
        "exec mousepad 2>/dev/null",
    ]);
    run.env("NO_AT_BRIDGE", "1")
        .env("GSETTINGS_BACKEND", "memory");
    let line = Finished::of(&mut run).failed_with_one_line(1);
    assert!(
        line.contains("before action 3 (key a): the dialog \"Mousepad\""),
        "{line}"
    );
    let run = place.run(["drive", "session.txt", "--", "nosuchprogram"]);
    let line = run.failed_with_one_line(1);
    assert!(line.contains("nosuchprogram"), "{line}");
    place.write("session.txt", b"clik 1\n");
    let line = place
        .run(["drive", "session.txt", "--", "xterm"])
        .failed_with_one_line(1);
    assert!(line.contains("line 1: 'clik' is no action"), "{line}");
}

#[test]
fn typing_into_a_display_in_use_requires_yes() {
    let place = Place::new();
    needs("xterm", "xterm");
    let server = Server::xvfb(&[]);
    let run = words(&[&["type", "a", "--display", &server.display, "--"], &XTERM]);
    let line = place.run(&run).failed_with_one_line(2);
    assert!(line.contains("--yes"), "{line}");

    let typed = place.ok(words(&[&run[..4], &["--yes", "--"], &XTERM]));
    assert!(typed.contains("1 key"), "{typed}");
}

#[test]
fn keys_are_typed_into_an_existing_window() {
    let place = Place::new();
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let server = Server::xvfb(&[]);
    let mut xterm = server.client("xterm");
    let mut xterm = xterm.args(&XTERM[1..]).spawn().expect("it starts");
    let search = ["search", "--sync", "--onlyvisible", "--class", "XTerm"];
    let window = Finished::of(server.client("xdotool").args(search)).succeeded();
    let run = [
        "type",
        "abc",
        "--window",
        window.trim(),
        "--display",
        &server.display,
        "--yes",
        "--format",
        "json",
    ];
    let result = place.json(run);
    assert_eq!(latencies(&result).len(), 3, "{result}");
    assert!(
        xterm.try_wait().expect("it ran").is_none(),
        "the program stays"
    );
    // `--window click` selects the window that the user clicks.
    let run = [
        "type",
        "a",
        "--window",
        "click",
        "--display",
        &server.display,
        "--yes",
    ];
    let mut click = place.x11prof(run).spawn().expect("it starts");
    let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
    let root = x.setup().roots[screen].root;
    x.xtest_fake_input(6, 0, 0, root, 60, 60, 0)
        .expect("a request");
    // Clicks before x11prof has grabbed the pointer go to the program.
    let ended = until("a click that is seen", || {
        for event in [4, 5] {
            x.xtest_fake_input(event, 1, 0, root, 0, 0, 0)
                .expect("a request");
        }
        x.flush().expect("sent");
        click.try_wait().expect("it ran")
    });
    assert!(ended.success());

    let run = [
        "type",
        "a",
        "--window",
        "0x7fffff",
        "--display",
        &server.display,
        "--yes",
    ];
    let line = place.run(run).failed_with_one_line(1);
    assert!(line.contains("shows no window 0x7fffff"), "{line}");
    xterm.kill().expect("it ran");
    xterm.wait().expect("it ended");
}

#[test]
fn keys_are_withheld_if_another_window_has_the_focus() {
    let place = Place::new();
    needs("xterm", "xterm");
    let server = Server::xvfb(&[]);
    // Pretend that a window manager runs that keeps the focus elsewhere.
    let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
    let root = x.setup().roots[screen].root;
    let name = x.intern_atom(false, b"_NET_SUPPORTING_WM_CHECK");
    let name = name.expect("a request").reply().expect("an atom").atom;
    let window = x.generate_id().expect("an id");
    let (input, aux) = (WindowClass::INPUT_OUTPUT, CreateWindowAux::new());
    x.create_window(0, window, root, 900, 0, 50, 50, 0, input, 0, &aux)
        .expect("a request");
    x.map_window(window).expect("a request");
    x.change_property32(PropMode::REPLACE, root, name, AtomEnum::WINDOW, &[window])
        .expect("a request");
    x.set_input_focus(InputFocus::NONE, window, x11rb::CURRENT_TIME)
        .expect("a request");
    x.sync().expect("the server answers");

    place.write("session.txt", b"window \"XTerm\"\nmove 9 9\nkey a\n");
    let run = words(&[
        &[
            "drive",
            "session.txt",
            "--display",
            &server.display,
            "--yes",
        ],
        &["--"],
        &XTERM,
    ]);
    let line = place.run(&run).failed_with_one_line(1);
    let said = "before action 2 (key a): the focus is in another client's window, not in \"XTerm\"";
    assert!(line.contains(said), "{line}");
}

/// The user may move the pointer during a session.
#[test]
fn clicks_are_withheld_from_other_programs() {
    let place = Place::new();
    needs("xterm", "xterm");
    let server = Server::xvfb(&[]);
    let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
    let window = x.generate_id().expect("an id");
    show_window(&x, screen, window);
    let root = x.setup().roots[screen].root;
    let point = || {
        x.warp_pointer(x11rb::NONE, root, 0, 0, 0, 0, 550, 550)
            .expect("a request");
        x.sync().expect("the server answers");
    };
    let options = ["--display", &server.display, "--yes", "--"];
    let drive = |session: &str| {
        place.write("session.txt", session.as_bytes());
        let mut command = place.x11prof(words(&[&["drive", "session.txt"], &options, &XTERM]));
        command.spawn().expect("it starts")
    };
    point();
    let status = wait(&mut drive("window \"XTerm\"\nclick 1\n"), "x11prof drive");
    assert_eq!(status.code(), Some(1));
    let mut child = drive("window \"XTerm\"\nclick 1 20 20\nwait 2s\nclick 1 20 20\n");
    let at = || {
        let reply = x.query_pointer(root).expect("a request").reply();
        let reply = reply.expect("a reply");
        (reply.root_x, reply.root_y)
    };
    until("the first click", || (at() != (550, 550)).then_some(()));
    until("its release", || {
        let reply = x.query_pointer(root).expect("a request").reply();
        (u16::from(reply.expect("a reply").mask) == 0).then_some(())
    });
    point();
    assert!(wait(&mut child, "x11prof drive").success());
    assert_ne!(at(), (550, 550));
    while let Some(event) = x.poll_for_event().expect("a connection") {
        assert!(!matches!(event, Event::ButtonPress(_)), "{event:?}");
    }
}

/// Shows a window of another program that receives keys and clicks.
fn show_window(x: &RustConnection, screen: usize, window: u32) {
    let aux = CreateWindowAux::new().event_mask(EventMask::KEY_PRESS | EventMask::BUTTON_PRESS);
    let (root, input) = (x.setup().roots[screen].root, WindowClass::INPUT_OUTPUT);
    x.create_window(0, window, root, 500, 500, 90, 90, 0, input, 0, &aux)
        .expect("a request");
    let (name, string) = (AtomEnum::WM_NAME, AtomEnum::STRING);
    x.change_property8(PropMode::REPLACE, window, name, string, b"other")
        .expect("a request");
    x.map_window(window).expect("a request");
    x.sync().expect("the server answers");
}

/// Fails if the other program has received a key.
fn check_no_key(x: &RustConnection) {
    while let Some(event) = x.poll_for_event().expect("a connection") {
        assert!(
            !matches!(event, Event::KeyPress(_)),
            "the other window received {event:?}"
        );
    }
}

/// Starts `x11prof type` with three keys and the program, calls `before_keys` with the connection and the window of
/// another program, which it shows, and checks that only the program receives keys.
fn only_the_program_receives_keys(
    place: &Place,
    program: &[&str],
    before_keys: impl FnOnce(&RustConnection, u32),
) {
    let server = Server::xvfb(&[]);
    let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
    let run = words(&[
        &["type", "abc", "--format", "json", "--display"],
        &[&server.display, "--yes", "--"],
        program,
    ]);
    let mut command = place.x11prof(&run);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    until("the program", || {
        place.path("started").exists().then_some(())
    });
    let window = x.generate_id().expect("an id");
    show_window(&x, screen, window);
    before_keys(&x, window);
    x.sync().expect("the server answers");
    place.write("go", b"");
    wait(&mut child, "x11prof type");
    let mut result = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    std::io::Read::read_to_string(&mut stdout, &mut result).expect("text");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(latencies(&result).len(), 3, "{result}");
    check_no_key(&x);
}

/// The program may take a while to show its window, and other programs open windows at any time.
#[test]
fn keys_are_not_typed_into_a_later_window_of_another_program() {
    let place = Place::new();
    needs("xterm", "xterm");
    let program = "touch started; while [ ! -e go ]; do sleep 0.02; done; exec xterm -e sh -c cat";
    only_the_program_receives_keys(&place, &["sh", "-c", program], |_, _| ());
}

/// Before the first key, the driver waits until the program is idle.
#[test]
fn keys_are_not_typed_into_a_program_that_takes_the_focus_before_the_first_key() {
    let place = Place::new();
    needs("wish", "tk");
    let program = "entry .e; pack .e; focus .e\nbind . <FocusIn> {bind . <FocusIn> {}\n\
        close [open started w]; while {![file exists go]} {}}\n";
    let program = place.write("busy.tcl", program.as_bytes());
    let program = program.to_str().expect("a path");
    only_the_program_receives_keys(&place, &["wish", program], |x, window| {
        let set = x.set_input_focus(InputFocus::NONE, window, x11rb::CURRENT_TIME);
        set.expect("a request")
            .check()
            .expect("the window is shown");
    });
}

/// The server gives the ids of a client that has ended to the next client.
#[test]
fn keys_are_not_typed_into_the_window_of_a_later_program_with_the_same_id() {
    let place = Place::new();
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let server = Server::xvfb(&[]);
    let mut xterm = server.client("xterm");
    let mut xterm = xterm.args(&XTERM[1..]).spawn().expect("it starts");
    let search = ["search", "--sync", "--onlyvisible", "--class", "XTerm"];
    let window = Finished::of(server.client("xdotool").args(search)).succeeded();
    let run = [
        &["type", "abc", "--rate", "1", "--yes"][..],
        &["--window", window.trim(), "--display", &server.display],
    ];
    let mut child = place.x11prof(words(&run)).spawn().expect("it starts");
    let (watch, _) = x11rb::connect(Some(&server.display)).expect("a connection");
    until("the first key", || is_key_down(&watch).then_some(()));
    until("its release", || (!is_key_down(&watch)).then_some(()));
    xterm.kill().expect("it ran");
    xterm.wait().expect("it ended");
    let window: u32 = window.trim().parse().expect("a number");
    let (x, screen) = until("the ids of the program", || {
        let (x, screen) = x11rb::connect(Some(&server.display)).expect("a connection");
        let is_same = x.setup().resource_id_base == window & !x.setup().resource_id_mask;
        is_same.then_some((x, screen))
    });
    show_window(&x, screen, window);
    let status = wait(&mut child, "x11prof type");
    assert_eq!(status.code(), Some(1));
    check_no_key(&x);
}

/// Toolkits show completion lists in popups that do not receive the keys.
#[test]
fn typing_continues_while_a_popup_is_open() {
    let place = Place::new();
    needs("wish", "tk");
    let program = "entry .e; pack .e; focus -force .e\n\
        bind .e <Key> {catch {destroy .p}; toplevel .p; wm overrideredirect .p 1; wm geometry .p 90x50+300+300; \
        after 300 {destroy .p}}\n";
    let program = place.write("popup.tcl", program.as_bytes());
    let program = program.to_str().expect("a path");
    let result = place.json(["type", "abcdef", "--format", "json", "--", "wish", program]);
    assert_eq!(latencies(&result).len(), 6, "{result}");
}

/// Another client may grab the server and keep it, also before the session.
#[test]
fn grabbed_server_stops_the_driver() {
    needs("xterm", "xterm");
    // An interrupted driver does not wait as long.
    for (interrupted, waited) in [(false, "within 20 s"), (true, "within 1 s")] {
        let (place, server) = (Place::new(), Server::xvfb(&[]));
        let run = words(&[
            &["type", "--display", &server.display, "--yes", "--"],
            &XTERM,
        ]);
        let (x, _) = x11rb::connect(Some(&server.display)).expect("a connection");
        let mut command = place.x11prof(&run);
        let command = command.stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("it starts");
        until("a key that is down", || is_key_down(&x).then_some(()));
        x.grab_server().expect("a request");
        x.sync().expect("the server is grabbed");
        if interrupted {
            let group = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process_group(group, rustix::process::Signal::INT).expect("sent");
        }
        if interrupted {
            // The driver has given up its wait, and releases the key once the grab ends.
            std::thread::sleep(std::time::Duration::from_secs(2));
            x.ungrab_server().expect("a request");
            x.sync().expect("the server answers");
        }
        wait(&mut child, "x11prof type");
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("a pipe");
        std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
        assert!(said.contains(waited), "{said}");
        if interrupted {
            assert!(!is_key_down(&x), "a key is down");
        } else {
            let ended = place.run(&run);
            assert!(ended.stderr().contains("silent for 20 s"), "{ended}");
        }
    }
}

#[test]
fn killed_program_ends_the_session_at_once() {
    needs("xterm", "xterm");
    for subject in [words(&[&["--"], &XTERM]), vec!["--window"]] {
        let (place, server) = (Place::new(), Server::xvfb(&[]));
        let (x, _) = x11rb::connect(Some(&server.display)).expect("a connection");
        let mut own = None;
        let mut subject: Vec<String> = subject.into_iter().map(str::to_owned).collect();
        if subject == ["--window"] {
            own = Some(server.client("xterm").spawn().expect("xterm starts"));
            let window = until("xterm's window", || {
                let tree = x.query_tree(x.setup().roots[0].root).expect("a request");
                let window = *tree.reply().expect("windows").children.first()?;
                let of = x.get_window_attributes(window).expect("a request");
                let shown =
                    of.reply().ok()?.map_state == x11rb::protocol::xproto::MapState::VIEWABLE;
                shown.then_some(window)
            });
            subject.push(format!("{window:#x}"));
        }
        let mut command = place.x11prof(["type", "--display", &server.display, "--yes"]);
        let command = command.args(&subject).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        until("a key that is down", || is_key_down(&x).then_some(()));
        match &mut own {
            Some(xterm) => {
                xterm.kill().expect("it runs");
                xterm.wait().expect("it ran");
            }
            None => {
                let script = "kill -9 $(pgrep -P $(pgrep -P $0))";
                let mut killer = std::process::Command::new("sh");
                let pid = child.id().to_string();
                Finished::of(killer.args(["-c", script, &pid])).succeeded();
            }
        }
        let since = std::time::Instant::now();
        assert!(!wait(&mut child, "x11prof type").success());
        assert!(since.elapsed() < std::time::Duration::from_secs(30));
        let mut said = String::new();
        let mut stderr = child.stderr.take().expect("a pipe");
        std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
        assert!(said.contains("the program ended"), "{said}");
        assert_eq!(said.contains("(signal 9)"), own.is_none(), "{said}");
    }
}

#[test]
fn interrupted_driver_releases_all_keys() {
    let place = Place::new();
    needs("xterm", "xterm");
    let server = Server::xvfb(&[]);
    let (x, _) = x11rb::connect(Some(&server.display)).expect("a connection");
    let run = words(&[
        &["type", "--display", &server.display, "--yes", "--"],
        &XTERM,
    ]);
    // As Ctrl-C and Ctrl-Z in a terminal: signal the recorder, the driver and the program.
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TSTP] {
        let mut command = place.x11prof(&run);
        let mut child = command.process_group(0).spawn().expect("it starts");
        until("a key that is down", || is_key_down(&x).then_some(()));
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, signal).expect("sent");
        let status = until("its end", || child.try_wait().expect("it ran"));
        assert!(!status.success(), "{status}");
        assert!(!is_key_down(&x), "a key is down");
    }
}

/// IDLE shows a second window once it has started, and is idle only after a while.
#[test]
fn idle_is_typed_into() {
    let place = Place::new();
    needs("idle", "idle");
    let result = place.json(["type", "ab", "--format", "json", "--", "idle"]);
    assert_eq!(latencies(&result).len(), 2, "{result}");
}
