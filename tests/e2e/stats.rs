//! `stats` on small recordings of real programs that are kept in `tests/data`.

use std::path::Path;

use crate::harness::Place;
use serde_json::Value;

fn stats(recording: &str, more: &[&str]) -> String {
    let place = Place::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(recording);
    std::fs::copy(&kept, place.path(recording)).expect("the recording is kept");
    place.ok([&["stats", recording], more].concat())
}

#[test]
fn tables_4_5_and_6_keep_their_layout() {
    insta::assert_snapshot!(stats("xset.mcap", &[]));
    insta::assert_snapshot!(stats(
        "xclock.mcap",
        &["--message", "CreatePixmap", "--message", "Expose"]
    ));
}

#[test]
fn histograms_fit_the_terminal() {
    insta::assert_snapshot!(stats(
        "xterm.mcap",
        &["--message", "AllocColor", "--histograms"]
    ));
}

#[test]
fn csv_and_json_contain_all_statistics() {
    insta::assert_snapshot!(stats(
        "xset.mcap",
        &["--message", "GetKeyboardControl", "--format", "csv"]
    ));
    let json = stats("xterm.mcap", &["--format", "json", "--histograms"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["format"], 1);
    for of in json["categories"].as_array().expect("categories") {
        let number = &of["bytes"]["count"];
        assert_eq!(&of["inter_arrival_ms"]["count"], number, "{of:#}");
        for quantity in ["bytes", "inter_arrival_ms"] {
            let cells = of[quantity]["histogram"].as_array().expect("cells");
            let counted: u64 = cells
                .iter()
                .map(|cell| cell["count"].as_u64().expect("n"))
                .sum();
            assert_eq!(Some(counted), number.as_u64(), "{of:#}");
        }
        let kinds = of["by_message"].as_array().expect("kinds");
        let bytes: u64 = kinds
            .iter()
            .map(|kind| kind["total_bytes"].as_u64().expect("n"))
            .sum();
        assert_eq!(Some(bytes), of["total_bytes"].as_u64(), "{of:#}");
    }
}

#[test]
fn unknown_message_suggests_the_nearest() {
    let place = Place::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/xset.mcap");
    let ran = place.run(["stats", "--message", "PolyLime", &kept.to_string_lossy()]);
    let line = ran.failed_with_one_line(2);
    assert!(
        line.contains("PolyLime") && line.contains("PolyLine"),
        "{line}"
    );
}

#[test]
fn client_limits_the_counts_and_an_unknown_name_is_an_error() {
    let count = |more: &[&str]| {
        let json = stats("xset.mcap", &[&["--format", "json"], more].concat());
        let json: Value = serde_json::from_str(&json).expect("JSON");
        json["categories"][0]["bytes"]["count"].as_u64()
    };
    let all = count(&[]);
    assert!(all > Some(0));
    assert_eq!(count(&["--client", "xset"]), all);
    let place = Place::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/xset.mcap");
    let trace = kept.to_string_lossy();
    let refused = place
        .run(["stats", &*trace, "--client", "xterm"])
        .failed_with_one_line(2);
    assert!(refused.contains("xset"), "{refused}");
}
