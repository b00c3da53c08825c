//! The current activity of a display's clients, as a document (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::episodes::{AwaitedReport, BacklogReport, LoopReport};
use crate::server_time::TimeSource;
use crate::stalls::report::StallLine;

/// The costs of each client over the last seconds. Rates are per second, times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NowReport {
    /// The version of this document's layout: 1.
    pub format: u32,
    /// The length of the reported interval, in seconds.
    pub seconds: f64,
    /// The end of the reported interval, in seconds since the trace's first record.
    pub at_s: f64,
    /// The source of the server times: measured or modelled.
    #[serde(rename = "time_source")]
    pub basis: TimeSource,
    /// The name of the server whose cost table is used.
    #[serde(rename = "cost_data")]
    pub costs: String,
    /// The server's time for all clients, including unattributed time, in milliseconds per second.
    pub server_ms_per_s: f64,
    /// The server's unattributed time, in milliseconds per second.
    #[serde(rename = "unattributed_ms_per_s")]
    pub own_ms_per_s: f64,
    /// The number of requests of all clients per second.
    pub requests_per_s: f64,
    /// The clients connected during the interval, the one with the most server time first.
    pub clients: Vec<ClientNow>,
    /// The rates by window, the most server time first.
    pub windows: Vec<RowNow>,
    /// The rates by kind of request, the most server time first.
    pub requests: Vec<RowNow>,
    /// The stalls: the client that occupied the server for longer than a frame, and the clients that waited.
    pub stalls: Vec<StallLine>,
    /// The open requests for whose replies clients have waited for 100 ms or more.
    pub waits: Vec<AwaitedReport>,
    /// Clients that repeatedly caused each other's messages in the interval, the most steps first.
    pub loops: Vec<LoopReport>,
    /// Pointer motion that clients have not handled, because it arrived faster than they handle it.
    pub backlogs: Vec<BacklogReport>,
}

/// A client, with its rates in the interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientNow {
    /// The number of the client's connection, the last of several; null for unattributed time.
    pub client: Option<u32>,
    /// The number of the row's connections: ended clients of one name share a row.
    pub connections: usize,
    /// The name of the client's process, or the number of its connection if the name is unknown.
    pub name: String,
    /// The id of the client's process; null if unknown.
    pub pid: Option<u32>,
    /// The command line of the client's process; empty if unknown.
    pub command: Vec<String>,
    /// The server's time for the client, in milliseconds per second.
    pub server_ms_per_s: f64,
    /// The number of requests that the client sent per second.
    pub requests_per_s: f64,
    /// The number of round trips of the client per second.
    pub round_trips_per_s: f64,
    /// The time in which the client was blocked on replies, in milliseconds per second.
    pub waited_ms_per_s: f64,
    /// The number of bytes in both directions per second.
    pub bytes_per_s: f64,
    /// The request of the client that used the most server time; null if there is none.
    #[serde(rename = "main_request")]
    pub mostly: Option<RateNow>,
    /// The request that the client repeats ten times per second or more; null if there is no such request.
    pub polls: Option<RateNow>,
    /// The call site that sends the repeated request most often; null without stacks.
    #[serde(rename = "polls_at")]
    pub polls_in: Option<String>,
    /// True if the client connected before the recording: `held` lacks its earlier resources.
    pub joined: bool,
    /// True if the client is connected at the end of the time window.
    pub connected: bool,
    /// The resources that the client holds in the server, by kind.
    pub held: BTreeMap<String, HeldNow>,
    /// The client's grabs during the interval.
    pub grabs: Vec<GrabNow>,
}

/// A kind of request with its rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateNow {
    /// The name of the kind of request.
    pub request: String,
    /// The number of requests per second.
    pub per_s: f64,
}

/// The resources of one kind that a client holds in the server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldNow {
    /// The number of resources at the end of the interval.
    pub count: u64,
    /// The number of bytes of the client's resources of this kind at the end of the interval.
    pub bytes: u64,
    /// The growth of the number of resources per second.
    pub count_per_s: f64,
    /// The growth of the number of bytes per second.
    pub bytes_per_s: f64,
    /// True if the number of resources grew in each quarter of the interval.
    pub grows: bool,
}

/// A grab that a client has or had in the interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrabNow {
    /// The grabbed object: `server`, `pointer`, `keyboard` or `device N`.
    #[serde(rename = "kind")]
    pub what: String,
    /// The beginning of the grab, in milliseconds since the trace's first record.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length of the grab, up to now if it is still active, in milliseconds.
    pub held_ms: f64,
    /// True if the client still holds the grab.
    #[serde(rename = "active")]
    pub goes_on: bool,
}

/// The rates of a window or of a kind of request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowNow {
    /// The name of the window or the request.
    pub name: String,
    /// The client of the row; if there are several, the client with the most server time.
    pub client: String,
    /// The server's time for the requests of the row, in milliseconds per second.
    pub server_ms_per_s: f64,
    /// The number of requests of the row per second.
    pub requests_per_s: f64,
    /// The number of round trips per second; null for windows.
    pub round_trips_per_s: Option<f64>,
    /// The number of bytes in both directions per second.
    pub bytes_per_s: f64,
}
