//! The activity around a mark of the user.

use serde::Serialize;

/// A mark of the user. Times are milliseconds from the trace's first record.
#[derive(Debug, Clone, Serialize)]
pub struct MarkReport {
    /// The time of the mark.
    pub at_ms: f64,
    /// The text; the name of the key if a key was pressed.
    pub text: String,
    /// The beginning of the interval.
    pub from_ms: f64,
    /// The end of the interval.
    pub to_ms: f64,
    /// The server's run time in the interval; null without context switches.
    pub server_ms: Option<f64>,
    /// Requests of all clients in it.
    pub requests: u64,
    /// The longest episodes in it, in the order of time.
    pub episodes: Vec<MarkedEpisode>,
    /// The longest stalls in it, in the order of time.
    pub stalls: Vec<MarkedStall>,
}

/// An episode around a mark.
#[derive(Debug, Clone, Serialize)]
pub struct MarkedEpisode {
    /// The client's name.
    pub client_name: String,
    /// The landmark.
    pub landmark: String,
    /// The beginning of the episode.
    pub start_ms: f64,
    /// The latency.
    pub latency_ms: f64,
    /// The largest part.
    pub culprit: &'static str,
    /// The location of most of the episode's time.
    #[serde(rename = "main_cause")]
    pub mostly: Option<String>,
}

/// A stall around a mark.
#[derive(Debug, Clone, Serialize)]
pub struct MarkedStall {
    /// The client that caused the stall.
    pub by: String,
    /// `busy` with the client's work, or `grabbed`.
    #[serde(rename = "kind")]
    pub how: String,
    /// The most expensive request in it.
    pub request: Option<String>,
    /// The beginning.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length.
    pub held_ms: f64,
    /// The number of other clients that waited.
    pub waiters: u64,
}
