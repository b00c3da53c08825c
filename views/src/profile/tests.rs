//! Tests the text of reports whose JSON the analyzer's tests cover.

use serde::de::DeserializeOwned;
use x11prof_analyzer::{Comparison, ProfileReport};

use crate::Page;

/// The JSON in a snapshot, below its head.
fn of_snapshot<T: DeserializeOwned>(snapshot: &str) -> T {
    let json = &snapshot[snapshot.find("\n{").unwrap()..];
    serde_json::from_str(json).unwrap()
}

#[test]
fn profile_text_matches_snapshot() {
    let report: ProfileReport = of_snapshot(include_str!(
        "../../../analyzer/src/profile/snapshots/x11prof_analyzer__profile__tests__small_json.snap"
    ));
    insta::assert_snapshot!("small_text", super::text(&report, &Page::default().whole()));
}

#[test]
fn comparison_text_matches_snapshot() {
    let comparison: Comparison = of_snapshot(include_str!(
        "../../../analyzer/src/profile/snapshots/x11prof_analyzer__profile__tests__comparison_json.snap"
    ));
    insta::assert_snapshot!(
        "comparison_text",
        crate::comparison::text(&comparison, &Page::default())
    );
}

/// A recording over a network has no forecast for another network.
#[test]
fn network_start_up_names_its_cause_without_forecast() {
    let mut report: ProfileReport = of_snapshot(include_str!(
        "../../../analyzer/src/profile/snapshots/x11prof_analyzer__profile__tests__small_json.snap"
    ));
    let mut start = serde_json::json!({
        "client": "xtex (client 1)", "connection": 1, "since": "connection", "start_ms": 0.0,
        "latency_ms": 1000.0, "reason": null, "round_trips": 9, "synchronisations": 0,
        "waited_ms": 900.0, "requests": 20, "bytes": 100, "received_bytes": 100,
        "idle_ms": 0.0, "cpu_ms": 50.0, "network_ms": 800.0, "run_queue_ms": 0.0,
        "parts": {
            "before_connection_ms": null, "setup_ms": 10.0, "waited_ms": 900.0, "client_ms": 50.0,
            "server_ms": 40.0,
        },
    });
    (report.network.rtt_ms, report.network.bytes_per_second) = (0.0, None);
    let mut verdict = |start: &serde_json::Value| {
        report.start_up = vec![serde_json::from_value(start.clone()).unwrap()];
        super::verdict_lines(&report).join(" ")
    };
    let over_it = verdict(&start);
    assert!(
        over_it.contains("network 80 %, server wait 15 %, client CPU 5.0 %; 9 round trips"),
        "{over_it}"
    );
    assert!(!over_it.contains("; over"), "{over_it}");
    start["network_ms"] = 0.0.into();
    let local = verdict(&start);
    assert!(
        local.contains("server wait 95 %, client CPU 5.0 %; 9 round trips"),
        "{local}"
    );
    // Several threads may run at once.
    let mut parallel = start.clone();
    parallel["cpu_ms"] = 400.0.into();
    let parallel = verdict(&parallel);
    assert!(parallel.contains("client CPU 5.0 %"), "{parallel}");
    // A server that waited on the run queue is not slow.
    start["run_queue_ms"] = 850.0.into();
    let crowded = verdict(&start);
    assert!(
        crowded.contains("server wait 95 % (mostly no free CPU)"),
        "{crowded}"
    );
    // Nor is such a client.
    start["run_queue_ms"] = 0.0.into();
    (start["cpu_ms"], start["client_run_queue_ms"]) = (100.0.into(), 700.0.into());
    start["parts"]["waited_ms"] = 50.0.into();
    start["parts"]["client_ms"] = 900.0.into();
    let crowded = verdict(&start);
    assert!(
        crowded.contains("off-CPU 80 % (mostly no free CPU)"),
        "{crowded}"
    );
}
