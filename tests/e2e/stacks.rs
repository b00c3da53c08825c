//! `record --stacks`: where in a program its waits began.

use std::process::Command;

use serde_json::Value;

use crate::harness::{Place, needs};

/// Each wait is longer than what looking at a stack may take.
const SLOW: &str = "100MB/s,20ms";

fn compiled(place: &Place, options: &[&str]) -> String {
    needs("cc", "gcc");
    let program = place.path("asker");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/stacks/asker.c");
    let mut compiler = Command::new("cc");
    compiler.args(options).arg("-o").arg(&program);
    let made = compiler.args([source, "-l:libxcb.so.1"]).status();
    assert!(made.expect("cc").success());
    program
        .into_os_string()
        .into_string()
        .expect("a plain path")
}

/// The callers of the recording: function, waits, the most frequent request.
fn callers(report: &Value) -> Vec<(&str, u64, &str)> {
    let callers = report["callers"]["callers"].as_array().expect("callers");
    fn of(one: &Value) -> Option<(&str, u64, &str)> {
        let name = one["functions"][0]["name"].as_str()?;
        let request = one["requests"][0]["request"].as_str()?;
        Some((name, one["waits"].as_u64()?, request))
    }
    callers.iter().filter_map(of).collect()
}

#[test]
fn each_wait_has_the_function_that_asked() {
    each_wait_is_told(&["-O2", "-g"]);
}

/// As some distributions compile all programs. The kernel does not tell the frame pointer.
#[test]
fn stacks_of_functions_with_frame_pointers_are_whole() {
    each_wait_is_told(&["-O2", "-g", "-fno-omit-frame-pointer"]);
    each_wait_is_told(&["-O0", "-g"]);
}

#[test]
fn the_waits_of_a_program_in_rust_have_its_own_functions() {
    let place = Place::new();
    let ours = env!("CARGO_BIN_EXE_x11prof");
    place.ok([
        "record", "--server", "xvfb", "--net", SLOW, "--stacks", "--", ours, "link",
    ]);
    let report = place.json(["roundtrips", "x11prof.mcap", "--format", "json"]);
    let all = &report["callers"];
    assert_eq!(all["whole"], all["looked_at"], "{all:#}");
    let first = callers(&report)[0];
    assert!(first.0.starts_with("x11prof_"), "{first:?}");
    assert!(first.1 > 20, "{first:?}");
}

fn each_wait_is_told(options: &[&str]) {
    let place = Place::new();
    let program = compiled(&place, options);
    place.ok([
        "record", "--server", "xvfb", "--net", SLOW, "--stacks", "--", &program,
    ]);
    let report = place.json(["roundtrips", "x11prof.mcap", "--format", "json"]);
    let all = callers(&report);
    assert!(
        all.contains(&("ask_for_atoms", 20, "InternAtom")),
        "{all:?}"
    );
    assert!(
        all.contains(&("ask_for_focus", 10, "GetInputFocus")),
        "{all:?}"
    );
    let callers = &report["callers"];
    assert_eq!(callers["whole"], callers["looked_at"], "{callers:#}");
    let atoms = callers["callers"].as_array().expect("callers").iter();
    let mut atoms = atoms.filter(|one| one["functions"][0]["name"] == "ask_for_atoms");
    let functions = &atoms.next().expect("a caller")["functions"];
    let line = functions[0]["line"].as_str().expect("a line");
    assert!(line.ends_with("asker.c:18"), "{line}");
    assert_eq!(functions[1]["name"], "start");
    assert_eq!(functions[2]["name"], "main");

    let page = place.ok(["roundtrips", "x11prof.mcap"]);
    assert!(page.contains("Waits by caller: "), "{page}");
    assert!(page.contains("Asked by ask_for_atoms"), "{page}");
    assert!(page.contains("ask_for_atoms (asker.c:18) <"), "{page}");
    // A program that was made anew names nothing.
    compiled(&place, &["-O2", "-g"]);
    let anew = place.run(["roundtrips", "x11prof.mcap"]);
    assert!(
        anew.stderr().contains("has changed since the recording"),
        "{anew}"
    );
    assert!(!anew.stdout().contains("ask_for_atoms"), "{anew}");

    place.ok(["scrub", "x11prof.mcap", "-o", "scrubbed.mcap"]);
    let scrubbed = std::fs::read(place.path("scrubbed.mcap")).expect("the trace");
    let folder = place.path(".").display().to_string();
    assert!(!String::from_utf8_lossy(&scrubbed).contains(&folder));
}

#[test]
fn the_slowest_actions_name_the_functions_that_waited() {
    needs("xclock", "x11-apps");
    let place = Place::new();
    place.ok([
        "record",
        "--server",
        "xvfb",
        "--net",
        SLOW,
        "--stacks",
        "--",
        "sh",
        "-c",
        "timeout 4 xclock; true",
    ]);
    let page = place.ok(["episodes", "x11prof.mcap", "--worst", "1"]);
    assert!(page.contains("Start-up, xclock"), "{page}");
    assert!(page.contains("Waited in "), "{page}");
    let report = place.json([
        "episodes",
        "x11prof.mcap",
        "--worst",
        "1",
        "--format",
        "json",
    ]);
    let all = report["episodes"][0]["callers"]
        .as_array()
        .expect("callers");
    let waits: u64 = all.iter().filter_map(|one| one["waits"].as_u64()).sum();
    assert!(waits > 10, "{report:#}");
}

#[test]
fn looking_at_stacks_takes_a_twentieth_of_the_waits() {
    let place = Place::new();
    let program = compiled(&place, &["-O2", "-s"]);
    place.ok([
        "record", "--server", "xvfb", "--stacks", "--", &program, "40",
    ]);
    let report = place.json(["roundtrips", "x11prof.mcap", "--format", "json"]);
    let callers = &report["callers"];
    let of = |figure: &str| callers[figure].as_f64().expect("a figure");
    assert!(
        of("looked_at") > 0.0 && of("looked_at") <= of("round_trips"),
        "{callers:#}"
    );
    // The first look goes beyond, and an interrupted one.
    assert!(
        of("looking_ms") < 0.15 * of("round_trips_ms"),
        "{callers:#}"
    );
    // A stripped program has addresses.
    let module = callers["callers"][0]["functions"][0]["module"].as_str();
    assert!(
        module.is_some_and(|module| module.starts_with("asker+0x")),
        "{callers:#}"
    );
}
