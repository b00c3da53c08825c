//! The stalls as a document: the section `stalls` of a report's JSON (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use x11prof_trace::{ConnectionId, Timestamp};

use super::Stalls;
use super::stall::{HoldKind, Stall, Waited};
use crate::recording::trace_summary::TraceSummary;
use crate::text::units::nanos_ms;

/// Maximum number of listed stalls: the longest.
const LISTED: usize = 1000;

/// The stalls of a trace: intervals longer than a frame in which one client occupied the server. Times are milliseconds
/// from the trace's first record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallsReport {
    /// The length of a frame of the screen in milliseconds.
    pub frame_ms: f64,
    /// The number of stalls in the trace.
    pub count: u64,
    /// The total time of the stalls in milliseconds.
    pub held_ms: f64,
    /// The clients that caused the known stalls, in the order of the other clients' waits, the longest first.
    pub clients: Vec<StallingClient>,
    /// The 1000 longest stalls, in time order.
    pub stalls: Vec<StallLine>,
}

/// A client that caused stalls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallingClient {
    /// The name of the client that caused the stalls.
    pub client: String,
    /// The number of stalls that the client caused.
    pub count: u64,
    /// The total time of the stalls that the client caused, in milliseconds.
    pub held_ms: f64,
    /// The length of the longest of the stalls that the client caused, in milliseconds.
    #[serde(rename = "max_ms")]
    pub worst_ms: f64,
    /// The most expensive request of the longest stall; null for none.
    pub request: Option<String>,
    /// The number of other clients that waited during the stalls that the client caused.
    #[serde(rename = "waiter_count")]
    pub waiters: u64,
    /// The total time that other clients waited during the stalls that the client caused, in milliseconds.
    pub waited_ms: f64,
}

/// A stall that one client caused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallLine {
    /// The kind of stall: `busy` (with the client's work) or `grabbed`.
    #[serde(rename = "kind")]
    pub how: String,
    /// The name of the client that caused the stall.
    pub client: String,
    /// The number of the client's connection.
    pub connection: u32,
    /// The most expensive request in the stall; null for none.
    pub request: Option<String>,
    /// The time at which the stall began, in milliseconds since the trace's first record.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length of the stall in milliseconds.
    pub held_ms: f64,
    /// The server's CPU time in the stall, in milliseconds; null without context switches.
    #[serde(rename = "cpu_ms")]
    pub ran_ms: Option<f64>,
    /// The time of the server's handlers for the client's requests in the stall, in milliseconds; null if the server
    /// reports no handler times.
    #[serde(default)]
    pub handlers_ms: Option<f64>,
    /// The other clients that waited for a reply during the stall; for a grab, with any request.
    #[serde(rename = "waiters")]
    pub waited: Vec<StallWaiter>,
}

/// A client that waited during a stall or a server grab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallWaiter {
    /// The name of the client that waited.
    pub client: String,
    /// The number of the client's connection.
    pub connection: u32,
    /// The number of the client's requests that waited; zero if it only waited for its connection.
    pub requests: u64,
    /// The part of the stall or grab in which the client waited, in milliseconds.
    pub waited_ms: f64,
}

impl StallLine {
    pub(crate) fn new(stall: &Stall, summary: &TraceSummary, start: Timestamp) -> StallLine {
        StallLine {
            how: match stall.how {
                HoldKind::Busy => "busy",
                HoldKind::Grabbed => "grabbed",
            }
            .to_owned(),
            client: summary.client_name(stall.client),
            connection: stall.client.0,
            request: stall.request.map(|request| request.to_string()),
            since_ms: nanos_ms(stall.from.saturating_sub(start.as_nanos())),
            held_ms: nanos_ms(stall.held()),
            ran_ms: stall.ran.map(nanos_ms),
            handlers_ms: stall.handled.map(nanos_ms),
            waited: stall
                .waited
                .iter()
                .map(|one| StallWaiter::new(one, summary))
                .collect(),
        }
    }
}

impl StallWaiter {
    pub(super) fn new(one: &Waited, summary: &TraceSummary) -> StallWaiter {
        StallWaiter {
            client: summary.client_name(one.client),
            connection: one.client.0,
            requests: one.requests,
            waited_ms: nanos_ms(one.nanos),
        }
    }
}

impl StallsReport {
    /// Creates the report on `stalls`; `summary` is of the same trace.
    pub fn new(stalls: &Stalls, summary: &TraceSummary) -> StallsReport {
        let start = stalls.grabs.start();
        let open = stalls.open_grab();
        let all: Vec<&Stall> = stalls.list().iter().chain(&open).collect();
        let open_nanos = open.as_ref().map_or(0, Stall::held);
        let mut listed = all.clone();
        listed.sort_by_key(|one| std::cmp::Reverse(one.held()));
        listed.truncate(LISTED);
        listed.sort_by_key(|one| one.from);
        let line = |one: &&Stall| StallLine::new(one, summary, start);
        StallsReport {
            frame_ms: nanos_ms(stalls.frame),
            count: stalls.count + u64::from(open.is_some()),
            held_ms: nanos_ms(stalls.nanos.saturating_add(open_nanos)),
            clients: clients(&all, summary),
            stalls: listed.iter().map(line).collect(),
        }
    }
}

/// The clients that caused `stalls`.
fn clients(stalls: &[&Stall], summary: &TraceSummary) -> Vec<StallingClient> {
    let mut by_client: BTreeMap<ConnectionId, Vec<&Stall>> = BTreeMap::new();
    for stall in stalls {
        by_client.entry(stall.client).or_default().push(stall);
    }
    let of = |(client, stalls): (ConnectionId, Vec<&Stall>)| {
        let waits = || stalls.iter().flat_map(|one| &one.waited);
        let mut waiters: Vec<ConnectionId> = waits().map(|one| one.client).collect();
        waiters.sort_unstable();
        waiters.dedup();
        let worst = stalls.iter().max_by_key(|one| one.held());
        StallingClient {
            client: summary.client_name(client),
            count: stalls.len() as u64,
            held_ms: nanos_ms(
                stalls
                    .iter()
                    .map(|one| one.held())
                    .fold(0, u64::saturating_add),
            ),
            worst_ms: nanos_ms(worst.map_or(0, |one| one.held())),
            request: worst.and_then(|one| Some(one.request?.to_string())),
            waiters: waiters.len() as u64,
            waited_ms: nanos_ms(waits().map(|one| one.nanos).fold(0, u64::saturating_add)),
        }
    };
    let mut clients: Vec<StallingClient> = by_client.into_iter().map(of).collect();
    clients.sort_by(|a, b| {
        let by_wait = b.waited_ms.total_cmp(&a.waited_ms);
        by_wait.then(b.held_ms.total_cmp(&a.held_ms))
    });
    clients
}
