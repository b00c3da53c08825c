//! The grabs of a trace as a document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use x11prof_trace::{ConnectionId, Timestamp};

use super::{GrabTarget, Grabs, OpenGrab, Waiter};
use crate::recording::trace_summary::TraceSummary;
use crate::text::units::duration_ms;

/// Grabs by clients. Times are milliseconds from the trace's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrabReport {
    /// The number of grabs.
    pub count: u64,
    /// Grab requests whose reply had a status other than success.
    pub refused: u64,
    /// The last 1000 grabs, by end time.
    pub grabs: Vec<GrabLine>,
}

/// A grab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrabLine {
    /// `server`, `pointer`, `keyboard`, or `device` with its number.
    #[serde(rename = "kind")]
    pub what: String,
    /// The client.
    pub client: String,
    /// The beginning.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length.
    pub held_ms: f64,
    /// The reason of the end: `ungrab`, `closed` (the connection), `lost` (another client has the grab), or `trace`
    /// (the trace ended first).
    pub end: String,
    /// For server grabs, the clients whose requests waited meanwhile.
    #[serde(rename = "waiters")]
    pub waited: Vec<GrabWaiter>,
}

/// A client that waited for the end of a grab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrabWaiter {
    /// The client that waited.
    pub client: String,
    /// The number of the client's requests that waited.
    pub requests: u64,
    /// The wait of the first one.
    pub waited_ms: f64,
}

impl GrabReport {
    /// The report of a pass over `grabs` and `summary`.
    pub fn new(grabs: &Grabs, summary: &TraceSummary) -> GrabReport {
        let start = grabs.start();
        let line =
            |what: GrabTarget, by, since: Timestamp, until: Timestamp, end: &str, waiters| {
                let waiters: &BTreeMap<ConnectionId, Waiter> = waiters;
                GrabLine {
                    what: what.name(),
                    client: summary.client_name(by),
                    since_ms: duration_ms(since.since(start)),
                    held_ms: duration_ms(until.since(since)),
                    end: end.to_owned(),
                    waited: waiters
                        .iter()
                        .map(|(client, waiter)| GrabWaiter {
                            client: summary.client_name(*client),
                            requests: waiter.requests,
                            waited_ms: duration_ms(until.since(waiter.first)),
                        })
                        .collect(),
                }
            };
        let done = grabs.done.iter();
        let mut lines: Vec<GrabLine> = done
            .map(|one| {
                line(
                    one.what,
                    one.by,
                    one.since,
                    one.until,
                    one.end,
                    &one.waiters,
                )
            })
            .collect();
        let mut open: Vec<(&GrabTarget, &OpenGrab)> = grabs.open.iter().collect();
        open.sort_by_key(|(what, _)| **what);
        lines.extend(open.into_iter().map(|(what, open)| {
            line(
                *what,
                open.by,
                open.since,
                grabs.elapsed.now(),
                "trace",
                &open.waiters,
            )
        }));
        GrabReport {
            count: grabs.count,
            refused: grabs.refused,
            grabs: lines,
        }
    }
}
