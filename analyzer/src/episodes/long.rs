//! Long episodes: how far apart they are (the latency-benchmark paper's Table 2), and how much of
//! all latency is theirs.

use crate::statistics::distribution::Distribution;

/// Thresholds of Table 2 beside the user's own, in milliseconds: around the 100 that is perceptible.
pub(crate) const THRESHOLDS: [f64; 4] = [50.0, 100.0, 150.0, 200.0];
/// Edges of the classes of duration, in milliseconds.
pub(crate) const EDGES: [f64; 7] = [0.0, 3.0, 10.0, 50.0, 100.0, 200.0, 1000.0];

/// Time between the beginnings of episodes above one threshold.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    pub(crate) count: u64,
    last: Option<u64>,
    pub(crate) apart: Distribution,
}

/// All thresholds and classes.
#[derive(Debug, Default)]
pub(crate) struct Long {
    pub(crate) apart: [Apart; THRESHOLDS.len()],
    /// Episodes and nanoseconds by class.
    pub(crate) classes: [(u64, u64); EDGES.len()],
}

impl Long {
    /// An episode that began at `start` and took `latency`, in nanoseconds.
    pub(crate) fn add(&mut self, start: u64, latency: u64) {
        let ms = latency as f64 / 1e6;
        for (threshold, apart) in THRESHOLDS.iter().zip(&mut self.apart) {
            if ms > *threshold {
                apart.count += 1;
                if let Some(last) = apart.last {
                    apart.apart.add(start.abs_diff(last));
                }
                apart.last = Some(start);
            }
        }
        let class = EDGES.iter().rposition(|edge| ms >= *edge).unwrap_or(0);
        let (count, total) = &mut self.classes[class];
        *count += 1;
        *total = total.saturating_add(latency);
    }
}
