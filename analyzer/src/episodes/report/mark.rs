//! The activity around a mark of the user.

use serde::Serialize;

/// A mark that the user set. Times are milliseconds from the trace's first record.
#[derive(Debug, Clone, Serialize)]
pub struct MarkReport {
    /// The time of the mark, in milliseconds since the trace's first record.
    pub at_ms: f64,
    /// The text of the mark; the name of the key if a key press set the mark.
    pub text: String,
    /// The beginning of the reported interval around the mark, in milliseconds since the trace's first record.
    pub from_ms: f64,
    /// The end of the reported interval around the mark, in milliseconds since the trace's first record.
    pub to_ms: f64,
    /// The server's CPU time in the interval, in milliseconds; null without context switches.
    pub server_ms: Option<f64>,
    /// The number of requests of all clients in the interval.
    pub requests: u64,
    /// The longest episodes in the interval, in time order.
    pub episodes: Vec<MarkedEpisode>,
    /// The longest stalls in the interval, in time order.
    pub stalls: Vec<MarkedStall>,
}

/// An episode around a mark.
#[derive(Debug, Clone, Serialize)]
pub struct MarkedEpisode {
    /// The name of the client that handled the episode.
    pub client_name: String,
    /// The landmark of the episode.
    pub landmark: String,
    /// The beginning of the episode, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The latency of the episode in milliseconds.
    pub latency_ms: f64,
    /// The name of the largest component of the latency.
    pub culprit: &'static str,
    /// The location of most of the episode's time; null if the latency is 0.
    #[serde(rename = "main_cause")]
    pub mostly: Option<String>,
}

/// A stall around a mark.
#[derive(Debug, Clone, Serialize)]
pub struct MarkedStall {
    /// The name of the client that caused the stall.
    pub by: String,
    /// The kind of stall: `busy` (with the client's work) or `grabbed`.
    #[serde(rename = "kind")]
    pub how: String,
    /// The most expensive request in the stall; null for none.
    pub request: Option<String>,
    /// The beginning of the stall, in milliseconds since the trace's first record.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length of the stall in milliseconds.
    pub held_ms: f64,
    /// The number of other clients that waited during the stall.
    pub waiters: u64,
}
