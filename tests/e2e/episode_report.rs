//! `episodes` on small recordings of real programs that are kept in `tests/data`.

use std::path::Path;

use crate::harness::Place;
use serde_json::Value;

const KEPT: [&str; 3] = ["xclock.mcap", "xterm.mcap", "gtk3-widget-factory.mcap"];

fn place() -> Place {
    let place = Place::new();
    for name in KEPT {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name);
        std::fs::copy(&kept, place.path(name)).expect("the recording is kept");
    }
    place
}

fn episodes(more: &[&str]) -> String {
    place().ok([&["episodes", "xclock.mcap"], more].concat())
}

fn json(more: &[&str]) -> Value {
    let text = place().ok([&["episodes", "--format", "json"], more].concat());
    serde_json::from_str(&text).expect("JSON")
}

fn figure(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_default()
}

#[test]
fn text_has_the_verdict_then_the_landmarks() {
    insta::assert_snapshot!(episodes(&[]));
}

#[test]
fn csv_has_a_row_for_each_episode() {
    insta::assert_snapshot!(episodes(&["--format", "csv"]));
}

#[test]
fn worst_episodes_take_two_lines_each() {
    let place = place();
    let worst = place.ok(["episodes", "--worst", "4", "gtk3-widget-factory.mcap"]);
    insta::assert_snapshot!(worst);
}

#[test]
fn patterns_take_two_lines_each() {
    let place = place();
    insta::assert_snapshot!(place.ok(["episodes", "--patterns", "xterm.mcap"]));
}

#[test]
fn verdict_comes_first_and_fits_the_terminal() {
    let place = place();
    for trace in KEPT {
        for more in [
            &[][..],
            &["--by-key"],
            &["--worst", "10"],
            &["--patterns"],
            &["--chart"],
            &["--all"],
            &["--net", "dsl"],
        ] {
            let text = place.ok([&["episodes", trace], more].concat());
            for line in text.lines() {
                let width = line.chars().count();
                assert!(width <= 80, "{trace} {more:?}: {width} columns: {line}");
            }
            let verdict = text.lines().take_while(|line| !line.is_empty()).count();
            assert!((1..=5).contains(&verdict), "{trace} {more:?}:\n{text}");
        }
        let text = place.ok(["episodes", trace]);
        let rows = text.lines().skip_while(|line| !line.is_empty()).skip(2);
        let rows = rows.take_while(|line| !line.is_empty()).count();
        assert!((1..=15).contains(&rows), "{rows} rows:\n{text}");
    }
}

/// Other episodes begin during the longest ones.
#[test]
fn episode_option_reports_exactly_one_episode() {
    let place = place();
    for number in ["1", "2", "3"] {
        let words = [
            "episodes",
            "--format",
            "json",
            "gtk3-widget-factory.mcap",
            "--episode",
            number,
        ];
        let json = place.json(words);
        assert_eq!(json["summary"]["count"], 1, "{:#}", json["summary"]);
    }
}

#[test]
fn latency_parts_add_up_and_worst_episodes_list_messages() {
    let json = json(&["--worst", "3", "xclock.mcap"]);
    assert_eq!(json["format"], 1);
    let episodes = json["episodes"].as_array().expect("episodes");
    assert!(!episodes.is_empty() && episodes.len() <= 3);
    for episode in episodes {
        let parts = episode["parts"].as_object().expect("parts");
        let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
        let latency = figure(episode, "latency_ms");
        assert!((sum - latency).abs() < 1e-6, "{episode:#}");
        assert!(episode["messages"].as_array().is_some(), "{episode:#}");
    }
}

/// Checks that the exclusive latency and the children add up to the inclusive latency, and that each child takes at
/// least 1 ms.
fn nested(of: &Value) {
    let children = of["children"].as_array().expect("children");
    let within: f64 = children.iter().map(|one| figure(one, "latency_ms")).sum();
    let (inclusive, exclusive) = (figure(of, "latency_ms"), figure(of, "exclusive_ms"));
    assert!((inclusive - within - exclusive).abs() < 1e-6, "{of:#}");
    for child in children {
        assert!(figure(child, "latency_ms") >= 1.0, "{child:#}");
        nested(child);
    }
}

#[test]
fn patterns_locations_and_nesting_are_consistent() {
    for trace in KEPT {
        let json = json(&[trace]);
        let episodes = json["episodes"].as_array().expect("episodes");
        episodes.iter().for_each(nested);
        let patterns = json["patterns"].as_array().expect("patterns");
        let mut counted = 0;
        for pattern in patterns {
            let places = pattern["locations"].as_array().expect("locations");
            let sum: f64 = places.iter().map(|place| figure(place, "ms")).sum();
            let total = figure(pattern, "total_ms");
            assert!((sum - total).abs() < 1e-3, "{pattern:#}");
            let of_it = episodes
                .iter()
                .filter(|one| one["pattern"] == pattern["pattern"]);
            let slow = of_it.clone().filter(|one| one["perceptible"] == true);
            assert_eq!(pattern["count"], of_it.count() as u64);
            assert_eq!(pattern["perceptible"], slow.count() as u64);
            counted += pattern["count"].as_u64().unwrap_or_default();
        }
        assert_eq!(json["summary"]["count"], counted);
        // CPU time per step comes from the kernel, so no step exceeds the number of processors.
        let series = &json["series"];
        for name in ["client_percent", "server_percent", "waiting_percent"] {
            let shares = series[name].as_array().expect("recorded with switches");
            let processors = if name == "waiting_percent" { 1.0 } else { 64.0 };
            for share in shares.iter().filter_map(Value::as_f64) {
                assert!((0.0..=100.0 * processors + 1e-6).contains(&share), "{name}");
            }
        }
    }
}

#[test]
fn filter_without_matches_names_what_there_is() {
    let place = place();
    for (option, typed, nearest) in [
        ("--client", "xclok", "there are: xclock"),
        ("--landmark", "strat-up", "Start-up"),
    ] {
        let ran = place.run(["episodes", option, typed, "xclock.mcap"]);
        let said = ran.failed_with_one_line(2);
        assert!(said.contains(nearest), "{said}");
    }
    // The filter ignores case and matches landmark groups.
    let text = place.ok(["episodes", "--landmark", "START", "xclock.mcap"]);
    assert!(text.contains("Start-up"), "{text}");
}
