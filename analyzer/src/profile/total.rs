//! The totals of requests and transport, with the kernel's figures for comparison.

use serde::{Deserialize, Serialize};

/// The totals of requests and transport, and the kernel's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalReport {
    /// Requests.
    pub count: u64,
    /// Bytes of the requests.
    pub bytes: u64,
    /// The time of server and network.
    pub time_ms: f64,
    /// The server's time.
    pub server_ms: f64,
    /// The network's time.
    pub network_ms: f64,
    /// The lower bound of `time_ms`, from the spread of the calibration.
    pub low_ms: f64,
    /// The upper bound of `time_ms`, from the spread of the calibration.
    pub high_ms: f64,
    /// Requests without cost data.
    #[serde(rename = "no_cost_data")]
    pub no_cost: u64,
    /// CPU time of the clients by the kernel.
    pub client_cpu_ms: Option<f64>,
    /// CPU time of the server by the kernel.
    pub server_cpu_ms: Option<f64>,
    /// The time from the first client's connecting to the last activity of a client.
    pub wall_ms: f64,
}
