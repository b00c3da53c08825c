//! The grabs of a trace as a document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use x11prof_trace::{ConnectionId, Timestamp};

use super::{GrabTarget, Grabs, OpenGrab, Waiter};
use crate::recording::trace_summary::TraceSummary;
use crate::text::units::duration_ms;

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
    /// For server grabs, the clients whose requests waited meanwhile; empty for other grabs.
    #[serde(rename = "waiters")]
    pub waited: Vec<GrabWaiter>,
}

/// A client whose requests waited for the end of a server grab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrabWaiter {
    /// The name of the client that waited.
    pub client: String,
    /// The number of the client's requests that waited.
    pub requests: u64,
    /// The time that the first of the client's waiting requests waited, in milliseconds.
    pub waited_ms: f64,
}

impl GrabReport {
    /// Creates the report on `grabs`; `summary` is of the same trace.
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
