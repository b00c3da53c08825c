//! Forecasts of other networks: what shares memory beside the server is sent there.

use crate::harness::examples::example;
use crate::harness::{Place, Server, needs};

/// Pictures of 480 by 360 pixels, of four bytes each.
const FRAMES: u64 = 12;
const PIXELS: u64 = 480 * 360 * 4;

#[test]
fn images_in_shared_memory_are_priced_as_sent() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let painter = example("shm_painter");
    let painter = painter.to_string_lossy();
    let frames = FRAMES.to_string();
    let without = Server::xvfb(&["-extension", "MIT-SHM"]);
    let recorded = |name: &str, server: [&str; 2]| {
        let arguments = [
            "record", server[0], server[1], "-o", name, "--", &painter, &frames,
        ];
        place.run(arguments).succeeded();
        place.json([
            "report", name, "--params", "xvfb-24", "--net", "dsl", "--format", "json",
        ])
    };
    let shared = recorded("shared.mcap", ["--server", "xvfb"]);
    let sent = recorded("sent.mcap", ["--display", &without.display]);
    let network =
        |report: &serde_json::Value| report["total"]["network_ms"].as_f64().expect("a time");
    let ratio = network(&shared) / network(&sent);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    let line = |report: &serde_json::Value, name: &str| {
        let lines = report["requests"].as_array().expect("lines");
        lines
            .iter()
            .find(|line| line["name"] == name)
            .cloned()
            .expect("its line")
    };
    assert_eq!(
        line(&shared, "MIT-SHM:PutImage")["bytes"],
        FRAMES * (PIXELS + 24)
    );
    assert_eq!(line(&sent, "PutImage")["count"], FRAMES);
    let kinds = |report: &serde_json::Value| {
        let warnings = report["warnings"].as_array().expect("warnings").clone();
        warnings
            .into_iter()
            .filter(|warning| warning["kind"] == "shared-memory")
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&shared)[0]["count"], FRAMES);
    assert!(kinds(&sent).is_empty());
    // Beside the server nothing is sent, and nothing said.
    let here = place.json([
        "report",
        "shared.mcap",
        "--params",
        "xvfb-24",
        "--format",
        "json",
    ]);
    assert_eq!(line(&here, "MIT-SHM:PutImage")["bytes"], FRAMES * 40);
    assert!(kinds(&here).is_empty());
    let text = place.ok([
        "report",
        "shared.mcap",
        "--params",
        "xvfb-24",
        "--net",
        "dsl",
    ]);
    assert!(text.contains("12 images in shared memory"), "{text}");
    // Compression makes bytes fewer, and round trips no shorter.
    let smaller = place.json([
        "report",
        "shared.mcap",
        "--params",
        "xvfb-24",
        "--net",
        "dsl,compress=4",
        "--format",
        "json",
    ]);
    assert_eq!(smaller["network"]["compression"], 4.0);
    let latency = |report: &serde_json::Value| {
        let lines = report["requests"].as_array().expect("lines").iter();
        let waited: u64 = lines.filter_map(|line| line["round_trips"].as_u64()).sum();
        waited as f64 * 50.0
    };
    let bytes = |report: &serde_json::Value| network(report) - latency(report);
    assert!((bytes(&shared) / bytes(&smaller) - 4.0).abs() < 0.01);
}
