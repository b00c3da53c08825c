//! The time of a session over networks (the Xprof paper's Figure 10).

use serde::Serialize;

/// Round-trip times in ms: from a local switch to a satellite.
const LATENCIES: [f64; 9] = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0];
/// Speeds in bytes per second (1 kB is 1000 bytes).
const SPEEDS: [(&str, f64); 4] = [
    ("100 kB/s", 1e5),
    ("1 MB/s", 1e6),
    ("10 MB/s", 1e7),
    ("100 MB/s", 1e8),
];

/// The total time on a grid of networks.
#[derive(Debug, Serialize)]
pub struct Sweep {
    /// The round-trip times in milliseconds.
    pub rtt_ms: Vec<f64>,
    /// A line for each speed.
    pub lines: Vec<SweepLine>,
}

/// The times at one speed.
#[derive(Debug, Serialize)]
pub struct SweepLine {
    /// The speed, as text.
    pub name: &'static str,
    /// The total at each latency.
    pub time_ms: Vec<f64>,
}

impl Sweep {
    /// Calls `total_ms(bytes_per_second, rtt_ms)` for each network.
    pub fn new(total_ms: impl Fn(f64, f64) -> f64) -> Sweep {
        let line = |(name, speed): (&'static str, f64)| SweepLine {
            name,
            time_ms: LATENCIES.map(|rtt| total_ms(speed, rtt)).to_vec(),
        };
        Sweep {
            rtt_ms: LATENCIES.to_vec(),
            lines: SPEEDS.map(line).into(),
        }
    }
}
