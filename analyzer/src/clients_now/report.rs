//! What the clients of a display do now, as a document (docs/JSON.md).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::measured::Basis;
use crate::stalls::report::StallLine;

/// What each client cost the server during some seconds. Rates are for a second, times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NowReport {
    /// The version of this layout: 1.
    pub format: u32,
    /// How long it was watched.
    pub seconds: f64,
    /// When that ended, since the first record.
    pub at_s: f64,
    /// What server times stand on: measured, or modelled.
    pub basis: Basis,
    /// Whose prices divide them, or are all there is.
    pub prices: String,
    /// The server's time, for all clients and for none.
    pub server_ms_per_s: f64,
    /// Of that, what it did for none.
    pub own_ms_per_s: f64,
    /// Requests of all clients.
    pub requests_per_s: f64,
    /// The clients that are connected, or were meanwhile, the one that costs the server most first.
    pub clients: Vec<ClientNow>,
    /// The same by window.
    pub windows: Vec<RowNow>,
    /// The same by request.
    pub requests: Vec<RowNow>,
    /// Who held the server for longer than a frame meanwhile, and who waited.
    pub stalls: Vec<StallLine>,
}

/// A client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClientNow {
    /// The number of its connection; null for what is nobody's.
    pub client: Option<u32>,
    /// Its process's name, where that is known.
    pub name: String,
    /// Its process.
    pub pid: Option<u32>,
    /// Its command line.
    pub command: Vec<String>,
    /// The server's time for it.
    pub server_ms_per_s: f64,
    /// Its requests.
    pub requests_per_s: f64,
    /// How often it waited for an answer.
    pub round_trips_per_s: f64,
    /// How long it did.
    pub waited_ms_per_s: f64,
    /// Bytes in both directions.
    pub bytes_per_s: f64,
    /// The request that cost most.
    pub mostly: Option<RateNow>,
    /// The question that it asked again and again, where it asked one ten times a second or more.
    pub polls: Option<RateNow>,
    /// What it holds in the server, by kind.
    pub held: BTreeMap<String, HeldNow>,
    /// What it grabbed meanwhile.
    pub grabs: Vec<GrabNow>,
    /// Whom it waited for.
    pub waits_for: Vec<WaitNow>,
}

/// How often a request came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateNow {
    /// Its name.
    pub request: String,
    /// How often.
    pub per_s: f64,
}

/// Resources of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldNow {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many more.
    pub count_per_s: f64,
    /// How many bytes more.
    pub bytes_per_s: f64,
    /// Whether it held more at the end of each quarter of the time than at its beginning.
    pub grows: bool,
}

/// A grab.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrabNow {
    /// `server`, `pointer`, `keyboard`, `device N`.
    pub what: String,
    /// Since when, from the first record.
    pub since_ms: f64,
    /// For how long, so far.
    pub held_ms: f64,
    /// Whether it goes on.
    pub goes_on: bool,
}

/// A client waited while another held the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitNow {
    /// Who held it.
    pub client: String,
    /// How long it waited.
    pub waited_ms: f64,
}

/// A window, or a kind of request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowNow {
    /// What it is called.
    pub name: String,
    /// Whose it is; of several clients the one that cost most.
    pub client: String,
    /// The server's time for it.
    pub server_ms_per_s: f64,
    /// Requests.
    pub requests_per_s: f64,
    /// How often a client waited for an answer; null where that is not told apart.
    pub round_trips_per_s: Option<f64>,
    /// Bytes in both directions.
    pub bytes_per_s: f64,
}
