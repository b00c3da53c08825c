//! Requests and transport together, and the kernel's figures next to them.

use serde::{Deserialize, Serialize};

/// Requests and transport together, and the kernel's figures.
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
    /// The least that `time_ms` may be, by the calibration's own spread.
    pub low_ms: f64,
    /// The most that `time_ms` may be, by the calibration's own spread.
    pub high_ms: f64,
    /// Requests without cost data.
    #[serde(rename = "no_cost_data")]
    pub unpriced: u64,
    /// CPU time of the clients by the kernel.
    pub client_cpu_ms: Option<f64>,
    /// CPU time of the server by the kernel.
    pub server_cpu_ms: Option<f64>,
    /// The time from the first client's connecting to the last activity of a client.
    pub wall_ms: f64,
}
