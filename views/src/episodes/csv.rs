//! The episodes as CSV: one line per episode, with the fields of the JSON.

use ::csv::Writer;
use serde::Serialize;

use x11prof_analyzer::{EpisodeReport, EpisodesReport};

use crate::csv_tables::text;

#[derive(Serialize)]
struct Row<'a> {
    client: u32,
    client_name: &'a str,
    landmark: &'a str,
    trigger: &'a str,
    start_ms: f64,
    latency_ms: f64,
    exclusive_ms: f64,
    #[serde(rename = "caused_by")]
    led_to_by: Option<&'a str>,
    perceptible: bool,
    waiting_ms: f64,
    client_ms: f64,
    off_cpu_ms: f64,
    server_ms: f64,
    network_ms: f64,
    other_clients_ms: f64,
    round_trips: u64,
    blocked_ms: f64,
    culprit: &'a str,
    requests: u64,
    bytes: u64,
    events: u64,
}

/// The table of episodes as CSV.
pub fn csv(report: &EpisodesReport) -> String {
    let mut out = Writer::from_writer(Vec::new());
    for episode in &report.episodes {
        // Writing to memory cannot fail.
        let _ = out.serialize(row(episode));
    }
    text(out)
}

fn row(of: &EpisodeReport) -> Row<'_> {
    Row {
        client: of.client,
        client_name: &of.client_name,
        landmark: &of.landmark,
        trigger: of.trigger,
        start_ms: of.start_ms,
        latency_ms: of.latency_ms,
        exclusive_ms: of.exclusive_ms,
        led_to_by: of.led_to_by.as_deref(),
        perceptible: of.perceptible,
        waiting_ms: of.parts.waiting_ms,
        client_ms: of.parts.client_ms,
        off_cpu_ms: of.parts.off_cpu_ms,
        server_ms: of.parts.server_ms,
        network_ms: of.parts.network_ms,
        other_clients_ms: of.parts.other_clients_ms,
        round_trips: of.round_trips,
        blocked_ms: of.blocked_ms,
        culprit: of.culprit,
        requests: of.requests,
        bytes: of.bytes,
        events: of.events,
    }
}
