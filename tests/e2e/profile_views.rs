//! Every view of a profile of the small recordings in `tests/data`: text and CSV match snapshots exactly, and all
//! views have the same totals.

use std::path::Path;

use crate::harness::{Place, needs, xterm_trace};
use serde_json::Value;

/// Runs x11prof in a folder with a kept recording.
fn on(recording: &str, arguments: &[&str]) -> String {
    let place = Place::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(recording);
    std::fs::copy(&kept, place.path(recording)).expect("the recording is kept");
    let (command, rest) = arguments.split_first().expect("a command");
    place.ok([&[*command, recording], rest].concat())
}

const SUN: [&str; 2] = ["--params", "sun4-ipc"];

fn report(recording: &str, more: &[&str]) -> String {
    on(recording, &[&["report"], SUN.as_slice(), more].concat())
}

#[test]
fn text_reports_match_snapshots() {
    insta::assert_snapshot!(report(
        "xterm.mcap",
        &["--net", "100KB/s,10ms", "--top", "10", "--resources"]
    ));
    insta::assert_snapshot!(report("xclock.mcap", &["--resources"]));
    insta::assert_snapshot!(report("xset.mcap", &[]));
}

#[test]
fn toolkit_report_lists_resources_and_grabs() {
    insta::assert_snapshot!(report(
        "gtk3-widget-factory.mcap",
        &["--net", "lan", "--top", "10", "--resources"]
    ));
}

#[test]
fn grouped_reports_match_snapshots() {
    let by = |key| report("xclock.mcap", &["--by", key, "--net", "lan", "--top", "12"]);
    for key in ["client", "window", "drawable", "atom"] {
        insta::assert_snapshot!(key, by(key));
    }
}

#[test]
fn scale_option_scales_or_removes_request_costs() {
    let scales = ["--scale", "*Arc*=0.5", "--scale", "QueryExtension=0"];
    insta::assert_snapshot!(report("xset.mcap", &scales));
}

#[test]
fn csv_reports_match_snapshots() {
    insta::assert_snapshot!(report("xset.mcap", &["--format", "csv"]));
    insta::assert_snapshot!(report(
        "xclock.mcap",
        &["--format", "csv", "--by", "client"]
    ));
}

#[test]
fn comparison_has_a_column_for_each_server() {
    let three = [
        "compare",
        "--params",
        "sun4-ipc",
        "--params",
        "decstation-3100",
        "--params",
        "hp9000-350",
        "--top",
        "5",
    ];
    insta::assert_snapshot!(on("xclock.mcap", &three));
    let networks = ["--net", "100KB/s,10ms", "--net", "1000KB/s,10ms"];
    let figure_10 = [&["compare", "--params", "sun4-ipc"], networks.as_slice()].concat();
    insta::assert_snapshot!(on("xclock.mcap", &figure_10));
    insta::assert_snapshot!(on(
        "xset.mcap",
        &[three.as_slice(), &["--format", "csv"]].concat()
    ));
}

#[test]
fn json_report_matches_snapshot() {
    insta::assert_snapshot!(report("xset.mcap", &["--format", "json"]));
}

/// Records the start of gtk3-widget-factory, and xterm.
fn real_programs() -> Vec<std::path::PathBuf> {
    needs("gtk3-widget-factory", "gtk-3-examples");
    let place = Place::new();
    let trace = place.path("gtk.mcap");
    // The program does not exit by itself.
    let mut command = place.x11prof(["record", "--server", "xvfb", "-o"]);
    command
        .arg(&trace)
        .args(["--", "timeout", "8", "gtk3-widget-factory"])
        .env("NO_AT_BRIDGE", "1");
    let ran = crate::harness::Finished::of(&mut command);
    assert_eq!(ran.status(), Some(124), "{ran}");
    vec![xterm_trace().to_owned(), crate::harness::keep(place, trace)]
}

#[test]
fn every_grouping_has_the_same_totals() {
    let place = Place::new();
    for trace in real_programs() {
        let trace = trace.to_string_lossy();
        let json = |by: &str| -> Value {
            let mut arguments = vec!["report", "--format", "json", "--net", "lan", "--by", by];
            arguments.extend(SUN);
            arguments.push(&trace);
            place.json(arguments)
        };
        let plain = json("request");
        let total = |field: &str| sum(&plain["requests"], field);
        assert!(total("count") > 100.0, "{plain:#}");
        for by in ["client", "window", "drawable", "atom"] {
            let report = json(by);
            let lines = &report["groups"]["lines"];
            for field in [
                "count",
                "bytes",
                "time_ms",
                "no_cost_data",
                "failed",
                "round_trips",
            ] {
                let (ours, theirs) = (sum(lines, field), total(field));
                assert!(
                    (ours - theirs).abs() < 1e-6 * theirs.max(1.0),
                    "{by} {field}"
                );
            }
        }
        let clients = plain["trace"]["connections"].as_array().expect("clients");
        let of_client = |client: &Value| {
            let number = client["id"].to_string();
            let mut arguments = vec![
                "report", "--format", "json", "--net", "lan", "--client", &number,
            ];
            arguments.extend(SUN);
            arguments.push(&trace);
            place.json(arguments)
        };
        let of_clients: Vec<Value> = clients.iter().map(of_client).collect();
        for field in ["count", "bytes", "server_ms", "round_trips"] {
            let reports = of_clients.iter();
            let ours: f64 = reports.map(|one| sum(&one["requests"], field)).sum();
            let theirs = total(field);
            assert!((ours - theirs).abs() < 1e-6 * theirs.max(1.0), "{field}");
        }
        // JSON always contains resources and grabs; the sections add up.
        let resources = plain["resources"]["clients"].as_array().expect("clients");
        assert!(!resources.is_empty());
        for kind in resources
            .iter()
            .flat_map(|of| of["kinds"].as_array().expect("kinds"))
        {
            let number = |field: &str| kind[field].as_u64().expect("a count");
            assert_eq!(
                number("created"),
                number("freed") + number("held"),
                "{kind:#}"
            );
            let remained = kind["remained"].as_array().expect("groups");
            let listed: f64 = remained
                .iter()
                .map(|of| of["count"].as_f64().expect("n"))
                .sum();
            assert!(
                remained.len() >= 100 || listed == number("held") as f64,
                "{kind:#}"
            );
        }
        let parts = &plain["client_and_server"];
        let number = |field: &str| parts[field].as_f64().expect("a figure");
        let sum = number("client_ms") + number("server_ms");
        assert!((sum - number("sum_ms")).abs() < 1e-6, "{parts}");
        let idle = number("idle_ms") + number("run_queue_ms");
        let wall = number("sum_ms") - number("overlap_ms") + idle;
        assert!((wall - number("wall_ms")).abs() < 1e-6, "{parts}");
    }
}

#[test]
fn invalid_scale_factor_is_a_usage_error() {
    let place = Place::new();
    let ran = place.run(["report", "--scale", "PolyLine=fast"]);
    assert_eq!(ran.status(), Some(2), "{ran}");
    assert!(ran.stderr().contains("is no factor"), "{ran}");
}

fn sum(rows: &Value, field: &str) -> f64 {
    rows.as_array()
        .expect("rows")
        .iter()
        .map(|row| row[field].as_f64().expect("a number"))
        .sum()
}

#[test]
fn report_stats_compare_and_scale_agree() {
    let place = Place::new();
    for trace in real_programs() {
        let trace = trace.to_string_lossy();
        let json = |command: &[&str]| -> Value {
            place.json([command, &["--format", "json", &trace]].concat())
        };
        let report = json(&["report", "--params", "sun4-ipc"]);
        let requests = report["total"]["count"].as_u64();
        assert!(requests > Some(300), "{report:#}");

        let stats = json(&["stats"]);
        let category = stats["categories"]
            .as_array()
            .and_then(|all| all.iter().find(|category| category["name"] == "Requests"));
        let counted = category.map(|category| &category["bytes"]["count"]);
        assert_eq!(counted.and_then(Value::as_u64), requests, "{stats:#}");
        let text = place.ok(["stats", "--histograms", &trace]);
        assert!(
            text.contains("Statistics for Requests") && text.contains('#'),
            "{text}"
        );

        let servers = ["compare", "--params", "sun4-ipc", "--params", "hp9000-350"];
        let compared = json(&servers);
        let first = &compared["servers"][0];
        assert_eq!(first["name"], "sun4-ipc");
        let (ours, theirs) = (&first["total_ms"], &report["total"]["time_ms"]);
        assert_eq!(ours, theirs, "one server's total is its report's");

        let without = json(&["report", "--params", "sun4-ipc", "--scale", "*=0"]);
        assert_eq!(sum(&without["requests"], "server_ms"), 0.0);
    }
}
