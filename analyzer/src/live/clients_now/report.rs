//! Current activity of the clients, as a document (docs/REFERENCE.md).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::server_time::Basis;
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
    pub basis: Basis,
    /// The name of the prices.
    pub prices: String,
    /// The server's time, for all clients and for none.
    pub server_ms_per_s: f64,
    /// The part of the server's time that was for no client.
    pub own_ms_per_s: f64,
    /// Requests of all clients.
    pub requests_per_s: f64,
    /// The clients that are connected, or were meanwhile, the one that costs the server most first.
    pub clients: Vec<ClientNow>,
    /// Rates by window.
    pub windows: Vec<RowNow>,
    /// Rates by request.
    pub requests: Vec<RowNow>,
    /// Stalls: the client that held the server for longer than a frame, and the clients that waited.
    pub stalls: Vec<StallLine>,
    /// The cost of watching to the display server; null of a recording, and where the server's clock is not known.
    pub watching: Option<WatchingCost>,
}

/// The cost of an attached recorder to the display server, by prices that were measured there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WatchingCost {
    /// The server's processor time for reports to the recorder.
    pub server_ms_per_s: f64,
    /// The time that one report adds to a client's turn.
    pub report_us: f64,
    /// The most bytes by which the server's memory has grown while reports waited; null where that is not known.
    pub held_bytes: Option<u64>,
}

/// A client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientNow {
    /// The number of its connection; null for what is nobody's.
    pub client: Option<u32>,
    /// The name of the process; a number where that is not known.
    pub name: String,
    /// The process id.
    pub pid: Option<u32>,
    /// The command line.
    pub command: Vec<String>,
    /// The server's time for it.
    pub server_ms_per_s: f64,
    /// Requests.
    pub requests_per_s: f64,
    /// Waits for an answer.
    pub round_trips_per_s: f64,
    /// Time waited for answers.
    pub waited_ms_per_s: f64,
    /// Bytes in both directions.
    pub bytes_per_s: f64,
    /// The request that cost most.
    pub mostly: Option<RateNow>,
    /// The question that it asked again and again, where it asked one ten times a second or more.
    pub polls: Option<RateNow>,
    /// The place in the program that asked it most often; null where no stack is known.
    pub polls_in: Option<String>,
    /// Resources held in the server, by kind.
    pub held: BTreeMap<String, HeldNow>,
    /// Grabs during the interval.
    pub grabs: Vec<GrabNow>,
    /// The holders of the server that the client waited for, the longest waits first.
    pub waits_for: Vec<WaitNow>,
    /// The requests that other clients have not answered for 100 ms or more, the first one first.
    pub asked: Vec<AskedNow>,
}

/// A request that another client has to answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskedNow {
    /// The kind, as docs/CONCEPTS.md lists them.
    pub kind: &'static str,
    /// The request or the message.
    pub request: &'static str,
    /// What the other client has to do, in words.
    #[serde(skip)]
    pub clause: &'static str,
    /// The selection; null for other kinds.
    pub subject: Option<String>,
    /// The program that has to answer; null if it is not known.
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
    /// True where the number grew in each quarter of the interval.
    pub grows: bool,
}

/// A grab.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrabNow {
    /// `server`, `pointer`, `keyboard`, `device N`.
    pub what: String,
    /// The beginning, from the first record.
    pub since_ms: f64,
    /// The length so far.
    pub held_ms: f64,
    /// True where the grab goes on.
    pub goes_on: bool,
}

/// A client waited while another held the server.
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
    /// The client; of several the one that costs most.
    pub client: String,
    /// The server's time for it.
    pub server_ms_per_s: f64,
    /// Requests.
    pub requests_per_s: f64,
    /// Waits for an answer; null where they are not known by row.
    pub round_trips_per_s: Option<f64>,
    /// Bytes in both directions.
    pub bytes_per_s: f64,
}
