//! The grabs of a trace as a document.

use super::{Grab, Grabs, stall};
use crate::recording::trace_summary::TraceSummary;
use crate::stalls::report::StallWaiter;
use crate::text::units::duration_ms;
use serde::{Deserialize, Serialize};

/// The grabs of a trace. Times are milliseconds from the trace's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrabReport {
    /// The number of grabs in the trace.
    pub count: u64,
    /// The number of requests for a grab whose reply had a status other than success.
    pub refused: u64,
    /// The last 1000 grabs, ordered by their ends.
    pub grabs: Vec<GrabLine>,
}

/// A grab of the server or a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrabLine {
    /// The grabbed object: `server`, `pointer`, `keyboard`, or `device` with its number.
    #[serde(rename = "kind")]
    pub what: String,
    /// The name of the client that grabbed the object.
    pub client: String,
    /// The time at which the grab began, in milliseconds since the trace's first record.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length of the grab in milliseconds.
    pub held_ms: f64,
    /// The reason why the grab ended: `ungrab`, `closed` (the connection), `lost` (another client has the grab), or
    /// `trace` (the trace ended first).
    pub end: String,
    /// For server grabs, the clients whose requests or connection waited meanwhile; empty for other grabs.
    #[serde(rename = "waiters")]
    pub waited: Vec<StallWaiter>,
}

impl GrabReport {
    /// Creates the report on `grabs`; `summary` is of the same trace.
    pub fn new(grabs: &Grabs, summary: &TraceSummary) -> GrabReport {
        let start = grabs.start();
        let line = |one: &Grab| {
            let (until, end) = one.end.unwrap_or((grabs.now(), "trace"));
            let waited = stall(one, until).waited.into_iter();
            let waited = waited.map(|one| StallWaiter::new(&one, summary));
            GrabLine {
                what: one.what.name(),
                client: summary.client_name(one.by),
                since_ms: duration_ms(one.since.since(start)),
                held_ms: duration_ms(until.since(one.since)),
                end: end.to_owned(),
                waited: waited.collect(),
            }
        };
        GrabReport {
            count: grabs.count,
            refused: grabs.refused,
            grabs: grabs.all().map(line).collect(),
        }
    }
}
