//! How many episodes took at least so long.

use serde::Serialize;

use crate::curve::EDGES_MS;

/// A point of a distribution.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PointReport {
    /// A latency.
    pub at_least_ms: u64,
    /// How many episodes took that long or longer.
    pub count: u64,
}

/// How many of these, by latency in nanoseconds, took at least so long; from the first step on that is longer than none.
pub(super) fn points(of: impl Iterator<Item = (u64, u64)>) -> Vec<PointReport> {
    let mut counts = [0_u64; EDGES_MS.len()];
    for (latency, count) in of {
        let reached = EDGES_MS.partition_point(|edge| edge * 1_000_000 <= latency);
        counts[..reached].iter_mut().for_each(|sum| *sum += count);
    }
    let points = EDGES_MS.into_iter().zip(counts);
    points
        .filter(|(_, count)| *count > 0)
        .map(|(at_least_ms, count)| PointReport { at_least_ms, count })
        .collect()
}
