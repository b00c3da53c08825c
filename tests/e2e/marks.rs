//! User marks, set by `x11prof mark` and by a key, in proxy and attached recordings.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::harness::browser::Browser;
use crate::harness::{Finished, Place, Recording, Server, needs, until, wait};
use crate::hostile::{at, trace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use x11prof_trace::{Control, Record};

/// The marks of a trace with their context, as `episodes --marks` reports them.
fn marks(place: &Place, trace: &Path) -> Vec<Value> {
    let trace = trace.to_str().expect("a plain path");
    let report = place.json(["episodes", "--marks", "--format", "json", trace]);
    report["marks"].as_array().cloned().unwrap_or_default()
}

/// The texts of the marks in a dump.
fn dumped(place: &Place, trace: &Path) -> String {
    place.ok(["dump", trace.to_str().expect("a plain path")])
}

#[test]
fn command_and_key_marks_show_their_context() {
    needs("xterm", "xterm");
    needs("xdotool", "xdotool");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let trace = place.path("marked.mcap");
    let words = ["--display", &server.display, "--mark-key", "ctrl+F9"];
    let mut recording = Recording::at(&place, &trace, &words);
    let mut xterm = recording.client("xterm").spawn().expect("xterm starts");
    let mut person = recording.client("xdotool");
    person.args(["search", "--sync", "--onlyvisible", "--class", "xterm"]);
    person.args(["windowfocus", "--sync", "type", "ls"]);
    Finished::of(&mut person).succeeded();
    // `mark` accepts the recorder's display and the server's display.
    for (display, text) in [
        (&recording.display, "menu is slow"),
        (&server.display, "again"),
    ] {
        Finished::of(place.x11prof(["mark", text]).env("DISPLAY", display)).succeeded();
    }
    // Press the key on the server; no recorded client has the focus.
    Finished::of(server.client("xdotool").args(["key", "ctrl+F9"])).succeeded();
    // The key reaches the recorder over its own connection.
    until("the key has come", || {
        dumped(&place, &trace).contains("ctrl+F9").then_some(())
    });
    xterm.kill().expect("xterm ends");
    wait(&mut xterm, "xterm");
    assert!(recording.signal(Signal::INT).success());

    let marks = marks(&place, &trace);
    let texts: Vec<&str> = marks
        .iter()
        .filter_map(|mark| mark["text"].as_str())
        .collect();
    assert!(texts.len() >= 3, "{texts:?}");
    assert_eq!(texts[..3], ["menu is slow", "again", "ctrl+F9"]);
    let first = &marks[0];
    let near = first["episodes"].as_array().expect("episodes");
    assert!(
        near.iter().any(|one| {
            let name = one["client_name"].as_str().unwrap_or_default();
            name.contains("xterm")
        }),
        "{first}"
    );
    assert!(first["requests"].as_u64() > Some(50), "{first}");
    assert!(first["at_ms"].as_f64() > Some(0.0), "{first}");
    // No other client receives the grabbed key.
    let events = dumped(&place, &trace);
    assert!(
        !events
            .lines()
            .any(|line| line.contains("KeyPress") && line.contains("F9"))
    );

    let trace = trace.to_str().expect("a plain path");
    let text = place.ok(["episodes", "--marks", trace]);
    assert!(text.contains("(menu is slow): the server ran"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // Timeline exports contain the marks.
    let to = place.path("trace.pftrace");
    place.ok([
        "export",
        "--to",
        "perfetto",
        "-o",
        to.to_str().expect("a plain path"),
        trace,
    ]);
    let bytes = std::fs::read(to).expect("the export");
    let named = |text: &[u8]| bytes.windows(text.len()).any(|at| at == text);
    assert!(named(b"marks of the user") && named(b"menu is slow"));
}

#[test]
fn attached_recording_accepts_marks() {
    needs("xdotool", "xdotool");
    let place = Place::new();
    let server = Server::xvfb(&[]);
    let trace = place.path("attached.mcap");
    let mut command = place.x11prof(["record", "--attach", "--display", &server.display]);
    command.args(["--mark-key", "Pause", "-o"]).arg(&trace);
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .expect("x11prof starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = said.next().expect("a line").expect("a line");
    assert!(first.contains("recording the "), "{first}");
    let mut mark = place.x11prof(["mark", "--display", &server.display, "here"]);
    Finished::of(&mut mark).succeeded();
    Finished::of(server.client("xdotool").args(["key", "Pause"])).succeeded();
    until("the trace is there", || trace.exists().then_some(()));
    until("the key has come", || {
        dumped(&place, &trace).contains("Pause").then_some(())
    });
    kill_process(Pid::from_child(&child), Signal::INT).expect("a signal is sent");
    let rest = std::thread::spawn(move || said.map_while(Result::ok).collect::<Vec<_>>());
    assert!(wait(&mut child, "x11prof record --attach").success());
    rest.join().expect("reading a pipe");
    let marks = marks(&place, &trace);
    assert_eq!(marks[0]["text"], "here");
    assert_eq!(marks[1]["text"], "Pause");
    // The recorder's connection, which grabs the key, is not recorded as a client.
    let dump = dumped(&place, &trace);
    assert!(!dump.contains("GrabKey"), "{dump}");
}

#[test]
fn failed_mark_is_reported() {
    let place = Place::new();
    let nobody = Finished::of(&mut place.x11prof(["mark", "--display", ":59000", "here"]));
    assert!(
        nobody
            .failed_with_one_line(1)
            .contains("is not being recorded")
    );
    let unset = Finished::of(&mut place.x11prof(["mark"]));
    assert!(unset.failed_with_one_line(2).contains("--display"));
    let key = place.run(["record", "--mark-key", "Any", "--", "true"]);
    assert!(key.stderr().contains("is no key"), "{key}");
    // For a trace without marks the report explains how to set them.
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xterm.mcap");
    assert!(
        place
            .ok(["episodes", "--marks", data])
            .contains("There are no marks")
    );
}

#[test]
fn reports_that_omit_marks_state_the_total() {
    needs("chromium", "chromium");
    needs("chromedriver", "chromium-driver");
    let place = Place::new();
    let mark = |n: u64| {
        let text = format!("number {n}");
        Record::Control(at(n * 1000), Control::Mark { text })
    };
    trace(&place, (1..=1001).map(mark));
    let text = place.ok(["episodes", "--marks"]);
    let begin = "The first 1000 of 1001 marks.";
    assert!(text.starts_with(begin), "{text:.200}");
    assert!(text.contains("number 1000") && !text.contains("number 1001"));
    let json = place.json(["episodes", "--marks", "--format", "json"]);
    assert_eq!(json["marks_omitted"], 1);
    let page = ["report", "--params", "xvfb-24", "--format", "html"];
    place.ok(page.iter().chain(&["-o", "page.html"]));
    let browser = Browser::start();
    browser.open(&place.path("page.html"));
    let caption = browser.run("return document.querySelector('#marks caption').textContent");
    let caption = caption.as_str().expect("a caption");
    let begin = "The first 1000 of 1001 marks of the user, with";
    assert!(caption.starts_with(begin), "{caption}");
}
