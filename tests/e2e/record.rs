//! `record`: a program cannot tell the proxy from its server, and nothing of it is lost.

use crate::harness::{Finished, Place, Recording, Server, needs, until};
use rustix::process::Signal;

#[test]
fn the_commands_exit_status_is_passed_on() {
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
fn seconds_end_a_command_that_goes_on() {
    let place = Place::new();
    let words = ["record", "--server", "xvfb", "--seconds", "1", "--"];
    place
        .run(words.into_iter().chain(["sleep", "1000"]))
        .succeeded();
    let dump = place.ok(["dump", "x11prof.mcap"]);
    assert!(dump.contains("\"ended\""), "{dump}");
}

#[test]
fn clients_that_outlive_the_command_are_recorded_and_named() {
    needs("xterm", "xterm");
    let place = Place::new();
    let script = "xterm -e sleep 5 & sleep 1";
    let line = place.run(["record", "--server", "xvfb", "--", "sh", "-c", script]);
    let said = line.stderr();
    line.succeeded();
    assert!(
        said.contains("the command has ended, others are still connected and recorded: xterm ("),
        "{said}"
    );
    assert_eq!(
        place.json(["report", "--format", "json"])["trace"]["complete"],
        true
    );
}

#[test]
fn several_clients_are_recorded_side_by_side() {
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
fn a_recorded_client_sees_the_display_as_without_the_recorder() {
    needs("xlsfonts", "x11-utils");
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    for client in [&["xlsfonts", "-l"][..], &["xdpyinfo", "-queryExtensions"]] {
        let direct = Finished::of(server.client(client[0]).args(&client[1..])).succeeded();
        let command = ["record", "--display", &server.display, "--"];
        let recorded = place.ok(command.iter().chain(client));
        // The display's name is the one thing that differs.
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

#[test]
fn a_client_without_the_cookie_is_refused_as_a_server_would() {
    needs("xdpyinfo", "x11-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let none = Finished::of(
        recording
            .client("xdpyinfo")
            .env("XAUTHORITY", place.path("none")),
    );
    assert!(!none.output.status.success(), "{none}");
    assert!(none.stderr().contains("unable to open display"), "{none}");
    // Others are not disturbed.
    Finished::of(&mut recording.client("xdpyinfo")).succeeded();
    assert!(recording.signal(Signal::INT).success());
    let dump = place.ok(["dump", &recording.trace.to_string_lossy()]);
    assert!(
        dump.contains("refused"),
        "{}",
        &dump[..dump.len().min(2000)]
    );
}

#[test]
fn ctrl_c_and_sigterm_close_the_trace_properly() {
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
fn a_killed_recorder_leaves_a_trace_that_reports_and_recovers() {
    needs("xterm", "xterm");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut xterm = recording
        .client("xterm")
        .args(["-e", "while :; do ls -la /usr/bin; done"])
        .spawn()
        .expect("xterm starts");
    // xterm's start, with its fonts, is shorter.
    until("a trace of some size", || {
        std::fs::metadata(&recording.trace)
            .ok()
            .filter(|trace| trace.len() > 200_000)
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
fn the_trace_is_private_and_holds_no_cookie() {
    use std::os::unix::fs::PermissionsExt;
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let authority = std::fs::read(&recording.authority).expect("the authority file");
    assert_eq!(mode(&recording.authority), 0o600);
    Finished::of(recording.client("xset").arg("q")).succeeded();
    recording.signal(Signal::INT);
    assert_eq!(mode(&recording.trace), 0o600);
    // The cookie is the last 16 bytes of an entry.
    let cookie = &authority[authority.len() - 16..];
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
    assert!(!find(cookie), "the cookie is not");
    assert_eq!(left_out, 16);

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    }
}
