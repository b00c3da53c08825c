//! The time of a session over several networks (the Xprof paper's Figure 10).

use serde::Serialize;

/// The round-trip times of the sweep in milliseconds: from a local switch to a satellite.
const LATENCIES: [f64; 9] = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0];
/// The speeds of the sweep, by name, in bytes per second (1 kB is 1000 bytes).
const SPEEDS: [(&str, f64); 4] = [
    ("100 kB/s", 1e5),
    ("1 MB/s", 1e6),
    ("10 MB/s", 1e7),
    ("100 MB/s", 1e8),
];

/// The total time of a session on a grid of networks.
#[derive(Debug, Serialize)]
pub struct Sweep {
    /// The round-trip times of the networks, in milliseconds.
    pub rtt_ms: Vec<f64>,
    /// The times for each speed.
    pub lines: Vec<SweepLine>,
}

/// The times of a session at one speed.
#[derive(Debug, Serialize)]
pub struct SweepLine {
    /// The speed as text, such as `1 MB/s`.
    pub name: &'static str,
    /// The total time at each of the round-trip times, in milliseconds.
    pub time_ms: Vec<f64>,
}

impl Sweep {
    /// Computes the times with `total_ms(bytes_per_second, rtt_ms)`, which returns the total time over one network.
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
