//! `ping`: recognises each kind of slow connection, and reports no finding for a good one.

use std::time::Duration;

use crate::harness::slow_relay::{Slow, SlowRelay};
use crate::harness::{Place, Server, needs, quiet};
use crate::hostile::changed;
use serde_json::Value;
use x11prof_trace::{Control, Link, Record};

fn kinds(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings");
    findings
        .iter()
        .filter_map(|finding| finding["kind"].as_str())
        .collect()
}

fn link(place: &Place, display: &str) -> Value {
    place.json(["ping", "--display", display, "--format", "json"])
}

#[test]
fn each_kind_of_slow_link_is_recognised() -> Result<(), String> {
    let _quiet = quiet();
    let server = Server::xvfb(&[]);
    let place = Place::new();
    // Retry once: on a busy machine the relay's timers fire late, which is another kind of slowness.
    each_kind(&server, &place).or_else(|_| each_kind(&server, &place))
}

fn each_kind(server: &Server, place: &Place) -> Result<(), String> {
    // Run the two measurements that mostly wait concurrently.
    let far = SlowRelay::start(&server.display, Slow::Delay(Duration::from_millis(15)));
    let held = SlowRelay::start(&server.display, Slow::Nagle(Duration::from_millis(40)));
    let (report, held) = std::thread::scope(|both| {
        let held = both.spawn(|| link(place, &held.display));
        (link(place, &far.display), held.join().expect("a report"))
    });
    let is = |right: bool, report: &Value| match right {
        true => Ok(()),
        false => Err(report.to_string()),
    };
    let number = |of: &Value| of.as_f64().unwrap_or(f64::NAN);
    is(kinds(&report).contains(&"far"), &report)?;
    is(report["step_ms"] == Value::Null, &report)?;
    is(number(&report["round_trips"]["min_ms"]) >= 30.0, &report)?;
    is(kinds(&held)[0] == "delayed-acknowledgement", &held)?;
    let two = number(&held["two_writes_ms"]);
    is((30.0..80.0).contains(&two), &held)?;

    let steps = SlowRelay::start(&server.display, Slow::Steps(Duration::from_millis(20)));
    let report = link(place, &steps.display);
    is(kinds(&report)[0] == "steps", &report)?;
    is((number(&report["step_ms"]) - 20.0).abs() < 1.0, &report)?;
    let text = place.ok(["ping", "--display", &steps.display]);
    let narrow_lines = text.lines().all(|line| line.chars().count() <= 80);
    let named = ["ObscureKeystrokeTiming", "bugzilla.mindrot.org"];
    let named = named.iter().all(|word| text.contains(word));
    is(narrow_lines && named, &text.clone().into())?;

    let narrow = SlowRelay::start(&server.display, Slow::Speed(1e6));
    let report = link(place, &narrow.display);
    is(kinds(&report).contains(&"narrow"), &report)?;
    for way in ["to_server_bytes_per_second", "to_client_bytes_per_second"] {
        // A busy machine may make it slower.
        is((0.5e6..1.2e6).contains(&number(&report[way])), &report)?;
    }
    Ok(())
}

#[test]
fn ping_of_a_local_server_leaves_it_unchanged() {
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
    // On a busy machine the connection may appear uneven.
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
    let kept = place.json(["ping", "kept.mcap", "--format", "json"]);
    assert_eq!(kept["display"], Value::from(server.display.clone()));
    let text = place.ok(["report", "kept.mcap", "--params", "sun4-ipc"]);
    assert!(text.contains("GetProperty"), "{text}");
    // The stored measurement appears as a line of the verdict.
    let verdict = text.split_once("\n\n").map_or("", |(verdict, _)| verdict);
    assert!(
        verdict.contains("\nLink: ") && verdict.contains("a round trip"),
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
    let line = place.run(["ping", "plain.mcap"]).failed_with_one_line(1);
    assert!(line.contains("--link"), "{line}");
}

/// The X server behind a relay is unknown: no cost table applies, and the waits are the network's.
#[test]
fn recording_through_a_relay_shows_the_network_not_server_costs() {
    let place = Place::new();
    // A recording through sshd has the measured link instead of the server's process.
    changed(&place, "xclock.mcap", 0, |record, _| {
        if let Record::Control(_, control @ Control::Server(_)) = record {
            *control = Control::Link(Link {
                transport: "tcp".to_owned(),
                relay: Some("sshd".to_owned()),
                round_trips_ns: vec![40_000_000; 3],
                ..Link::default()
            });
        }
    });
    let report = place.json(["report", "--format", "json"]);
    assert_eq!(report["server"]["name"], "");
    assert_eq!(report["total"]["server_ms"], 0.0);
    // The recorded server replied sooner than the link allows, so the link's round trip is shorter.
    let trip = report["network"]["rtt_ms"].as_f64();
    assert!(trip.is_some_and(|ms| 0.0 < ms && ms < 40.0), "{trip:?}");
    let (network, total) = (&report["total"]["network_ms"], &report["total"]["time_ms"]);
    assert_eq!(network, total);
    assert!(network.as_f64().is_some_and(|ms| ms > 0.0), "{network}");
    let text = place.ok(["report"]);
    assert!(
        text.contains("Server time: unknown behind sshd; "),
        "{text}"
    );
    assert!(!text.contains("without cost data"), "{text}");
    // A cost table that the user names is used.
    let text = place.ok(["report", "--params", "xvfb-24"]);
    assert!(
        text.contains("estimated from the costs of xvfb-24"),
        "{text}"
    );
}
