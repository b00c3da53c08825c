//! Distributions of latencies: the number of episodes with at least each latency.

use serde::Serialize;

use crate::curve::EDGES_MS;

/// A point of a distribution of latencies.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PointReport {
    /// The minimum latency of the counted episodes, in milliseconds.
    pub at_least_ms: u64,
    /// The number of episodes with at least the latency `at_least_ms`.
    pub count: u64,
}

/// Counts, for each step of latency, the episodes with at least the step's lower bound. `of` contains pairs of a
/// latency in nanoseconds and a number of episodes. Steps without episodes are omitted.
pub(super) fn points(of: impl Iterator<Item = (u64, u64)>) -> Vec<PointReport> {
    let mut counts = [0_u64; EDGES_MS.len()];
    for (latency, count) in of {
        let reached = EDGES_MS.partition_point(|edge| edge * 1_000_000 <= latency);
        for sum in &mut counts[..reached] {
            *sum = sum.saturating_add(count);
        }
    }
    let points = EDGES_MS.into_iter().zip(counts);
    points
        .filter(|(_, count)| *count > 0)
        .map(|(at_least_ms, count)| PointReport { at_least_ms, count })
        .collect()
}
