//! The steps of a latency distribution (the thesis, Figure 9.1).

/// The lower bounds of the steps of latency, in milliseconds. The bounds increase by factors of about 1.5, and contain
/// the thresholds of perception (docs/CONCEPTS.md).
pub const EDGES_MS: [u64; 29] = [
    0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 195, 300, 500, 700, 1000, 1500, 2000, 3000,
    5000, 7000, 10_000, 15_000, 20_000, 30_000, 60_000,
];

/// Returns the lower bound of the step that contains `latency`, both in nanoseconds.
pub(crate) fn step(latency: u64) -> u64 {
    let next = EDGES_MS.partition_point(|edge| edge * 1_000_000 <= latency);
    EDGES_MS[next.max(1) - 1] * 1_000_000
}

#[test]
fn steps_include_their_lower_edge() {
    assert_eq!(step(0), 0);
    assert_eq!(step(149_999_999), 100_000_000);
    assert_eq!(step(150_000_000), 150_000_000);
    assert_eq!(step(u64::MAX), 60_000_000_000);
}
