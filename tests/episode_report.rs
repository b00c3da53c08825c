//! `episodes` on a small recording of a real program that is kept in `tests/data`.
#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why and fails"
)]

mod harness;

use std::path::Path;

use harness::Place;
use serde_json::Value;

fn episodes(more: &[&str]) -> String {
    let place = Place::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/xclock.mcap");
    std::fs::copy(&kept, place.path("xclock.mcap")).expect("the recording is kept");
    place.ok([&["episodes", "xclock.mcap"], more].concat())
}

#[test]
fn as_text() {
    insta::assert_snapshot!(episodes(&[]));
}

#[test]
fn as_csv() {
    insta::assert_snapshot!(episodes(&["--format", "csv"]));
}

#[test]
fn parts_add_up_and_the_worst_have_their_messages() {
    let json = episodes(&["--format", "json", "--worst", "3"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["format"], 1);
    let episodes = json["episodes"].as_array().expect("episodes");
    assert!(!episodes.is_empty() && episodes.len() <= 3);
    for episode in episodes {
        let parts = episode["parts"].as_object().expect("parts");
        let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
        let latency = episode["latency_ms"].as_f64().expect("a latency");
        assert!((sum - latency).abs() < 1e-6, "{episode:#}");
        assert!(episode["messages"].as_array().is_some(), "{episode:#}");
    }
}
