//! The cumulative latency distribution (LiLa, section 3.3): the number of episodes with at least a given latency.

use crate::statistics::distribution::Distribution;

/// The latencies of the cumulative distribution, in milliseconds, including Shneiderman's 100 and 1000.
pub(crate) const STEPS: [f64; 16] = [
    0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0,
    5000.0,
];

/// The number of `latencies` (nanoseconds) that are at least `ms` milliseconds.
pub(crate) fn at_least(latencies: &Distribution, ms: f64) -> u64 {
    let least = (ms * 1e6) as u64;
    let counts = latencies.counts();
    let long = counts.iter().filter(|(value, _)| *value >= least);
    long.map(|(_, count)| count).sum()
}

/// The percentile of `values`: the smallest value that at least `share` (0 to 1) of the values do not exceed (nearest
/// rank). `None` without values.
pub(crate) fn percentile(values: &Distribution, share: f64) -> Option<u64> {
    let rank = ((values.number() as f64 * share).ceil() as u64).max(1);
    let mut below = 0;
    let counts = values.counts().into_iter();
    counts
        .map(|(value, count)| {
            below += count;
            (value, below)
        })
        .find(|(_, below)| *below >= rank)
        .map(|(value, _)| value)
}
