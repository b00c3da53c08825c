//! `calibrate`, `record`, `report` and `compare` on a real program: the profile adds up.

use crate::harness::{Place, xterm_trace, xvfb_parameters};
use serde_json::Value;

fn report() -> Value {
    let place = Place::new();
    let (trace, parameters) = (
        xterm_trace().to_string_lossy(),
        xvfb_parameters().to_string_lossy(),
    );
    place.json([
        "report",
        "--format",
        "json",
        "--params",
        &parameters,
        &trace,
    ])
}

fn sum(rows: &Value, field: &str) -> f64 {
    rows.as_array()
        .expect("rows")
        .iter()
        .map(|row| row[field].as_f64().expect(field))
        .sum()
}

#[test]
fn nearly_all_xterm_requests_have_cost_data() {
    let report = report();
    let requests = &report["requests"];
    let count = report["total"]["count"].as_f64().expect("a count");
    assert!(
        count > 1000.0,
        "xterm sends thousands of requests: {report:#}"
    );
    let no_cost = sum(requests, "no_cost_data");
    assert!(
        no_cost / count < 0.01,
        "{no_cost} of {count} no_cost: {report:#}"
    );
    // The time share of requests without cost data is unknown. The most expensive known cost per call bounds it
    // only loosely, so there must be few such requests.
    let names = requests
        .as_array()
        .expect("rows")
        .iter()
        .filter(|row| row["no_cost_data"] != 0)
        .count();
    assert!(names <= 3, "{report:#}");
}

#[test]
fn no_request_is_lost_and_no_reply_is_unpaired() {
    let report = report();
    assert_eq!(report["trace"]["unpaired_replies"], 0);
    for connection in report["trace"]["connections"]
        .as_array()
        .expect("connections")
    {
        let (seen, last) = (&connection["requests"], &connection["last_sequence"]);
        assert!(
            last.as_u64() > Some(100),
            "the answers count requests: {connection}"
        );
        assert!(seen.as_u64() >= last.as_u64(), "{connection}");
    }
}

#[test]
fn report_totals_add_up() {
    let report = report();
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0);
    let (requests, transport, total) =
        (&report["requests"], &report["transport"], &report["total"]);
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!(close(sum(requests, "count"), number(&total["count"])));
    for part in ["server_ms", "network_ms"] {
        let whole = sum(requests, part) + number(&transport[part]);
        assert!(close(whole, number(&total[part])), "{part}: {report:#}");
    }
    let parts = number(&total["server_ms"]) + number(&total["network_ms"]);
    assert!(close(parts, number(&total["time_ms"])));
    assert!(number(&total["low_ms"]) <= number(&total["time_ms"]));
    assert!(number(&total["time_ms"]) <= number(&total["high_ms"]));
    for row in requests.as_array().expect("rows") {
        let ways = ["exact", "interpolated", "substituted", "no_cost_data"];
        let counted: u64 = ways
            .iter()
            .map(|way| row[way].as_u64().expect("a count"))
            .sum();
        assert_eq!(Some(counted), row["count"].as_u64(), "{row}");
    }
}

#[test]
fn server_time_matches_kernel_cpu_time() {
    let report = report();
    let total = &report["total"];
    let measured = total["server_cpu_ms"]
        .as_f64()
        .expect("the kernel's figure");
    let estimate = total["server_ms"].as_f64().expect("an estimate");
    // Both figures come from the kernel: the switches add up to the process's CPU clock.
    assert!(measured > 1.0, "{total}");
    assert!((0.8..1.25).contains(&(estimate / measured)), "{total}");
    assert!(total["client_cpu_ms"].as_f64() > Some(1.0), "{total}");
    assert!(total["wall_ms"].as_f64() > Some(10.0), "{total}");
    assert_eq!(report["server"]["clock"], "cpu");
}

#[test]
fn report_has_the_columns_of_tables_2_and_3() {
    let place = Place::new();
    let (trace, parameters) = (
        xterm_trace().to_string_lossy(),
        xvfb_parameters().to_string_lossy(),
    );
    let text = place.ok([
        "report",
        "--net",
        "100KB/s,10ms",
        "--params",
        &parameters,
        &trace,
    ]);
    for column in [
        "Request ",
        "Time ms",
        "Share",
        "Server",
        "Network",
        "Count",
        "Mean",
        "Total",
        "With 800 kbit/s and 10.0 ms a round trip",
    ] {
        assert!(text.contains(column), "{column} is missing:\n{text}");
    }
}

#[test]
fn compare_estimates_two_servers() {
    let place = Place::new();
    let (trace, parameters) = (
        xterm_trace().to_string_lossy(),
        xvfb_parameters().to_string_lossy(),
    );
    let both = [
        "compare",
        "--params",
        &parameters,
        "--params",
        "sun4-ipc",
        &trace,
    ];
    let text = place.ok(both);
    assert!(
        text.contains("sun4-ipc") && text.contains("No cost data"),
        "{text}"
    );
    let json = place.json(both.iter().copied().chain(["--format", "json"]));
    let servers = json["servers"].as_array().expect("servers");
    assert_eq!(servers.len(), 2);
    // The paper's table covers few of today's requests, and the report states that.
    assert!(
        servers[1]["no_cost_data"].as_u64() > servers[0]["no_cost_data"].as_u64(),
        "{json:#}"
    );
}

#[test]
fn dump_prints_one_line_per_request() {
    let place = Place::new();
    let trace = xterm_trace().to_string_lossy();
    let text = place.ok(["dump", &trace]);
    let counted = place.json(["stats", "--format", "json", &trace]);
    let requests = counted["categories"][0]["by_message"].as_array();
    let requests = requests.expect("the requests");
    assert!(requests.len() > 10, "{counted:#}");
    for row in requests {
        let name = row["name"].as_str().expect("a name");
        let word = format!(" -> {name} ");
        let lines = text.lines().filter(|line| line.contains(&word)).count();
        assert_eq!(Some(lines as u64), row["count"].as_u64(), "{name}");
    }
}

#[test]
fn report_and_compare_estimate_equal_server_time() {
    let place = Place::new();
    let trace = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/gtk3-widget-factory.mcap"
    );
    let parameters = concat!(env!("CARGO_MANIFEST_DIR"), "/server-params/xvfb-24.toml");
    let of = |command| place.json([command, "--format", "json", "--params", parameters, trace]);
    let (report, compare) = (of("report"), of("compare"));
    assert_eq!(
        report["total"]["server_ms"], compare["servers"][0]["server_ms"],
        "both know who ran before a request"
    );
}
