//! Forecasts of other networks count an image in shared memory as sent over the network. An emulated network takes its
//! stated time.

use std::time::{Duration, Instant};

use crate::harness::examples::example;
use crate::harness::raw::Order;
use crate::harness::{Place, Recording, Server, needs};

/// Frames of 480 by 360 pixels with four bytes each.
const FRAMES: u64 = 12;
const PIXELS: u64 = 480 * 360 * 4;

#[test]
fn shared_memory_images_count_as_network_bytes() {
    needs("Xvfb", "xvfb");
    let place = Place::new();
    let painter = example("shm_painter");
    let painter = painter.to_string_lossy();
    let frames = FRAMES.to_string();
    let without = Server::xvfb(&["-extension", "MIT-SHM"]);
    let record = |name: &str, server: [&str; 2]| {
        let arguments = [
            "record", server[0], server[1], "-o", name, "--", &painter, &frames,
        ];
        place.run(arguments).succeeded();
    };
    record("shared.mcap", ["--server", "xvfb"]);
    record("sent.mcap", ["--display", &without.display]);
    let report = |name: &str, net: &[&str]| {
        let basic = ["report", name, "--params", "xvfb-24", "--format", "json"];
        place.json([&basic, net].concat())
    };
    let network =
        |report: &serde_json::Value| report["total"]["network_ms"].as_f64().expect("a time");
    let shared = report("shared.mcap", &["--net", "dsl"]);
    let sent = report("sent.mcap", &["--net", "dsl"]);
    // 1.5 Mbit/s, including headers.
    let bytes_ms = (FRAMES * PIXELS) as f64 / 187.5;
    for of in [&shared, &sent] {
        let ratio = network(of) / bytes_ms;
        assert!((1.0..1.1).contains(&ratio), "{ratio}");
    }
    let line = |report: &serde_json::Value, name: &str| {
        let lines = report["requests"].as_array().expect("lines");
        let of_name = lines.iter().find(|line| line["name"] == name);
        of_name.and_then(|line| line["network_ms"].as_f64())
    };
    let image = line(&shared, "MIT-SHM:PutImage").expect("a time");
    assert!(image > 0.9 * network(&shared), "{image}");
    let here = report("shared.mcap", &[]);
    assert_eq!(line(&here, "MIT-SHM:PutImage"), Some(0.0));
    // Compression reduces the bytes; round trips take as long as before.
    let smaller = report("shared.mcap", &["--net", "dsl,compress=4"]);
    assert_eq!(smaller["network"]["compression"], 4.0);
    let ratio = network(&shared) / network(&smaller);
    assert!((3.0..4.0).contains(&ratio), "{ratio}");
    // The paper's equation counts only bytes that were sent over the connection.
    let paper = report("shared.mcap", &["--net", "dsl", "--net-model", "paper"]);
    assert_eq!(paper["network"]["model"], "paper");
    assert!(network(&paper) < 0.2 * network(&shared));
}

/// A busy machine delays most round trips, so the shortest one is tested.
#[test]
fn emulated_round_trip_takes_its_stated_time() {
    let place = Place::new();
    let recording = Recording::start(&place, &["--net", "1Gbit/s,10ms"]);
    let mut client = recording.raw(Order::Little);
    // The recorder measures its relay's own time once, on a busy machine up to some hundred microseconds too long.
    let (least, longest) = (Duration::from_micros(9_500), Duration::from_micros(10_500));
    let mut shortest = Duration::MAX;
    for trips in 0..5_000 {
        let begun = Instant::now();
        client.sync();
        shortest = shortest.min(begun.elapsed());
        if trips >= 50 && shortest <= longest {
            break;
        }
    }
    assert!((least..=longest).contains(&shortest), "{shortest:?}");
}
