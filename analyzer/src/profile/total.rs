//! Requests and transport together, and the kernel's figures beside them.

use serde::{Deserialize, Serialize};

/// Requests and transport together, and the kernel's figures beside them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalReport {
    /// Requests.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Server and network.
    pub time_ms: f64,
    /// The server's.
    pub server_ms: f64,
    /// The network's.
    pub network_ms: f64,
    /// The least that `time_ms` may be by the calibration's own spread.
    pub low_ms: f64,
    /// The most that it may be by that.
    pub high_ms: f64,
    /// Requests without a price.
    pub unpriced: u64,
    /// CPU time of the clients by the kernel.
    pub client_cpu_ms: Option<f64>,
    /// CPU time of the server by the kernel.
    pub server_cpu_ms: Option<f64>,
    /// From the first client's connecting to the last thing that one of them did.
    pub wall_ms: f64,
}
