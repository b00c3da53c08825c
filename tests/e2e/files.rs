//! No user data is lost by a typo, by a second recording, or by a result written over its input.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::raw::Order;
use crate::harness::{Place, Recording, Server, needs, until, xterm_trace};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};

/// Copies a valid trace to the default name.
fn good(place: &Place) -> (PathBuf, Vec<u8>) {
    let bytes = std::fs::read(xterm_trace()).expect("a trace");
    (place.write("x11prof.mcap", &bytes), bytes)
}

/// The names of the entries in the folder, except private folders (`x11prof-…`).
fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path("")).expect("the folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.expect("an entry").file_name();
        name.into_string().expect("a name")
    };
    let mut names: Vec<_> = entries
        .map(name)
        .filter(|name| !name.starts_with("x11prof-"))
        .collect();
    names.sort();
    names
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

#[test]
fn failed_exec_keeps_old_trace_and_exits_with_shell_status() {
    let place = Place::new();
    let (trace, bytes) = good(&place);
    let record = ["record", "--server", "xvfb", "--"];
    let ran = place.run(record.into_iter().chain(["nosuchprogram"]));
    let line = ran.failed_with_one_line(127);
    assert!(line.contains("nosuchprogram"), "{line}");
    let not_executable = trace.to_string_lossy().into_owned();
    let ran = place.run(record.into_iter().chain([&*not_executable]));
    ran.failed_with_one_line(126);
    assert_eq!(read(&trace), bytes);
    assert_eq!(names(&place), ["x11prof.mcap"]);
}

#[test]
fn missing_server_keeps_the_old_trace() {
    let place = Place::new();
    let (trace, bytes) = good(&place);
    let ran = place.run(["record", "--display", ":359", "--", "true"]);
    ran.failed_with_one_line(1);
    assert_eq!(read(&trace), bytes);
    assert_eq!(names(&place), ["x11prof.mcap"]);
}

#[test]
fn command_that_never_connects_keeps_the_old_trace() {
    let place = Place::new();
    let (trace, bytes) = good(&place);
    for _ in 0..2 {
        let ran = place.run(["record", "--server", "xvfb", "--", "true"]);
        assert_eq!(ran.status(), Some(0), "{ran}");
        assert!(ran.stderr().contains("is unchanged"), "{ran}");
        assert!(ran.stderr().contains("did not connect"), "{ran}");
    }
    assert_eq!(read(&trace), bytes);
    assert_eq!(names(&place), ["x11prof.mcap"]);
}

#[test]
fn replaced_recording_is_kept_as_old_file() {
    needs("xset", "x11-xserver-utils");
    let place = Place::new();
    let (trace, bytes) = good(&place);
    place.ok(["record", "--server", "xvfb", "--", "xset", "q"]);
    assert_eq!(names(&place), ["x11prof.mcap", "x11prof.mcap.old"]);
    assert_eq!(read(&place.path("x11prof.mcap.old")), bytes);
    assert_ne!(read(&trace), bytes);
    assert!(place.ok(["dump"]).contains("setup accepted"));
}

#[test]
fn second_recording_to_the_same_file_is_refused() {
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let trace = place.path("x11prof.mcap");
    let mut first = Recording::at(&place, &trace, &["--display", &server.display]);
    let again = ["record", "--display", &server.display, "--", "true"];
    // No client has connected, so the trace does not have its name yet.
    let line = place.run(again).failed_with_one_line(1);
    assert!(line.contains("another recording"), "{line}");
    let mut client = first.raw(Order::Little);
    client.sync();
    until("the trace", || trace.exists().then_some(()));
    let line = place.run(again).failed_with_one_line(1);
    assert!(line.contains("another recording"), "{line}");
    // A result must not overwrite the trace either.
    let other = xterm_trace().to_string_lossy().into_owned();
    let export = ["export", &other, "--to", "pcapng", "-o", "x11prof.mcap"];
    let line = place.run(export).failed_with_one_line(1);
    assert!(line.contains("a recording writes it now"), "{line}");
    client.sync();
    drop(client);
    assert!(first.signal(Signal::INT).success(), "{}", first.said());
    assert!(place.ok(["dump"]).matches("GetInputFocus").count() >= 4);
    assert_eq!(names(&place), ["x11prof.mcap"]);
}

#[test]
fn recorder_killed_at_startup_keeps_the_old_trace() {
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let (trace, bytes) = good(&place);
    let words = ["--display", server.display.as_str()];
    Recording::at(&place, &trace, &words).signal(Signal::KILL);
    assert_eq!(read(&trace), bytes);
    // The next recorder takes over the files that the killed one left.
    let mut next = Recording::at(&place, &trace, &words);
    next.raw(Order::Little).sync();
    assert!(next.signal(Signal::INT).success(), "{}", next.said());
    assert_eq!(names(&place), ["x11prof.mcap", "x11prof.mcap.old"]);
    assert_eq!(read(&place.path("x11prof.mcap.old")), bytes);
    assert!(place.ok(["dump"]).contains("GetInputFocus"));
}

#[test]
fn trace_deleted_during_recording_is_reported() {
    let place = Place::new();
    let mut recording = Recording::start(&place, &[]);
    let mut client = recording.raw(Order::Little);
    client.sync();
    until("the trace", || recording.trace.exists().then_some(()));
    std::fs::remove_file(&recording.trace).expect("it is deleted");
    client.sync();
    drop(client);
    assert_eq!(recording.signal(Signal::INT).code(), Some(1));
    let said = recording.said();
    assert!(said.contains("the trace is gone"), "{said}");
}

#[test]
fn missing_double_dash_error_shows_the_correct_command() {
    let place = Place::new();
    let ran = place.run(["record", "-o", "t", "xterm", "-e", "ls"]);
    let line = ran.failed_with_one_line(2);
    assert!(line.contains("x11prof record -- xterm"), "{line}");
}

#[test]
fn trace_without_subcommand_suggests_report() {
    let place = Place::new();
    place.write("some.mcap", b"");
    let line = place.run(["some.mcap"]).failed_with_one_line(2);
    assert!(line.contains("x11prof report some.mcap"), "{line}");
}

#[test]
fn output_never_replaces_an_input_file() {
    let place = Place::new();
    let (trace, bytes) = good(&place);
    let parameters = place.ok(["params", "show", "sun4-ipc"]);
    let parameters = place.write("sun.toml", parameters.as_bytes());
    let description = place.ok(["params", "export", "sun4-ipc"]);
    place.write("sun.xprof", description.as_bytes());
    std::fs::hard_link(&trace, place.path("hard")).expect("a link");
    std::os::unix::fs::symlink(&trace, place.path("soft")).expect("a link");
    let before = read(&parameters);
    for command in [
        &["report", "--params", "sun4-ipc", "-o", "x11prof.mcap"][..],
        &["report", "--params", "sun4-ipc", "-o", "hard"],
        &["report", "--params", "sun4-ipc", "-o", "soft"],
        &["report", "--params", "sun.toml", "-o", "./sun.toml"],
        &["stats", "-o", "x11prof.mcap"],
        &["episodes", "--format", "json", "-o", "x11prof.mcap"],
        &["episodes", "--events", "sun.toml", "-o", "sun.toml"],
        &["issues", ".", "-o", "soft"],
        &["issues", ".", "--known", "sun.toml", "-o", "sun.toml"],
        &["compare", "--params", "sun4-ipc", "-o", "x11prof.mcap"],
        &["compare", "--params", "sun.toml", "-o", "sun.toml"],
        &["export", "--to", "pcapng", "-o", "soft"],
        &["recover", "x11prof.mcap", "-o", "hard"],
        &["params", "import", "sun.xprof", "-o", "sun.xprof"],
        &["params", "export", "sun.toml", "-o", "sun.toml"],
    ] {
        let line = place.run(command).failed_with_one_line(2);
        assert!(
            line.contains("the result would replace an input file"),
            "{line}"
        );
    }
    assert_eq!(read(&trace), bytes);
    assert_eq!(read(&parameters), before);
}

#[test]
fn failed_output_keeps_the_existing_file() {
    let place = Place::new();
    let (_, bytes) = good(&place);
    let mut damaged = bytes;
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0x55);
    place.write("damaged.mcap", &damaged);
    place.write("result", b"precious");
    for command in [
        &["export", "damaged.mcap", "--to", "pcapng", "-o", "result"][..],
        &["stats", "damaged.mcap", "-o", "result"],
        &["recover", "damaged.mcap", "-o", "result"],
    ] {
        place.run(command).failed_with_one_line(1);
        assert_eq!(read(&place.path("result")), b"precious");
    }
    let left = names(&place);
    assert_eq!(left, ["damaged.mcap", "result", "x11prof.mcap"]);
}

#[test]
fn output_files_are_readable_only_by_the_owner() {
    let place = Place::new();
    good(&place);
    place.write("capture", b"");
    place.ok(["export", "--to", "pcapng", "-o", "capture"]);
    place.ok(["recover", "x11prof.mcap", "-o", "whole"]);
    place.ok(["episodes", "--format", "json", "-o", "episodes"]);
    place.write("page", b"");
    place.ok(["report", "--params", "sun4-ipc", "-o", "page"]);
    place.ok(["stats", "--format", "csv", "-o", "stats"]);
    place.ok(["issues", "x11prof.mcap", "--format", "json", "-o", "issues"]);
    for name in ["capture", "whole", "episodes", "page", "stats", "issues"] {
        assert_eq!(place.mode(name), 0o600, "{name}");
    }
}

#[test]
fn interrupted_calibration_keeps_the_existing_file() {
    let server = Server::xvfb(&[]);
    interrupted_calibration(&server, &[], Signal::INT);
    // A stopped server does not keep the calibration.
    interrupted_calibration(&server, &[Signal::STOP], Signal::HUP);
}

/// Ends a calibration of `server` by `end`. The server receives `signals` before.
fn interrupted_calibration(server: &Server, signals: &[Signal], end: Signal) {
    let place = Place::new();
    let whole = place.ok(["params", "show", "xvfb-24"]);
    let file = place.write("mine.toml", whole.as_bytes());
    let mut command = place.x11prof(["calibrate", "--display", &server.display, "-o"]);
    let command = command.arg(&file).stderr(Stdio::piped());
    let mut child = command.spawn().expect("x11prof starts");
    // The measurement has begun when its window exists.
    until("the measurement", || {
        let mut tree = server.client("xwininfo");
        let tree = tree.args(["-root", "-tree"]).output().ok()?;
        String::from_utf8_lossy(&tree.stdout)
            .contains("600x600")
            .then_some(())
    });
    let of_server = Pid::from_raw(server.pid().cast_signed()).expect("a process");
    for signal in signals {
        kill_process(of_server, *signal).expect("a signal is sent");
    }
    let signalled = Instant::now();
    kill_process(Pid::from_child(&child), end).expect("a signal is sent");
    let status = crate::harness::wait(&mut child, "calibrate");
    assert_eq!(status.signal(), Some(end.as_raw()), "{status}");
    let took = signalled.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("a pipe");
    std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
    assert!(said.contains("interrupted; no file was written"), "{said}");
    assert_eq!(read(&file), whole.as_bytes());
}

#[test]
fn pipe_without_a_reader_is_an_error() {
    let place = Place::new();
    good(&place);
    let pipe = place.path("pipe");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("a pipe");
    let recording = ["record", "--server", "xvfb", "-o", "pipe", "--", "true"];
    for words in [&recording[..], &["report", "-o", "pipe"]] {
        let ran = place.run(words);
        assert_eq!(ran.status(), Some(1), "{ran}");
        assert!(ran.stderr().contains("no program reads"), "{ran}");
    }
}

#[test]
fn calibrate_rejects_an_unwritable_output_path() {
    let place = Place::new();
    let nowhere = ["calibrate", "--server", "xvfb", "-o", "no/such/folder.toml"];
    let line = place.run(nowhere).failed_with_one_line(1);
    assert!(line.contains("no/such/folder.toml"), "{line}");
}

#[test]
fn oversized_and_endless_input_files_are_rejected() {
    let place = Place::new();
    good(&place);
    let long = vec![b'#'; (16 << 20) + 1];
    place.write("long.toml", &long);
    let nested = [b"a = ".to_vec(), vec![b'['; 1 << 20]].concat();
    place.write("nested.toml", &nested);
    let letters = format!("format = 1\nx = \"{}\n", "y".repeat(1 << 20));
    place.write("letters.toml", letters.as_bytes());
    for (arguments, why) in [
        (&["report", "--params", "/dev/zero"][..], "a device"),
        (&["report", "--params", "long.toml"], "longer than 16 MiB"),
        (&["params", "check", "/dev/zero"], "a device"),
        (&["params", "check", "nested.toml"], "recur"),
        (&["params", "check", "letters.toml"], "letters.toml"),
        (&["params", "import", "/dev/zero"], "a device"),
        (&["params", "import", "long.toml"], "longer than 16 MiB"),
    ] {
        let line = place.run(arguments).failed_with_one_line(1);
        assert!(line.contains(why) && line.len() < 200, "{line}");
    }
}

/// Opening a pipe without a writer would block.
#[test]
fn named_pipes_are_no_input_files() {
    let place = Place::new();
    good(&place);
    let mode = rustix::fs::Mode::RWXU;
    for name in ["pipe.mcap", "pipe.toml"] {
        rustix::fs::mkfifoat(rustix::fs::CWD, place.path(name), mode).expect("a pipe");
    }
    for words in [
        &["report", "pipe.mcap"][..],
        &["top", "pipe.mcap"],
        &["recover", "pipe.mcap", "-o", "new.mcap"],
        &["replay", "pipe.mcap", "--server", "xvfb"],
        &["drive", "pipe.mcap", "--", "true"],
        &["report", "--params", "pipe.toml"],
        &["sql", "@pipe.toml", "."],
        &["check", "--budget", "pipe.toml"],
    ] {
        let ended = place.run(words);
        assert!(
            ended.stderr().contains("not a regular file"),
            "{words:?}: {ended}"
        );
        assert_eq!(ended.stderr().trim_end().lines().count(), 1, "{ended}");
    }
    let ended = place.run(["diff", "x11prof.mcap", "--", "pipe.mcap"]);
    assert!(ended.stderr().contains("not a regular file"), "{ended}");
    let issues = place.run(["issues", "pipe.mcap", "x11prof.mcap"]);
    assert!(issues.stderr().contains("not a regular file"), "{issues}");
}

#[test]
fn parameters_are_read_from_a_pipe() {
    let place = Place::new();
    let mut command = std::process::Command::new("bash");
    let script = "\"$0\" params check <(\"$0\" params show sun4-ipc)";
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_x11prof")])
        .current_dir(place.path(""));
    assert!(
        crate::harness::Finished::of(&mut command)
            .succeeded()
            .contains("in order")
    );
}

#[test]
fn non_utf8_argument_is_a_usage_error() {
    use std::os::unix::ffi::OsStrExt;

    let place = Place::new();
    let word = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    assert_eq!(place.run([word]).status(), Some(2));
    let recorded = place.run([word, word]);
    assert_eq!(recorded.status(), Some(2), "{recorded}");
}

#[test]
fn long_arguments_still_produce_an_error_message() {
    let place = Place::new();
    let long = "n".repeat(5000);
    for arguments in [
        &["report", &long][..],
        &["params", "show", &long],
        &["params", "cost", "sun4-ipc", &long, "1"],
        &["record", "--display", &long, "--", "true"],
        &["record", "--server", "xvfb", "--", &long],
    ] {
        let ran = place.run(arguments);
        let stderr = ran.stderr();
        let line = stderr.lines().next().expect("a line");
        assert!(line.starts_with("x11prof: "), "{ran}");
        assert_ne!(ran.status(), Some(0));
    }
}

#[test]
fn out_of_range_numbers_are_rejected() {
    let place = Place::new();
    good(&place);
    for (option, value) in [
        ("--scale", "*=1e308"),
        ("--scale", "*=nan"),
        ("--net", "0.0000000001B/s,1ms"),
        ("--frame-budget", "1e308"),
    ] {
        let report = ["report", "--params", "sun4-ipc", option, value];
        assert_eq!(place.run(report).status(), Some(2), "{value}");
    }
    let network = place.run(["network", "--rtt", "1e308"]);
    assert_eq!(network.status(), Some(2), "{network}");
    // Files of varying links.
    for (content, line) in [
        ("", "slow: the file has no times"),
        (
            "10\nfast\n",
            "slow: line 2: expected a time in whole milliseconds",
        ),
        (
            "10\n5\n",
            "slow: line 2: the time is before that of the previous line",
        ),
        ("0\n", "slow: the last time must be after 0"),
    ] {
        place.write("slow", content.as_bytes());
        let record = place.run(["record", "--net", "slow,10ms", "--", "true"]);
        assert_eq!(record.status(), Some(2), "{record}");
        // Errors wrap at words.
        let words: Vec<String> = record
            .stderr()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert!(words.join(" ").contains(line), "{record}");
    }
    for net in ["missing,10ms", "0KB/s,10ms", "slow"] {
        let record = place.run(["record", "--net", net, "--", "true"]);
        assert_eq!(record.status(), Some(2), "{record}");
    }
    let endless = [
        "record",
        "--server",
        "xvfb",
        "--seconds",
        "18446744073709551615",
        "--",
        "true",
    ];
    assert_eq!(place.run(endless).status(), Some(2));
    let report = ["report", "--params", "sun4-ipc", "--scale", "*=1e6"];
    let text = place.ok(report.into_iter().chain(["--net", "0.001B/s,1000s"]));
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
    let huge = "format = 1\n[server]\nname = \"x\"\n[[request]]\nname = \"PolyLine\"\n\
                attributes = {}\npoints = [[1, 1e308]]\n";
    place.write("huge.toml", huge.as_bytes());
    let line = place
        .run(["params", "check", "huge.toml"])
        .failed_with_one_line(1);
    assert!(line.contains("huge.toml"), "{line}");
}

#[test]
fn unknown_name_suggests_the_nearest() {
    let place = Place::new();
    good(&place);
    let sun = ["--params", "sun4-ipc", "--scale", "InternAtm=0"];
    for (arguments, nearest) in [
        (
            ["report"].iter().chain(&sun).collect::<Vec<_>>(),
            "InternAtom",
        ),
        (["compare"].iter().chain(&sun).collect(), "InternAtom"),
        (vec![&"dump", &"--message", &"CopyAera"], "CopyArea"),
        (vec![&"stats", &"--message", &"RENDR:*"], "RENDER:*"),
    ] {
        let ran = place.run(arguments);
        assert_eq!(ran.stdout(), "", "{ran}");
        let line = ran.failed_with_one_line(2);
        assert!(
            line.contains(&format!("did you mean {nearest:?}")),
            "{line}"
        );
    }
    // A message name that X11 defines is valid even if the trace has no such message.
    let ran = place.run(["dump", "--message", "MIT-SHM:AttachFd"]);
    assert_eq!((ran.status(), ran.stdout()), (Some(0), String::new()));
    // Toolkits receive keys as events of an extension.
    let ran = place.run(["dump", "--message", "KeyPress"]);
    assert!(
        ran.stderr().contains("try XInputExtension:KeyPress"),
        "{ran}"
    );
}
