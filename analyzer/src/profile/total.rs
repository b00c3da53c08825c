//! The totals of requests and transport, with the kernel's CPU times for comparison.

use serde::{Deserialize, Serialize};

/// The totals of requests and transport, with the kernel's CPU times. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalReport {
    /// The number of requests in the profile.
    pub count: u64,
    /// The number of bytes of the requests.
    pub bytes: u64,
    /// The time of the server and the network, in milliseconds.
    pub time_ms: f64,
    /// The part of `time_ms` that the server uses, in milliseconds.
    pub server_ms: f64,
    /// The part of `time_ms` that the network takes, in milliseconds.
    pub network_ms: f64,
    /// The lower bound of `time_ms`, in milliseconds: at least 30 % below it if the times are costs, which held for nine
    /// of ten validated forecasts, or as far as the spread of the calibration; equal to `time_ms` if it was measured.
    pub low_ms: f64,
    /// The upper bound of `time_ms`, in milliseconds, as far above it.
    pub high_ms: f64,
    /// The number of requests without cost data.
    #[serde(rename = "no_cost_data")]
    pub no_cost: u64,
    /// The clients' CPU time as the kernel measured it, in milliseconds; null if unknown.
    pub client_cpu_ms: Option<f64>,
    /// The server's CPU time as the kernel measured it, in milliseconds; null if unknown.
    pub server_cpu_ms: Option<f64>,
    /// The time from the first client's connection to the last activity of a client, in milliseconds.
    pub wall_ms: f64,
}
