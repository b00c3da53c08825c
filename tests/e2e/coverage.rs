//! Recordings of programs of many kinds decode without an unknown message, every request in them
//! is an operation, every reply and error has its request, and tshark, which decodes the exported
//! capture alone, counts the same requests.
//!
//! The tests that are ignored take longer: `cargo xtask validate coverage` runs them all.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::harness::{Finished, Place, needs};
use serde_json::Value;

#[test]
fn xterm_is_fully_decoded() {
    covered(
        "xterm",
        "xterm",
        &["timeout", "20", "xterm", "-e", "ls -la /usr/bin"],
    );
}

#[test]
fn xclock_is_fully_decoded() {
    covered(
        "xclock",
        "x11-apps",
        &["timeout", "2", "xclock", "-update", "1"],
    );
}

#[test]
fn each_kind_of_x11perf_test_is_fully_decoded() {
    let tests = [
        "x11perf",
        "-reps",
        "1",
        "-repeat",
        "1",
        "-dot",
        "-rect10",
        "-oddsrect10",
        "-seg10",
        "-line10",
        "-dline10",
        "-wline10",
        "-circle10",
        "-fcircle10",
        "-triangle10",
        "-trap10",
        "-complex10",
        "-ftext",
        "-fitext",
        "-f24text16",
        "-aa10text",
        "-scroll10",
        "-copywinwin10",
        "-copypixwin10",
        "-copyplane10",
        "-getimage10",
        "-putimage10",
        "-shmput10",
        "-noop",
        "-prop",
        "-gc",
        "-create",
        "-map",
        "-unmap",
        "-destroy",
        "-popup",
        "-move",
        "-umove",
        "-resize",
        "-circulate",
        "-ucirculate",
    ];
    covered("x11perf", "x11-apps", &tests);
}

#[test]
fn gtk3_widget_factory_is_fully_decoded() {
    covered(
        "gtk3-widget-factory",
        "gtk-3-examples",
        // On a busy machine GTK connects after several seconds.
        &["timeout", "20", "gtk3-widget-factory"],
    );
}

#[test]
#[ignore = "long; cargo xtask validate coverage"]
fn nearly_all_x11perf_tests_are_fully_decoded() {
    // All x11perf tests except the four between these ranges, which crash x11perf.
    let all = "x11perf -reps 1 -repeat 1 -range dot,aatrap300 && \
               x11perf -reps 1 -repeat 1 -range aa1trap1,ucirculate";
    covered("x11perf", "x11-apps", &["sh", "-c", all]);
}

#[test]
#[ignore = "long; cargo xtask validate coverage"]
fn mousepad_is_fully_decoded() {
    covered("mousepad", "mousepad", &["timeout", "6", "mousepad"]);
}

#[test]
#[ignore = "long; cargo xtask validate coverage"]
fn mupdf_is_fully_decoded() {
    let place = Place::new();
    let page = place.write("page.txt", b"A page of text.\n".repeat(20).as_slice());
    covered(
        "mupdf",
        "mupdf",
        &["timeout", "6", "mupdf", &page.to_string_lossy()],
    );
}

#[test]
#[ignore = "long; cargo xtask validate coverage"]
fn qt_program_is_fully_decoded() {
    covered("featherpad", "featherpad", &["timeout", "6", "featherpad"]);
}

#[test]
#[ignore = "long; cargo xtask validate coverage"]
fn glxgears_is_fully_decoded() {
    covered("glxgears", "mesa-utils", &["timeout", "6", "glxgears"]);
}

/// Our dump of a recording.
#[derive(Default)]
struct Dumped {
    messages: u64,
    /// Requests by major opcode.
    opcodes: BTreeMap<u64, u64>,
    names: BTreeSet<String>,
    replies: u64,
    errors: u64,
    /// Messages without a name, without fields, replies and errors without a request, requests
    /// without an operation or without the reply that they must have: each with its name.
    faults: BTreeMap<String, u64>,
}

/// Records `command`, in which `program` of Debian's `package` runs, and checks the recording.
fn covered(program: &str, package: &str, command: &[&str]) {
    needs("Xvfb", "xvfb");
    needs("tshark", "tshark");
    needs(program, package);
    let place = Place::new();
    let trace = place.path("trace.mcap");
    // `timeout` ends most programs and returns its own exit status.
    let mut record = place.x11prof(["record", "--server", "xvfb", "-o"]);
    record.arg(&trace).arg("--").args(command);
    let ran = Finished::of(&mut record);
    assert!(trace.exists(), "{ran}");

    let mut dump = place.x11prof(["dump", "--format", "json"]);
    let dumped = read(&Finished::of(dump.arg(&trace)).succeeded());
    let requests: u64 = dumped.opcodes.values().sum();
    println!(
        "{program}: {} messages, {requests} requests of {} kinds, {} replies, {} errors",
        dumped.messages,
        dumped.names.len(),
        dumped.replies,
        dumped.errors
    );
    assert!(requests > 20, "{program} did something\n{ran}");
    assert_eq!(dumped.faults, BTreeMap::new(), "{program}\n{ran}");

    let capture = place.path("trace.pcapng");
    let mut export = place.x11prof(["export", "--to", "pcapng", "-o"]);
    Finished::of(export.arg(&capture).arg(&trace)).succeeded();
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-T", "fields", "-e", "x11.opcode", "-r"])
        .arg(&capture);
    let theirs = Finished::of(tshark.env("HOME", place.path(""))).succeeded();
    let mut opcodes = BTreeMap::new();
    for opcode in theirs.split([',', '\n']).filter(|word| !word.is_empty()) {
        let opcode: u64 = opcode.parse().expect("an opcode");
        *opcodes.entry(opcode).or_default() += 1;
    }
    assert_eq!(
        opcodes, dumped.opcodes,
        "{program}: tshark's counts, and ours"
    );
}

fn read(text: &str) -> Dumped {
    let mut dumped = Dumped::default();
    let mut unanswered: BTreeMap<(u64, u64), String> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let kind = line["kind"].as_str().expect("a kind");
        if kind == "control" {
            continue;
        }
        dumped.messages += 1;
        let name = line["name"].as_str().unwrap_or(kind).to_owned();
        let at = (
            line["connection"].as_u64().expect("a connection"),
            line["sequence"].as_u64().unwrap_or(0),
        );
        let mut fault = |what: &str| {
            *dumped
                .faults
                .entry(format!("{what}: {kind} {name}"))
                .or_default() += 1;
        };
        let number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
        if kind == "malformed" || kind == "lost" {
            fault("no message");
        } else if name.starts_with("Unknown:")
            || name.ends_with(":GenericEvent")
            || name.rsplit(':').next().is_some_and(number)
        {
            fault("no name");
        }
        if let Some(why) = line["undecoded"].as_str() {
            fault(why);
        }
        match kind {
            "request" => {
                let opcode = line["opcode"][0].as_u64().expect("an opcode");
                *dumped.opcodes.entry(opcode).or_default() += 1;
                dumped.names.insert(name.clone());
                if !line["operation"].is_object() {
                    fault("no operation");
                }
                if line["has_reply"] == true {
                    unanswered.insert(at, name);
                }
            }
            "reply" => {
                dumped.replies += 1;
                if name == "unpaired" {
                    fault("no request");
                }
                unanswered.remove(&at);
            }
            "error" => {
                dumped.errors += 1;
                if at.1 == 0 {
                    fault("no request");
                }
                unanswered.remove(&at);
            }
            _ => {}
        }
        // A server replies in order. The last requests of a client that exits may have no reply.
        if matches!(kind, "reply" | "error") {
            while let Some((passed, name)) = unanswered.range((at.0, 0)..at).next() {
                let fault = format!("no reply: {name}");
                *dumped.faults.entry(fault).or_default() += 1;
                let passed = *passed;
                unanswered.remove(&passed);
            }
        }
    }
    dumped
}
