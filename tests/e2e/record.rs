//! `record`: a program cannot distinguish the proxy from its server, and no message is lost.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::terminal::Terminal;
use crate::harness::{Finished, Place, Recording, Server, needs, raw, until, wait};
use rustix::process::{Pid, Signal, kill_process};
use x11rb::connection::Connection as _;
use x11rb::protocol::res::{self, ConnectionExt as _};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::{DefaultStream, RustConnection};
use x11rb::wrapper::ConnectionExt as _;

#[test]
fn command_exit_status_is_returned() {
    let place = Place::new();
    for status in [0, 3] {
        let ran = place.run([
            "record",
            "--server",
            "xvfb",
            "--",
            "sh",
            "-c",
            &format!("exit {status}"),
        ]);
        assert_eq!(ran.status(), Some(status), "{ran}");
    }
    let line = place.run(["record", "--server", "xvfb", "--", "no-such-program"]);
    assert_eq!(line.status(), Some(127), "{line}");
    assert!(line.stderr().contains("no-such-program"), "{line}");
}

#[test]
fn seconds_option_ends_a_running_command() {
    let place = Place::new();
    let words = ["record", "--server", "xvfb", "--seconds", "1", "--"];
    place
        .run(words.into_iter().chain(["sleep", "1000"]))
        .succeeded();
    let dump = place.ok(["dump", "x11prof.mcap"]);
    assert!(dump.contains("\"ended\""), "{dump}");
}

#[test]
fn clients_outliving_the_command_are_recorded_and_named() {
    needs("xterm", "xterm");
    let place = Place::new();
    let script = "xterm -e sleep 5 & sleep 1";
    let line = place.run(["record", "--server", "xvfb", "--", "sh", "-c", script]);
    let said = line.stderr();
    line.succeeded();
    assert!(
        said.contains("the command has ended, other clients are still recorded: xterm ("),
        "{said}"
    );
    assert_eq!(
        place.json(["report", "--format", "json"])["trace"]["complete"],
        true
    );
}

#[test]
fn windowless_helper_does_not_prolong_the_recording() {
    needs("xprop", "x11-utils");
    needs("xclock", "x11-apps");
    let place = Place::new();
    // Like dbus-launch, the helper stays connected without a window.
    let helper = "exec xprop -root -spy >/dev/null";
    let script = format!("sh -c '{helper}' & exec timeout 1 xclock");
    let begun = Instant::now();
    let line = place.run(["record", "--server", "xvfb", "--", "sh", "-c", &script]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{line}");
    assert_eq!(line.status(), Some(124), "{line}");
    assert!(
        line.stderr()
            .contains("the recording ended without xprop ("),
        "{line}"
    );
    assert_eq!(
        place.json(["report", "--format", "json"])["trace"]["complete"],
        true
    );
    // A helper that exits later: the user may wait for it.
    let script = format!("timeout 4 sh -c '{helper}' & sleep 1");
    let words = [
        "record",
        "--server",
        "xvfb",
        "--until-closed",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let line = place.run(words);
    let said = line.stderr();
    line.succeeded();
    assert!(!said.contains("ended without"), "{said}");
}

/// While another client has grabbed the server, it is unknown whether the helper has a window.
#[test]
fn grabbed_server_does_not_keep_the_recording_from_ending() {
    needs("xprop", "x11-utils");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let (x, _) = x11rb::connect(Some(&server.display)).expect("a connection");
    let script = "xprop -root -spy >shown & read line";
    let mut command = place.x11prof(["record", "--display", &server.display, "--"]);
    command.args(["sh", "-c", script]).stdin(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    until("the helper", || {
        let shown = std::fs::metadata(place.path("shown")).ok()?;
        (shown.len() > 0).then_some(())
    });
    x.grab_server().expect("a request");
    x.sync().expect("the server is grabbed");
    drop(child.stdin.take());
    assert_eq!(wait(&mut child, "x11prof record").code(), Some(1));
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
    assert!(
        said.contains("the recording ended without xprop ("),
        "{said}"
    );
}

#[test]
fn background_program_is_recorded_until_its_window_closes() {
    needs("xclock", "x11-apps");
    let place = Place::new();
    let (server, ended) = (Server::xvfb(&[]), place.path("ended"));
    // The command exits once the window exists; the window stays open for longer than a helper may stay connected.
    let script = "(timeout 5 xclock; touch ended) & until xwininfo -name xclock >/dev/null 2>&1; do sleep 0.1; done";
    let words = [
        "record",
        "--display",
        &server.display,
        "--",
        "sh",
        "-c",
        script,
    ];
    place.run(words).succeeded();
    until("the window's end", || ended.exists().then_some(()));
    let closed = place.ok(["dump", "--format", "json"]);
    let xclock = closed
        .lines()
        .filter(|line| line.contains("the recording ended"));
    assert_eq!(xclock.count(), 0, "no connection was cut off");
}

#[test]
fn dead_accessibility_bus_address_is_removed() {
    needs("xprop", "x11-utils");
    let (place, server) = (Place::new(), Server::xvfb(&[]));
    let record = |address: &str| {
        let set = format!("xprop -root -f AT_SPI_BUS 8s -set AT_SPI_BUS unix:path={address}");
        // The session's helper stays connected.
        let set = format!("xprop -root -spy >/dev/null & {set}");
        let words = [
            "record",
            "--display",
            &server.display,
            "--",
            "sh",
            "-c",
            &set,
        ];
        place.run(words).succeeded();
        Finished::of(server.client("xprop").args(["-root", "AT_SPI_BUS"])).succeeded()
    };
    let dead = place.path("dead");
    let kept = record(dead.to_str().expect("a plain path"));
    assert!(
        kept.contains("no such atom") || kept.contains("not found"),
        "{kept}"
    );
    // A live bus of another session.
    let bus = place.path("bus");
    let _listening = std::os::unix::net::UnixListener::bind(&bus).expect("a socket");
    let kept = record(bus.to_str().expect("a plain path"));
    assert!(kept.contains("/bus"), "{kept}");
}

#[test]
fn server_reports_client_pids_not_the_recorder_pid() {
    needs("xclock", "x11-apps");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut clock = recording.client("xclock").spawn().expect("xclock starts");
    let asked = |masked: bool| -> Vec<(u32, u32)> {
        let socket = UnixStream::connect(recording.socket()).expect("the display is there");
        let (stream, _) = DefaultStream::from_unix_stream(socket).expect("a stream");
        let (name, cookie) = (
            b"MIT-MAGIC-COOKIE-1".to_vec(),
            raw::cookie(&recording.authority),
        );
        let client = RustConnection::connect_to_stream_with_auth_info(stream, 0, name, cookie);
        let client = client.expect("a connection");
        let own = client.setup().resource_id_base;
        let mask = res::ClientIdMask::LOCAL_CLIENT_PID;
        client
            .res_query_version(1, 2)
            .expect("X-Resource")
            .reply()
            .expect("a version");
        let spec = res::ClientIdSpec {
            client: if masked { own } else { 0 },
            mask,
        };
        let ids = client
            .res_query_client_ids(&[spec])
            .expect("a request")
            .reply();
        let ids = ids.expect("a reply").ids.into_iter();
        ids.filter_map(|id| Some((id.spec.client, *id.value.first()?)))
            .collect()
    };
    let own = asked(true);
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].1, std::process::id());
    let pids = || {
        asked(false)
            .into_iter()
            .map(|(_, pid)| pid)
            .collect::<Vec<_>>()
    };
    until("xclock's process", || {
        pids().contains(&clock.id()).then_some(())
    });
    assert!(
        !pids().contains(&recording.child.id()),
        "no client is the recorder"
    );
    clock.kill().expect("xclock is ended");
    wait(&mut clock, "xclock");
    assert!(recording.signal(Signal::INT).success());
}

/// X.Org's server repeats an error for such a client, and reads no more.
#[test]
fn client_that_dies_within_a_huge_request_is_disconnected() {
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut client = recording.raw(raw::Order::Little);
    let big_requests = client.extension("BIG-REQUESTS");
    client.request(big_requests, 0, &[]);
    client.reply();
    client
        .socket
        .write_all(&[127, 0, 0, 0, 0, 0, 0, 0x40])
        .expect("the beginning of a NoOperation");
    rustix::io::ioctl_fionbio(&client.socket, true).expect("a socket");
    let mut refused = 0;
    until("full buffers", || {
        refused = match client.socket.write(&[0; 1 << 16]) {
            Ok(_) => 0,
            Err(_) => refused + 1,
        };
        (refused == 20).then_some(())
    });
    let mut other = recording.raw(raw::Order::Little);
    let resources = other.extension("X-Resource");
    let mut clients = || {
        other.request(resources, 1, &[]);
        u32::from_le_bytes(other.reply().0[8..12].try_into().expect("a number"))
    };
    let before = clients();
    drop(client);
    until("the end of the connection", || {
        (clients() < before).then_some(())
    });
    assert!(recording.signal(Signal::INT).success());
}

#[test]
fn attach_identifies_clients_of_another_recorder() {
    needs("xclock", "x11-apps");
    needs("xwininfo", "x11-utils");
    let (place, server) = (Place::new(), Server::xvfb(&[]));
    let trace = place.path("trace.mcap");
    let recording = Recording::at(&place, &trace, &["--display", &server.display]);
    let mut clock = recording.client("xclock").spawn().expect("xclock starts");
    until("xclock's window", || {
        let mut info = server.client("xwininfo");
        let found = Finished::of(info.args(["-name", "xclock"]));
        (found.status() == Some(0)).then_some(())
    });
    let attach = [
        "record",
        "--attach",
        "--seconds",
        "1",
        "-o",
        "attached.mcap",
    ];
    place.ok(attach.iter().chain(&["--display", &server.display]));
    let dump = place.ok(["dump", "--format", "json", "attached.mcap"]);
    let lines = dump
        .lines()
        .map(|line| -> serde_json::Value { serde_json::from_str(line).expect("JSON") });
    let opened = lines.filter(|line| line["control"]["kind"] == "opened");
    let pids: Vec<u64> = opened
        .filter_map(|one| one["control"]["pid"].as_u64())
        .collect();
    assert!(pids.contains(&u64::from(clock.id())), "{pids:?}");
    assert!(!pids.contains(&u64::from(recording.child.id())), "{pids:?}");
    clock.kill().expect("xclock is ended");
    wait(&mut clock, "xclock");
}

#[test]
fn world_writable_directory_is_not_used() {
    let place = Place::new();
    let open = place.path("open");
    std::fs::create_dir(&open).expect("a folder");
    let anybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&open, anybody).expect("permissions");
    let mut command = place.x11prof([
        "record",
        "--server",
        "xvfb",
        "--",
        "sh",
        "-c",
        "echo $XAUTHORITY",
    ]);
    let line = Finished::of(command.env("XDG_RUNTIME_DIR", &open).env("TMPDIR", &open));
    let used = line.stdout();
    line.succeeded();
    assert!(!used.contains("open"), "{used}");
}

#[test]
fn concurrent_clients_are_recorded() {
    needs("xdpyinfo", "x11-utils");
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let script = "xdpyinfo >/dev/null & xset q >/dev/null & xdpyinfo >/dev/null; wait";
    place.ok(["record", "--server", "xvfb", "--", "sh", "-c", script]);
    let report = place.json(["report", "--params", "sun4-ipc", "--format", "json"]);
    let connections = report["trace"]["connections"]
        .as_array()
        .expect("connections");
    let mut names: Vec<&str> = connections
        .iter()
        .map(|connection| connection["name"].as_str().unwrap_or("?"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["xdpyinfo", "xdpyinfo", "xset"]);
    assert_eq!(report["trace"]["complete"], true);
    assert_eq!(report["trace"]["unpaired_replies"], 0);
}

#[test]
fn recorded_client_sees_an_unchanged_display() {
    needs("xlsfonts", "x11-utils");
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    for client in [&["xlsfonts", "-l"][..], &["xdpyinfo", "-queryExtensions"]] {
        let direct = Finished::of(server.client(client[0]).args(&client[1..])).succeeded();
        let command = ["record", "--display", &server.display, "--"];
        let recorded = place.ok(command.iter().chain(client));
        // Only the display's name differs.
        let rest = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| !line.starts_with("name of display"))
                .map(str::to_owned)
                .collect()
        };
        assert!(
            direct.lines().count() > 50,
            "{client:?} prints much: {direct}"
        );
        assert_eq!(rest(&direct), rest(&recorded));
    }
}

/// The recorder replaces its cookie by the server's. The server decides about a client of the same user that has
/// another cookie or none.
#[test]
fn client_without_cookie_is_judged_by_the_server() {
    needs("xdpyinfo", "x11-utils");
    needs("xauth", "xauth");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let with = |authority: &std::path::Path| {
        Finished::of(recording.client("xdpyinfo").env("XAUTHORITY", authority))
    };
    let none = with(&place.path("none"));
    assert!(!none.output.status.success(), "{none}");
    assert!(none.stderr().contains("unable to open display"), "{none}");
    // Other clients are not affected.
    with(&recording.authority.clone()).succeeded();
    // The server makes a cookie, as for ssh -X.
    let untrusted = place.write("untrusted", b"");
    let mut generate = recording.client("xauth");
    generate.arg("-f").arg(&untrusted);
    generate.args(["generate", &recording.display, ".", "untrusted"]);
    Finished::of(&mut generate).succeeded();
    with(&untrusted).succeeded();
    assert!(recording.signal(Signal::INT).success());

    let open = Server::xvfb(&[]);
    let mut recording = Recording::at(
        &place,
        &place.path("open.mcap"),
        &["--display", &open.display],
    );
    let mut none = recording.client("xdpyinfo");
    Finished::of(none.env("XAUTHORITY", place.path("none"))).succeeded();
    assert!(recording.signal(Signal::INT).success());
}

#[test]
fn command_keeps_its_cookies_of_other_displays() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let cookie = b"\xff\xff\x00\x00\x00\x00\x00\x12MIT-MAGIC-COOKIE-1\x00\x100123456789abcdef";
    let cookie = place.write("cookie", cookie);
    let other = Server::xvfb_guarded(&cookie);
    let both = format!("xdpyinfo && DISPLAY={} xdpyinfo", other.display);
    let mut command = place.x11prof(["record", "--server", "xvfb", "--", "sh", "-c", &both]);
    let ran = Finished::of(command.env("XAUTHORITY", &cookie));
    assert_eq!(ran.status(), Some(0), "{ran}");
}

#[test]
fn sigint_and_sigterm_finish_the_trace() {
    needs("xset", "x11-xserver-utils");
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let mut recording = Recording::start(&place, &[]);
        Finished::of(recording.client("xset").arg("q")).succeeded();
        assert!(recording.signal(signal).success());
        let trace = recording.trace.to_string_lossy().into_owned();
        let report = place.json(["report", "--params", "sun4-ipc", "--format", "json", &trace]);
        assert_eq!(report["trace"]["complete"], true);
        assert!(report["total"]["count"].as_u64() > Some(5));
        assert!(
            !recording.authority.exists(),
            "the cookie's file is removed"
        );
    }
}

#[test]
fn signals_end_a_recorder_whose_command_is_stopped() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Place::new();
        let mut command = place.x11prof(["record", "--server", "xvfb", "--", "sh", "-c"]);
        command.arg("echo $$; kill -STOP $$; sleep 600");
        let mut recording = command.stdout(Stdio::piped()).spawn().expect("x11prof");
        let stdout = recording.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let status = format!("/proc/{}/status", lines.next().unwrap_or_default());
        until("the command is stopped", || {
            let status = std::fs::read_to_string(&status).ok()?;
            status.contains("State:\tT").then_some(())
        });
        kill_process(Pid::from_child(&recording), signal).expect("a signal is sent");
        wait(&mut recording, "x11prof record");
    }
}

#[test]
fn command_ignores_the_signals_that_its_caller_ignored() {
    needs("nohup", "coreutils");
    let (place, mut command) = (Place::new(), std::process::Command::new("nohup"));
    command.current_dir(place.path("."));
    command
        .arg(env!("CARGO_BIN_EXE_x11prof"))
        .args(["record", "--server", "xvfb", "--"]);
    let ran = Finished::of(command.args(["grep", "SigIgn", "/proc/self/status"]));
    let stdout = ran.stdout();
    let mask = stdout.trim().rsplit('\t').next().unwrap_or_default();
    let mask = u64::from_str_radix(mask, 16).expect("a mask");
    // SIGHUP is signal 1.
    assert_eq!(mask & 1, 1, "{ran}");
}

/// Prints the signals that it receives. Exits with status 5 after as many as its argument says.
const SIGNALLED: &str = "import signal, sys, time
signals = [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCONT]
got = []
for one in signals:
    signal.signal(one, lambda number, frame: got.append(number))
print('ready', flush=True)
while len(got) < int(sys.argv[1]):
    time.sleep(0.01)
print(*[signal.Signals(one).name for one in got])
sys.exit(5)
";

#[test]
fn signals_reach_the_command_as_they_are() {
    let place = Place::new();
    let mut command = place.x11prof(["record", "--server", "xvfb", "--", "python3", "-c"]);
    command.args([SIGNALLED, "4"]).stdout(Stdio::piped());
    let mut recording = command.spawn().expect("x11prof");
    let stdout = recording.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    for signal in [Signal::INT, Signal::HUP, Signal::QUIT, Signal::TERM] {
        kill_process(Pid::from_child(&recording), signal).expect("a signal is sent");
    }
    let got = lines.next().unwrap_or_default();
    let mut got: Vec<&str> = got.split(' ').collect();
    got.sort_unstable();
    assert_eq!(got, ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]);
    assert_eq!(wait(&mut recording, "x11prof record").code(), Some(5));
}

/// Starts its arguments as the leader of a session in a terminal of its own, and closes the terminal once they print.
const CLOSED_TERMINAL: &str = "import os, pty, sys
pid, terminal = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(terminal, 1)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

#[test]
fn closed_terminal_ends_the_command_of_a_session_leader() {
    let place = Place::new();
    let mut python = std::process::Command::new("python3");
    python
        .args(["-c", CLOSED_TERMINAL, env!("CARGO_BIN_EXE_x11prof")])
        .args(["record", "--server", "xvfb", "-o"])
        .arg(place.path("trace.mcap"))
        .args(["--", "sh", "-c", "echo ready; exec sleep 600"]);
    let ran = Finished::of(&mut python);
    // The command ended by SIGHUP.
    assert_eq!(ran.stdout().trim(), "-1", "{ran}");
}

#[test]
fn recorder_of_a_command_that_ignores_sigterm_ends_by_it() {
    let place = Place::new();
    let mut command = place.x11prof(["record", "--server", "xvfb", "--", "sh", "-c"]);
    command.args(["trap '' TERM; echo ready $$; exec sleep 600"]);
    let mut recording = command.stdout(Stdio::piped()).spawn().expect("x11prof");
    let stdout = recording.stdout.take().expect("a pipe");
    let ready = BufReader::new(stdout).lines().map_while(Result::ok).next();
    let ready = ready.unwrap_or_default();
    let command = ready
        .strip_prefix("ready ")
        .and_then(|pid| pid.parse().ok());
    kill_process(Pid::from_child(&recording), Signal::TERM).expect("a signal is sent");
    let status = wait(&mut recording, "x11prof record");
    let command = command.and_then(Pid::from_raw).expect("a process");
    kill_process(command, Signal::KILL).expect("the command still runs");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{status}");
}

#[test]
fn ctrl_c_reaches_the_command_once_and_the_recording_goes_on() {
    needs("tmux", "tmux");
    let place = Place::new();
    let terminal = Terminal::start(&place);
    let program = place.write("signalled.py", SIGNALLED.as_bytes());
    terminal.types(&format!(
        "{} record --server xvfb -o {} -- python3 {} 2; echo status $?\n",
        env!("CARGO_BIN_EXE_x11prof"),
        place.path("trace.mcap").display(),
        program.display()
    ));
    let shows = |text: &str, times: usize| {
        terminal.shows(text, |screen| screen.matches(text).count() == times);
    };
    terminal.shows("the start", |screen| screen.contains("\nready"));
    for times in 1..=2 {
        terminal.types("\u{3}");
        shows("^C", times);
    }
    shows("SIGINT SIGINT", 1);
    shows("\nstatus 5", 1);
}

#[test]
fn signal_that_ends_the_command_ends_the_recorder() {
    let place = Place::new();
    for signal in [Signal::SEGV, Signal::TERM, Signal::KILL] {
        let kill = format!("kill -{} $$", signal.as_raw());
        let ran = place.run(["record", "--server", "xvfb", "--", "sh", "-c", &kill]);
        let ended = ran.output.status.signal();
        assert_eq!(ended, Some(signal.as_raw()), "{ran}");
        assert!(ran.stderr().contains("0 connections"), "{ran}");
    }
}

/// `timeout` signals x11prof, and then its whole group.
#[test]
fn second_sigterm_waits_for_the_command() {
    let place = Place::new();
    let hold = place.write("hold", b"");
    let script = format!(
        "trap 'echo got; while [ -e {} ]; do sleep 0.01; done; exit 7' TERM
         echo ready; while :; do sleep 0.01; done",
        hold.display()
    );
    let mut command = place.x11prof(["record", "--server", "xvfb", "-o"]);
    command.arg(place.path("trace.mcap"));
    command.args(["--", "sh", "-c", &script]);
    let mut recording = command.stdout(Stdio::piped()).spawn().expect("x11prof");
    let stdout = recording.stdout.take().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let pid = Pid::from_child(&recording);
    kill_process(pid, Signal::TERM).expect("a signal is sent");
    assert_eq!(lines.next().as_deref(), Some("got"));
    kill_process(pid, Signal::TERM).expect("a signal is sent");
    // Without an event to wait for: on a busy machine x11prof may see the signal only after the command's end.
    std::thread::sleep(Duration::from_millis(100));
    std::fs::remove_file(hold).expect("a file");
    let status = wait(&mut recording, "x11prof record");
    assert_eq!(status.code(), Some(7));
}

#[test]
fn killed_recorder_leaves_a_recoverable_trace() {
    needs("xterm", "xterm");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut xterm = recording
        .client("xterm")
        .args(["-e", "while :; do ls -la /usr/bin; done"])
        .spawn()
        .expect("xterm starts");
    // More than 100 requests, whatever else the trace holds.
    until("requests in the trace", || {
        let mut reader = x11prof_trace::Reader::new(std::fs::File::open(&recording.trace).ok()?);
        let reader = reader.as_mut().ok()?;
        while let Ok(Some(record)) = reader.next() {
            if let x11prof_trace::Record::Block(block) = record
                && block.direction == x11prof_trace::Direction::ToServer
                && block.offset > 16_384
            {
                return Some(());
            }
        }
        None
    });
    recording.signal(Signal::KILL);
    crate::harness::wait(&mut xterm, "xterm");
    let trace = recording.trace.to_string_lossy().into_owned();
    let report =
        |trace: &str| place.json(["report", "--params", "sun4-ipc", "--format", "json", trace]);
    let killed = report(&trace);
    assert_eq!(killed["trace"]["complete"], false);
    assert!(killed["total"]["count"].as_u64() > Some(100), "{killed}");
    let whole = place.path("whole.mcap").to_string_lossy().into_owned();
    place.ok(["recover", &trace, "-o", &whole]);
    let recovered = report(&whole);
    assert_eq!(recovered["total"]["count"], killed["total"]["count"]);
}

#[test]
fn trace_is_private_and_contains_no_cookie() {
    use std::os::unix::fs::PermissionsExt;
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let cookie = raw::cookie(&recording.authority);
    assert_eq!(mode(&recording.authority), 0o600);
    Finished::of(recording.client("xset").arg("q")).succeeded();
    recording.signal(Signal::INT);
    assert_eq!(mode(&recording.trace), 0o600);
    let file = std::fs::File::open(&recording.trace).expect("the trace");
    let mut reader = x11prof_trace::Reader::new(file).expect("a trace");
    let (mut kept, mut left_out) = (Vec::new(), 0);
    while let Some(record) = reader.next().expect("a record") {
        if let x11prof_trace::Record::Block(block) = record {
            kept.extend_from_slice(&block.bytes);
            left_out += block.gaps.iter().map(|gap| gap.len).sum::<u32>();
        }
    }
    let find = |what: &[u8]| kept.windows(what.len()).any(|window| window == what);
    assert!(find(b"MIT-MAGIC-COOKIE-1"), "the setup is there");
    assert!(!find(&cookie), "the cookie is not");
    assert_eq!(left_out, 16);

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    }
}
