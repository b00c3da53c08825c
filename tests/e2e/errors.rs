//! Bad input gets one clear line and exit status 1; wrong usage gets 2.

use crate::harness::{Finished, Place, Server, xterm_trace};

#[test]
fn missing_trace_error_suggests_record() {
    let place = Place::new();
    let line = place.run(["report"]).failed_with_one_line(1);
    assert!(
        line.contains("x11prof.mcap") && line.contains("x11prof record"),
        "{line}"
    );
}

#[test]
fn empty_trace_gives_a_one_line_error() {
    let place = Place::new();
    let path = place.write("empty.mcap", b"");
    for command in ["report", "dump"] {
        let line = place
            .run([command.as_ref(), path.as_os_str()])
            .failed_with_one_line(1);
        assert!(line.contains("empty"), "{line}");
    }
}

#[test]
fn foreign_file_gives_a_one_line_error() {
    let place = Place::new();
    let path = place.write("foreign.mcap", &b"This is no trace.\n".repeat(1000));
    let line = place
        .run(["report".as_ref(), path.as_os_str()])
        .failed_with_one_line(1);
    assert!(line.contains("foreign.mcap"), "{line}");
}

#[test]
fn corrupt_trace_gives_a_one_line_error() {
    let place = Place::new();
    let mut bytes = std::fs::read(xterm_trace()).expect("a trace");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0x55);
    let path = place.write("corrupt.mcap", &bytes);
    let line = place
        .run(["report", "--params", "sun4-ipc", &path.to_string_lossy()])
        .failed_with_one_line(1);
    assert!(line.contains("corrupt.mcap"), "{line}");
}

#[test]
fn truncated_trace_reports_and_is_marked_incomplete() {
    let place = Place::new();
    let bytes = std::fs::read(xterm_trace()).expect("a trace");
    let path = place.write("cut.mcap", &bytes[..bytes.len() * 2 / 3]);
    let path = path.to_string_lossy();
    let report = place.json(["report", "--format", "json", "--params", "sun4-ipc", &path]);
    assert_eq!(report["trace"]["complete"], false);
    // A file truncated before its first record has nothing to report.
    let path = place.write("stub.mcap", &bytes[..40]);
    let line = place
        .run(["report", &path.to_string_lossy()])
        .failed_with_one_line(1);
    assert!(line.contains("stub.mcap"), "{line}");
}

#[test]
fn bad_parameter_files_give_one_line_errors() {
    let place = Place::new();
    let trace = xterm_trace().to_string_lossy().into_owned();
    let cases: &[(&str, &[u8])] = &[
        ("empty.toml", b""),
        ("foreign.toml", b"\x7fELF\x02\x01\x01\x00\xff\xfe"),
        ("broken.toml", b"format = 1\n[server\nname = 3\n"),
        ("future.toml", b"format = 99\n[server]\nname = \"x\"\n"),
        (
            "cut.toml",
            b"format = 1\n[server]\nname = \"x\"\n[[request]]\nname = \"PolyLine\"\n",
        ),
    ];
    for (name, bytes) in cases {
        let path = place.write(name, bytes);
        let path = path.to_string_lossy();
        let line = place
            .run(["report", "--params", &path, &trace])
            .failed_with_one_line(1);
        assert!(line.contains(name), "{line}");
        place.run(["params", "show", &path]).failed_with_one_line(1);
    }
    let line = place
        .run(["report", "--params", "no-such", &trace])
        .failed_with_one_line(1);
    assert!(line.contains("params list"), "{line}");
}

#[test]
fn too_few_open_files_are_an_error() {
    let (place, server) = (Place::new(), Server::xvfb(&[]));
    let display = format!("--display {}", server.display);
    for files in 5..20 {
        for words in [
            format!("record {display} -- true"),
            format!("top {display}"),
        ] {
            let program = env!("CARGO_BIN_EXE_x11prof");
            let script = format!("ulimit -n {files}; exec {program} {words}");
            let mut shell = std::process::Command::new("sh");
            let ended = Finished::of(shell.args(["-c", &script]).current_dir(place.path("")));
            assert!(ended.status() != Some(101), "{files}: {ended}");
            assert!(!ended.stderr().contains("panicked"), "{files}: {ended}");
        }
    }
}

#[test]
fn usage_error_exits_with_status_2() {
    let place = Place::new();
    for arguments in [
        &["report", "--net", "fast"][..],
        &["compare"],
        &["no-such-command"],
    ] {
        assert_eq!(place.run(arguments).status(), Some(2));
    }
}

#[test]
fn time_range_past_the_end_is_rejected_by_every_report() {
    let place = Place::new();
    let trace = xterm_trace().to_string_lossy().into_owned();
    for command in ["report", "episodes", "stats"] {
        let ran = place.run([command, &trace, "--from", "100"]);
        let line = ran.failed_with_one_line(2);
        assert!(line.contains("s after its start"), "{command}: {line}");
    }
}

/// Options that an error message suggests must exist for that command.
#[test]
fn top_without_display_suggests_only_its_own_options() {
    let place = Place::new();
    let mut top = place.x11prof(["top", "--json"]);
    let line = Finished::of(top.env_remove("DISPLAY")).failed_with_one_line(1);
    let help = place.ok(["top", "--help"]);
    let (own, _) = line.split_once("x11prof record").expect("another command");
    let words = own.split([' ', ',', ';', ':', '`', '(', ')']);
    for option in words.filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "{option}: {line}");
    }
}

/// Programs of GTK get their keys by XInput.
#[test]
fn a_message_of_an_extension_is_suggested_for_a_core_name() {
    let place = Place::new();
    let trace = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/gtk3-widget-factory.mcap"
    );
    let ran = place.run(["dump", "--message", "KeyPress", trace]);
    let said = ran.stderr();
    assert!(said.contains("try XInputExtension:KeyPress"), "{ran}");
}
