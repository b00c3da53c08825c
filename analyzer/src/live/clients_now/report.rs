//! Current activity of the clients, as a document (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::server_time::TimeSource;
use crate::stalls::report::StallLine;

/// Costs of each client over the last seconds. Rates are per second, times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NowReport {
    /// The version of this layout: 1.
    pub format: u32,
    /// The length of the interval.
    pub seconds: f64,
    /// The end of the interval, since the first record.
    pub at_s: f64,
    /// The source of server times: measured, or modelled.
    #[serde(rename = "time_source")]
    pub basis: TimeSource,
    /// The server whose cost table is used.
    #[serde(rename = "cost_data")]
    pub costs: String,
    /// The server's time for all clients, including unattributed time.
    pub server_ms_per_s: f64,
    /// The part of the server's time that is unattributed.
    #[serde(rename = "unattributed_ms_per_s")]
    pub own_ms_per_s: f64,
    /// Requests of all clients.
    pub requests_per_s: f64,
    /// The clients connected during the interval, the one with the most server time first.
    pub clients: Vec<ClientNow>,
    /// Rates by window.
    pub windows: Vec<RowNow>,
    /// Rates by request.
    pub requests: Vec<RowNow>,
    /// Stalls: the client that occupied the server for longer than a frame, and the clients that waited.
    pub stalls: Vec<StallLine>,
    /// The overhead of watching in the server; null for a recording, or if the server's CPU clock is unknown.
    pub watching: Option<WatchingCost>,
}

/// The overhead of an attached recorder in the server, from costs measured there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WatchingCost {
    /// The server's processor time for reports to the recorder.
    pub server_ms_per_s: f64,
    /// The time that one report adds to a client's turn.
    pub report_us: f64,
    /// The peak growth of the server's memory while data waited for the recorder; null if unknown.
    pub held_bytes: Option<u64>,
}

/// A client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientNow {
    /// The number of its connection; null for unattributed time.
    pub client: Option<u32>,
    /// The name of the process, or the connection's number.
    pub name: String,
    /// The process id.
    pub pid: Option<u32>,
    /// The command line.
    pub command: Vec<String>,
    /// The server's time for the client.
    pub server_ms_per_s: f64,
    /// Requests.
    pub requests_per_s: f64,
    /// Round trips.
    pub round_trips_per_s: f64,
    /// Time blocked on replies.
    pub waited_ms_per_s: f64,
    /// Bytes in both directions.
    pub bytes_per_s: f64,
    /// The request that cost most.
    #[serde(rename = "main_request")]
    pub mostly: Option<RateNow>,
    /// The request that the client repeats ten times per second or more; null if there is none.
    pub polls: Option<RateNow>,
    /// The call site that sends the request most often; null without stacks.
    #[serde(rename = "polls_at")]
    pub polls_in: Option<String>,
    /// True if the client connected before the recording: `held` lacks its earlier resources.
    pub joined: bool,
    /// Resources held in the server, by kind.
    pub held: BTreeMap<String, HeldNow>,
    /// Grabs during the interval.
    pub grabs: Vec<GrabNow>,
    /// The clients that occupied the server while this one waited, the longest waits first.
    pub waits_for: Vec<WaitNow>,
    /// The requests that have waited for another client's reply for 100 ms or more, the oldest first.
    pub asked: Vec<OpenRequestNow>,
}

/// A request that another client has to reply to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenRequestNow {
    /// The kind, as docs/CONCEPTS.md lists them.
    pub kind: &'static str,
    /// The request or the message.
    pub request: &'static str,
    /// The action of the other client that it waits for.
    #[serde(skip)]
    pub clause: &'static str,
    /// The selection; null for other kinds.
    pub subject: Option<String>,
    /// The program that has to reply; null if unknown.
    pub client: Option<String>,
    /// The time since the request.
    pub ms: f64,
}

/// The rate of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateNow {
    /// The name of the request.
    pub request: String,
    /// The rate.
    pub per_s: f64,
}

/// Resources of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldNow {
    /// The number held.
    pub count: u64,
    /// Bytes of the resources held.
    pub bytes: u64,
    /// The growth of the number.
    pub count_per_s: f64,
    /// The growth of the bytes.
    pub bytes_per_s: f64,
    /// True if the number grew in each quarter of the interval.
    pub grows: bool,
}

/// A grab.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrabNow {
    /// `server`, `pointer`, `keyboard`, `device N`.
    #[serde(rename = "kind")]
    pub what: String,
    /// The beginning, from the first record.
    #[serde(rename = "start_ms")]
    pub since_ms: f64,
    /// The length so far.
    pub held_ms: f64,
    /// True if the grab is still active.
    #[serde(rename = "active")]
    pub goes_on: bool,
}

/// A client that waited while another client occupied the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitNow {
    /// The holder.
    pub client: String,
    /// Time waited.
    pub waited_ms: f64,
}

/// A window, or a kind of request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowNow {
    /// The name of the window or request.
    pub name: String,
    /// The client; if there are several, the one with the most server time.
    pub client: String,
    /// The server's time for the row.
    pub server_ms_per_s: f64,
    /// Requests.
    pub requests_per_s: f64,
    /// Round trips; null for windows.
    pub round_trips_per_s: Option<f64>,
    /// Bytes in both directions.
    pub bytes_per_s: f64,
}
