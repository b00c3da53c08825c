//! `link`: what is wrong with a connection is recognised, and a good one is left in peace.

use std::time::Duration;

use crate::harness::slow_relay::{Slow, SlowRelay};
use crate::harness::{Place, Server, needs};
use serde_json::Value;

fn kinds(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings");
    findings
        .iter()
        .filter_map(|finding| finding["kind"].as_str())
        .collect()
}

fn link(place: &Place, display: &str) -> Value {
    place.json(["link", "--display", display, "--format", "json"])
}

#[test]
fn each_kind_of_slow_connection_is_recognised() {
    let server = Server::xvfb(&[]);
    let place = Place::new();
    // Two that mostly wait, at once.
    let far = SlowRelay::start(&server.display, Slow::Delay(Duration::from_millis(15)));
    let held = SlowRelay::start(&server.display, Slow::Nagle(Duration::from_millis(40)));
    let (report, held) = std::thread::scope(|both| {
        let held = both.spawn(|| link(&place, &held.display));
        (link(&place, &far.display), held.join().expect("a report"))
    });
    assert!(kinds(&report).contains(&"far"), "{report}");
    assert_eq!(report["step_ms"], Value::Null);
    let rtt = report["round_trips"]["min_ms"].as_f64().expect("a time");
    assert!(rtt >= 30.0, "{report}");
    assert_eq!(kinds(&held)[0], "delayed-acknowledgement", "{held}");
    let two = held["two_writes_ms"].as_f64().expect("a time");
    assert!((30.0..80.0).contains(&two), "{held}");

    let steps = SlowRelay::start(&server.display, Slow::Steps(Duration::from_millis(20)));
    let report = link(&place, &steps.display);
    assert_eq!(kinds(&report)[0], "steps", "{report}");
    let step = report["step_ms"].as_f64().expect("a step");
    assert!((step - 20.0).abs() < 1.0, "{report}");
    let text = place.ok(["link", "--display", &steps.display]);
    assert!(text.contains("ObscureKeystrokeTiming"), "{text}");
    assert!(text.contains("bugzilla.mindrot.org"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );

    let narrow = SlowRelay::start(&server.display, Slow::Speed(1e6));
    let report = link(&place, &narrow.display);
    assert!(kinds(&report).contains(&"narrow"), "{report}");
    for way in ["to_server_bytes_per_second", "to_client_bytes_per_second"] {
        let speed = report[way].as_f64().expect("a speed");
        // A busy machine may make it slower.
        assert!((0.5e6..1.2e6).contains(&speed), "{report}");
    }
}

#[test]
fn a_local_server_is_local_and_stays_as_it_was() {
    needs("xprop", "x11-utils");
    needs("xwininfo", "x11-utils");
    let server = Server::xvfb(&[]);
    let place = Place::new();
    let state = || {
        let run = |program: &str, words: &[&str]| {
            crate::harness::Finished::of(server.client(program).args(words)).succeeded()
        };
        (
            run("xprop", &["-root"]),
            run("xwininfo", &["-root", "-tree"]),
        )
    };
    let before = state();
    let report = link(&place, &server.display);
    assert_eq!(before, state());
    assert_eq!(report["transport"], "unix");
    assert_eq!(report["step_ms"], Value::Null, "{report}");
    // Where others keep the machine busy, it may be uneven.
    let found = kinds(&report);
    assert!(
        found
            .iter()
            .all(|kind| ["local", "good", "uneven"].contains(kind)),
        "{report}"
    );
    place.ok([
        "record",
        "--display",
        &server.display,
        "--link",
        "-o",
        "kept.mcap",
        "--",
        "xprop",
        "-root",
    ]);
    let kept = place.json(["link", "kept.mcap", "--format", "json"]);
    assert_eq!(kept["display"], Value::from(server.display.clone()));
    let text = place.ok(["report", "kept.mcap", "--params", "sun4-ipc"]);
    assert!(text.contains("GetProperty"), "{text}");
    // What is kept is a line of the verdict.
    let verdict = text.split_once("\n\n").map_or("", |(verdict, _)| verdict);
    assert!(
        verdict.contains("\nConnection: ") && verdict.contains("(round trips "),
        "{text}"
    );
    let words = "report kept.mcap --params sun4-ipc --format json";
    let report = place.json(words.split(' '));
    assert_eq!(report["link"], kept);
    place.ok([
        "record",
        "--display",
        &server.display,
        "-o",
        "plain.mcap",
        "--",
        "xprop",
        "-root",
    ]);
    let line = place.run(["link", "plain.mcap"]).failed_with_one_line(1);
    assert!(line.contains("--link"), "{line}");
}
