//! `x11prof calibrate` and `x11prof params` against real servers.

use std::path::Path;

use x11prof_cost_model::ServerParameters;

use crate::harness::{Place, Server};

/// A quick calibration of a few requests.
const FEW: [&str; 6] = [
    "calibrate",
    "--quick",
    "--only",
    "NoOperation",
    "--only",
    "PolyFillRectangle",
];

#[test]
fn missing_or_refusing_display_gives_a_one_line_error() {
    let place = Place::new();
    let absent = place
        .run(["calibrate", "--display", ":359"])
        .failed_with_one_line(1);
    assert!(absent.contains(":359"), "{absent}");
    // A server whose cookie is in no authority file of the test.
    let cookie = b"\xff\xff\x00\x00\x00\x00\x00\x12MIT-MAGIC-COOKIE-1\x00\x100123456789abcdef";
    let cookie = place.write("cookie", cookie);
    let server = Server::xvfb_guarded(&cookie);
    let line = place
        .run(["calibrate", "--display", &server.display])
        .failed_with_one_line(1);
    assert!(
        line.contains("refused") && line.contains("XAUTHORITY"),
        "{line}"
    );
}

#[test]
fn server_without_fonts_is_calibrated_with_fallback_font() {
    let place = Place::new();
    let server = Server::xvfb(&["-fp", "built-ins"]);
    let file = place.path("bare.toml");
    let file = file.to_string_lossy();
    let arguments = [
        "calibrate",
        "--quick",
        "--only",
        "PolyText8",
        "-o",
        &file,
        "--display",
    ];
    place.ok(arguments.into_iter().chain([server.display.as_str()]));
    let text = std::fs::read_to_string(&*file).expect("a file");
    assert!(
        text.contains("absent: ") && text.contains("font 9x15"),
        "{text}"
    );
    assert!(text.contains("fontname = \"fixed\""), "{text}");
}

#[test]
fn timed_server_is_calibrated_from_handler_times() {
    let place = Place::new();
    let server = Server::timed(&place, Path::new(""));
    let file = place.path("own.toml");
    let file = file.to_string_lossy();
    let display = ["-o", &file, "--display", &server.display];
    place.ok(FEW.into_iter().chain(display));
    let text = std::fs::read_to_string(&*file).expect("a file");
    assert!(text.contains("handler times"), "{text}");
    let parameters = ServerParameters::from_toml(&text).expect("parameters");
    let fill = parameters
        .requests
        .iter()
        .find(|entry| entry.name == "PolyFillRectangle");
    let points = &fill.expect("an entry").points;
    assert!(
        points.len() > 2 && points.iter().any(|point| point.cold.is_some()),
        "{points:?}"
    );
    // The handler timer is resumed after the calibration.
    let words = [
        "record",
        "--display",
        &server.display,
        "-o",
        "it.mcap",
        "--",
        "xset",
        "q",
    ];
    place.ok(words);
    let report = place.json(["report", "it.mcap", "--format", "json"]);
    assert_eq!(report["server"]["time_source"], "timed");
}

#[test]
fn xprof_parameters_round_trip_through_toml() {
    let place = Place::new();
    let out = place.ok(["params", "export", "sun4-ipc"]);
    assert!(out.contains("CreateWindow (0, 4717.03"), "{out}");
    let file = place.write("sun.xprof", out.as_bytes());
    let toml = place.path("sun.toml");
    let (file, toml) = (file.to_string_lossy(), toml.to_string_lossy());
    place.ok(["params", "import", &file, "-o", &toml]);
    let line = "PolyLine gxmode=GXcopy linestyle=LineSolid fillstyle=FillSolid linewidth=0";
    let cost = place.ok(["params", "cost", &toml, line, "200"]);
    assert!(cost.starts_with("0.0740 ms"), "{cost}");
    let same = place.ok(["params", "diff", "sun4-ipc", &toml]);
    assert!(same.contains("1.000 in the median"), "{same}");
    let bad = place.write("bad.xprof", b"PolyLine (1,2)\nPolyLine (x)\n");
    let line = place
        .run(["params", "import", &bad.to_string_lossy()])
        .failed_with_one_line(1);
    assert!(line.contains("line 2, column 11"), "{line}");
}

#[test]
fn man_page_and_completions_list_main_commands() {
    let place = Place::new();
    let manual = place.ok(["man"]);
    let completions = place.ok(["completions", "bash"]);
    for command in ["record", "report", "calibrate", "params"] {
        assert!(manual.contains(command) && completions.contains(command));
    }
}
