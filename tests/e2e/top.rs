//! `top` names the clients that poll, grab, leak and redraw.

use std::process::{Child, Stdio};

use crate::harness::examples::example;
use crate::harness::terminal::Terminal;
use crate::harness::{Place, Recording, Server, needs, until};
use rustix::process::Signal;
use serde_json::Value;

/// The problems that the four programs cause.
const TROUBLES: [&str; 4] = ["poll", "grab", "leak", "redraw"];

/// The time range after start-up: all programs start at the same time, and a busy server makes them wait for each
/// other.
const STEADY: [&str; 6] = ["top", "x11prof.mcap", "--at", "5", "--seconds", "4"];

/// Records the four programs through the proxy for more than five seconds, and runs `top` on it.
fn recorded(place: &Place) -> Value {
    let program = example("troubles");
    let program = program.display();
    let script = format!(
        "for trouble in {}; do {program} $trouble & all=\"$all $!\"; done; sleep 5.5; kill $all",
        TROUBLES.join(" ")
    );
    place.write("all.sh", script.as_bytes());
    place.ok(["record", "--server", "xvfb", "--", "sh", "all.sh"]);
    place.json(STEADY.iter().chain(&["--json"]))
}

/// The client with this problem.
fn of<'a>(report: &'a Value, trouble: &str) -> &'a Value {
    let clients = report["clients"].as_array().expect("clients");
    let is = |client: &&Value| client["command"][1] == trouble;
    let found = clients.iter().find(is);
    found.unwrap_or_else(|| panic!("nobody is there to {trouble}: {report:#}"))
}

/// Asserts that each problem is reported for the program that causes it, and for no other.
fn names_each(report: &Value) {
    let [poll, grab, leak, redraw] = TROUBLES.map(|trouble| of(report, trouble));
    let only = |what: &str, of: &Value, has: &dyn Fn(&Value) -> bool| {
        for trouble in TROUBLES {
            let client = self::of(report, trouble);
            assert_eq!(has(client), client == of, "{what}: {trouble} in {report:#}");
        }
    };
    only("polls", poll, &|one| {
        one["polls"]["request"] == "QueryPointer"
    });
    only("grabs", grab, &|one| one["grabs"][0]["kind"] == "server");
    only("grows", leak, &|one| one["held"]["pixmap"]["grows"] == true);
    only("costs most", redraw, &|one| *one == report["clients"][0]);
    assert_eq!(redraw["main_request"]["request"], "PutImage", "{report:#}");
    let per_s = poll["polls"]["per_s"].as_f64().expect("a rate");
    assert!((10.0..70.0).contains(&per_s), "{report:#}");
    assert!(leak["held"]["pixmap"]["bytes_per_s"].as_f64() > Some(100_000.0));
    for client in [poll, grab, leak, redraw] {
        assert_eq!(client["name"], "troubles");
        assert!(client["pid"].is_u64(), "{report:#}");
    }
}

#[test]
fn recording_names_polling_grabbing_and_leaking_clients() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let report = recorded(&place);
    names_each(&report);
    // Stalls name the waiting client and the client that it waited for.
    let grab = of(&report, "grab");
    let stalls = report["stalls"].as_array().expect("stalls");
    let by_grab = stalls
        .iter()
        .filter(|one| one["connection"] == grab["client"]);
    assert!(by_grab.clone().count() >= 2, "{report:#}");
    let waiters = by_grab.flat_map(|one| one["waiters"].as_array().expect("waiters"));
    for waiter in ["poll", "leak", "redraw"] {
        let waiter = &of(&report, waiter)["client"];
        let mut waiters = waiters.clone();
        assert!(
            waiters.any(|one| one["connection"] == *waiter),
            "{report:#}"
        );
    }
    let text = place.ok(STEADY);
    for said in [
        " grabbed the server ",
        "; 3 clients waited ",
        "'s pixmaps grow by ",
        " polls: ",
        " QueryPointer per second",
        "pixmaps grow\n",
    ] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let by_window = place.ok(STEADY.iter().chain(&["--by", "window"]));
    assert!(by_window.contains(" window 400x300"), "{by_window}");
    let by_request = place.ok(STEADY.iter().chain(&["--by", "request"]));
    assert!(by_request.contains("\nPutImage "), "{by_request}");
    // The report and the list of stalls mention the grab as well.
    let report = place.ok(["report", "--all"]);
    assert!(
        report.contains(" held the server for over a frame "),
        "{report}"
    );
    assert!(
        report.contains(": grabbed by troubles (client "),
        "{report}"
    );
    let part = ["report", "--format", "json", "--from", "1", "--to", "5"];
    let part = place.json(part)["total"]["server_ms"].as_f64();
    let part = part.expect("server time");
    let now = place.json(STEADY.iter().chain(&["--json"]));
    let number = |name: &str| now[name].as_f64().expect("a number");
    let window = number("server_ms_per_s") * number("seconds");
    assert!((window - part).abs() < 0.001 * part, "{window} {part}");
    let late = place.run(["top", "x11prof.mcap", "--at", "100"]);
    assert_eq!(late.status(), Some(2), "{late}");
    assert!(late.stderr().contains(" s after its start"), "{late}");
}

#[test]
fn slow_request_is_a_stall_that_names_the_waiting_client() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let program = example("troubles");
    let program = program.display();
    let script = format!("{program} hog & hog=$!; {program} poll 100; kill $hog");
    place.ok(["record", "--server", "xvfb", "--", "sh", "-c", &script]);
    let report = place.json(["report", "--format", "json"]);
    let connections = report["trace"]["connections"]
        .as_array()
        .expect("connections");
    let number = |trouble: &str| {
        let is = |one: &&Value| one["command"][1] == trouble;
        connections.iter().find(is).expect("a connection")["id"].clone()
    };
    let (hog, poll) = (number("hog"), number("poll"));
    let stalls = report["stalls"]["stalls"].as_array().expect("stalls");
    // The hog draws before the other client connects, so no client waits in that stall. On a busy machine the
    // server may lack a processor for longer than it draws, during a request of the other client.
    let waited_in = stalls.iter().filter(|one| {
        let is_of_both = one["connection"] == hog && one["waiters"][0]["connection"] == poll;
        one["kind"] == "busy" && is_of_both
    });
    let worst = waited_in.max_by(|a, b| {
        let held = |one: &Value| one["held_ms"].as_f64().unwrap_or(0.0);
        held(a).total_cmp(&held(b))
    });
    let worst = worst.expect("a stall that the other program waits in");
    assert_eq!(worst["request"], "PolyArc", "{worst:#}");
    let said = place.ok(["report", "--all"]);
    let busy = format!(": busy with PolyArc of troubles (client {hog})");
    assert!(said.contains(&busy), "{said}");
    // The episodes of the waiting client name the client that blocked it.
    let episodes = place.json(["episodes", "--format", "json"]);
    let episodes = episodes["episodes"].as_array().expect("episodes");
    let by = format!("troubles (client {hog})");
    let mut held_up = episodes
        .iter()
        .filter(|one| one["stall"]["by"] == by.as_str());
    assert!(held_up.any(|one| one["client"] == poll), "{episodes:#?}");
}

/// The four running programs; killed on drop.
struct Running(Vec<Child>);

impl Running {
    fn on(server: &Server) -> Running {
        let program = example("troubles");
        let start = |trouble| {
            let mut command = server.client(program.to_str().expect("a plain path"));
            command
                .arg(trouble)
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            command.spawn().expect("it starts")
        };
        let mut running = Running(TROUBLES.map(start).into());
        for child in &mut running.0 {
            let mut ready = String::new();
            let stdout = child.stdout.as_mut().expect("a pipe");
            let read =
                std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut ready);
            assert!(read.is_ok() && ready == "ready\n", "{ready:?}");
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Attaches `top` to a display on which the programs already run.
fn attached(server: &Server) -> Value {
    let place = Place::new();
    let _running = Running::on(server);
    let words = ["--json", "--seconds", "5"];
    let report = place.json(
        ["top", "--display", &server.display]
            .into_iter()
            .chain(words),
    );
    let seconds = report["seconds"].as_f64().expect("seconds");
    assert!((4.0..7.0).contains(&seconds), "{report:#}");
    names_each(&report);
    let ms = |of: &Value, figure: &str| of[figure].as_f64().expect("a rate");
    let clients = report["clients"].as_array().expect("clients");
    let sum: f64 = clients.iter().map(|of| ms(of, "server_ms_per_s")).sum();
    let sum = sum + ms(&report, "unattributed_ms_per_s");
    let all = ms(&report, "server_ms_per_s");
    assert!((sum - all).abs() < 0.01 * all + 1e-3, "{sum} of {all}");
    report
}

#[test]
fn running_clients_are_named_on_xvfb() {
    let report = attached(&Server::xvfb(&[]));
    // A server that x11prof did not start has no timed handlers.
    let basis = report["time_source"].as_str().expect("a basis");
    assert!(["attributed", "modelled"].contains(&basis), "{basis}");
}

#[test]
fn running_clients_are_named_on_xvnc() {
    attached(&Server::xvnc());
}

#[test]
fn running_clients_are_named_on_xorg() {
    let place = Place::new();
    attached(&Server::xorg(&place));
}

#[test]
fn top_shows_a_running_display() {
    needs("tmux", "tmux");
    let (server, place) = (Server::xvfb(&[]), Place::new());
    let _running = Running::on(&server);
    let terminal = Terminal::start(&place);
    terminal.types(&format!(
        "cd {} && {} top --display {} --params sun4-ipc; echo status $?\n",
        place.path(".").display(),
        env!("CARGO_BIN_EXE_x11prof"),
        server.display,
    ));
    let screen = terminal.shows("all four", |screen| {
        [
            "pixmaps grow",
            "polls QueryP",
            "grabbed server",
            " grabbed the server ",
            // The screen may be captured while it is being drawn.
            "▾ms/s",
        ]
        .iter()
        .all(|what| screen.contains(what))
    });
    let lines: Vec<&str> = screen.trim_end().lines().collect();
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    terminal.types("w");
    terminal.shows("windows", |screen| screen.contains("window 400x300"));
    terminal.types("rn");
    terminal.shows("requests", |screen| {
        screen.contains("▾Req/s") && screen.contains("\nPutImage ")
    });
    terminal.types("/query\n");
    terminal.shows("the filter", |screen| {
        screen.contains("\nQueryPointer ") && !screen.contains("\nPutImage ")
    });
    terminal.types(" ");
    let frozen = |screen: &str| {
        let first = screen.lines().find(|line| line.contains("(frozen)"));
        first.map(str::to_owned)
    };
    // Require the whole line: the screen may be captured while it is being drawn.
    let is_whole =
        |line: &String| line.contains(" requests a second, server ") && line.ends_with('%');
    let before = terminal.shows("frozen", |screen| {
        frozen(screen).is_some_and(|line| is_whole(&line))
    });
    terminal.types("c");
    let after = terminal.shows("clients", |screen| screen.contains("\nClient "));
    assert_eq!(frozen(&before), frozen(&after));
    terminal.types("q");
    terminal.shows("the end", |screen| screen.contains("\nstatus 0"));
}

/// Waits until the shell in the terminal reads whole lines with echo on its normal screen.
fn is_restored(terminal: &Terminal, when: &str) {
    terminal
        .types("stty -a | tr ' ' '\\n' | grep -cx -e icanon -e echo; echo end of $(echo modes)\n");
    let screen = terminal.shows(when, |screen| screen.contains("end of modes"));
    let modes = screen
        .lines()
        .rev()
        .skip_while(|line| !line.starts_with("end of modes"));
    assert_eq!(modes.clone().nth(1), Some("2"), "{when}: {screen}");
    terminal.types("clear\n");
    terminal.shows("an empty screen", |screen| !screen.contains("end of modes"));
}

#[test]
fn signals_and_ctrl_z_restore_the_terminal() {
    needs("tmux", "tmux");
    let place = Place::new();
    let terminal = Terminal::start(&place);
    let xterm = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xterm.mcap");
    let x11prof = env!("CARGO_BIN_EXE_x11prof");
    let top = format!("{x11prof} top {xterm} --params sun4-ipc; echo status $?\n");
    let view = |screen: &str| screen.contains("\nClient ");
    terminal.types(&top);
    terminal.shows("the view", view);
    terminal.types("\u{1a}");
    terminal.shows("the shell", |screen| screen.contains("status 148"));
    is_restored(&terminal, "after Ctrl-Z");
    terminal.types("fg\n");
    terminal.shows("the view again", view);
    terminal.types("\u{3}");
    let prompt = |screen: &str| screen.trim_end().ends_with("\n$");
    terminal.shows("the end", |screen| {
        screen.contains("interrupted") && prompt(screen)
    });
    is_restored(&terminal, "after Ctrl-C");

    // A pager that reads keys, and restores nothing.
    let pager = place.write(
        "pager.sh",
        b"stty -icanon -echo </dev/tty; echo begun; exec sleep 600",
    );
    let script = format!(
        "echo $$ >pid; exec env PAGER='sh {}' {x11prof} report {xterm}",
        pager.display()
    );
    let script = place.write("report.sh", script.as_bytes());
    terminal.types(&format!(
        "cd {}; sh {}\n",
        place.path(".").display(),
        script.display()
    ));
    terminal.shows("the pager", |screen| screen.contains("begun"));
    let pid = std::fs::read_to_string(place.path("pid")).expect("a process id");
    let pid = pid
        .trim()
        .parse()
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process id"), Signal::TERM).expect("a signal");
    terminal.shows("the shell", |screen| screen.contains("Terminated"));
    is_restored(&terminal, "after the pager");
}

#[test]
fn top_follows_a_growing_recording() {
    needs("tmux", "tmux");
    needs("xsetroot", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let asks = |recording: &Recording| {
        crate::harness::Finished::of(recording.client("xset").arg("q")).succeeded();
    };
    asks(&recording);
    let terminal = Terminal::start(&place);
    let trace = recording.trace.display().to_string();
    until("the trace", || recording.trace.exists().then_some(()));
    terminal.types(&format!(
        "{} top {trace} --by request --params sun4-ipc; echo status $?\n",
        env!("CARGO_BIN_EXE_x11prof"),
    ));
    terminal.shows("the first", |screen| {
        screen.contains("\nGetKeyboardControl ")
    });
    // The rows do not all fit.
    terminal.types("/clear\n");
    let mut root = recording.client("xsetroot");
    crate::harness::Finished::of(root.args(["-solid", "red"])).succeeded();
    terminal.shows("the next", |screen| screen.contains("\nClearArea "));
    recording.signal(Signal::INT);
    // The recorded data can be viewed after the recording has ended.
    terminal.types("/\nc");
    terminal.shows("the clients", |screen| screen.contains("\nxsetroot "));
    terminal.types("q");
    terminal.shows("the end", |screen| screen.contains("\nstatus 0"));
}
