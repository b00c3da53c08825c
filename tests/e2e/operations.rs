//! User-defined operations on the command line.

use crate::harness::Place;

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/xterm.mcap");

/// The server's time for `request` in a report, in milliseconds.
fn time(report: &serde_json::Value, request: &str) -> f64 {
    let line = report["requests"]
        .as_array()
        .and_then(|lines| lines.iter().find(|line| line["name"] == request));
    line.and_then(|line| line["server_ms"].as_f64())
        .unwrap_or_else(|| panic!("{request} has no time in {report}"))
}

#[test]
fn redefined_op_size_changes_the_estimated_cost() {
    let place = Place::new();
    let file = place.write(
        "operations.toml",
        b"format = 1\n[[operation]]\nrequest = \"PutImage\"\nop_size = \"9 * u16@12 * u16@14\"\n",
    );
    let file = file.to_string_lossy();
    let plain = ["report", TRACE, "--params", "sun4-ipc", "--format", "json"];
    let before = place.json(plain);
    let after = place.json(plain.iter().copied().chain(["--operations", &*file]));
    assert!(time(&after, "PutImage") > 2.0 * time(&before, "PutImage"));
    assert_eq!(time(&after, "ClearArea"), time(&before, "ClearArea"));
}

#[test]
fn bad_operations_file_gives_a_one_line_error() {
    let place = Place::new();
    for (text, reported) in [
        ("format = 1\n[[operation]]\nreq = 3\n", "line 3"),
        (
            "format = 1\n[[operation]]\nrequest = \"PolyLine\"\nop_size = \"u16\"\n",
            "operation 1 (PolyLine)",
        ),
    ] {
        let file = place.write("operations.toml", text.as_bytes());
        let file = file.to_string_lossy();
        for command in ["report", "compare"] {
            let arguments = [
                command,
                TRACE,
                "--params",
                "sun4-ipc",
                "--operations",
                &file,
            ];
            let line = place.run(arguments).failed_with_one_line(1);
            assert!(
                line.contains("operations.toml") && line.contains(reported),
                "{line}"
            );
        }
    }
}
