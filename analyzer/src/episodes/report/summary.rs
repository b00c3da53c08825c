//! Sums over all episodes: the thesis's Table 4.2 and the cumulative latency distribution.

use serde::Serialize;

use crate::episodes::findings::Findings;
use crate::recording::trace_summary::TraceSummary;
use crate::statistics::distribution::Distribution;
use crate::text::units::{duration_ms, nanos_ms, percent};

/// Sums over all episodes (the thesis's Table 4.2).
#[derive(Debug, Clone, Serialize)]
pub struct SummaryReport {
    /// The time in milliseconds from the first connection to the last activity of a client.
    pub end_to_end_ms: f64,
    /// The sum of the latencies of all episodes in milliseconds.
    pub latency_ms: f64,
    /// The time in milliseconds in which at least one episode was in progress.
    pub in_episode_ms: f64,
    /// `in_episode_ms` as a percentage of the end-to-end time.
    pub in_episode_percent: f64,
    /// The number of episodes in the report.
    pub count: u64,
    /// The number of episodes under 3 ms.
    pub under_3_ms: u64,
    /// The number of episodes of 3 ms and more.
    pub from_3_ms: u64,
    /// The number of episodes of 100 ms and more.
    pub from_100_ms: u64,
    /// The number of episodes over their threshold.
    pub perceptible: u64,
    /// The number of episodes of 100 ms or more per minute of episode time; null without episodes.
    pub long_per_minute: Option<f64>,
    /// The median latency in milliseconds; null without episodes.
    #[serde(rename = "p50_ms")]
    pub median_ms: Option<f64>,
    /// The 75th percentile of the latency in milliseconds; null without episodes.
    pub p75_ms: Option<f64>,
    /// The 98th percentile of the latency in milliseconds; null without episodes.
    pub p98_ms: Option<f64>,
    /// The number of episodes of clients without windows and input, which are not counted.
    #[serde(rename = "excluded")]
    pub left_out: u64,
    /// The time source of the components: `switches` (context switches), `silence` (messages only) or `both`.
    #[serde(rename = "idle_detection")]
    pub basis: &'static str,
}

/// The latencies of the cumulative distribution, in milliseconds, including Shneiderman's 100 and 1000.
const STEPS: [f64; 16] = [
    0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0,
    5000.0,
];

/// The number of `latencies` (nanoseconds) that are at least `ms` milliseconds.
fn at_least(latencies: &Distribution, ms: f64) -> u64 {
    let mut counts = latencies.counts();
    counts.retain(|(value, _)| *value as f64 >= ms * 1e6);
    counts.iter().map(|(_, count)| count).sum()
}

/// A point of the cumulative latency distribution.
#[derive(Debug, Clone, Serialize)]
pub struct CumulativeReport {
    /// The latency from which episodes are counted, in milliseconds.
    pub at_least_ms: f64,
    /// The number of episodes with at least this latency.
    pub count: u64,
    /// The number of episodes with at least this latency, per second of episode time; null without episodes.
    pub per_second: Option<f64>,
}

pub(super) fn summary(summary: &TraceSummary, findings: &Findings) -> SummaryReport {
    let end_to_end_ms = duration_ms(summary.wall()) + nanos_ms(findings.added);
    let in_episode_ms = nanos_ms(findings.covered.total());
    let from_100_ms = at_least(&findings.latencies, 100.0);
    let minutes = in_episode_ms / 60_000.0;
    SummaryReport {
        end_to_end_ms,
        latency_ms: nanos_ms(findings.total),
        in_episode_ms,
        in_episode_percent: percent(in_episode_ms, end_to_end_ms),
        count: findings.count(),
        under_3_ms: findings.under_3,
        from_3_ms: findings.count() - findings.under_3,
        from_100_ms,
        perceptible: findings.perceptible,
        long_per_minute: (minutes > 0.0).then(|| from_100_ms as f64 / minutes),
        median_ms: findings.latencies.percentile(0.5).map(nanos_ms),
        p75_ms: findings.latencies.percentile(0.75).map(nanos_ms),
        p98_ms: findings.latencies.percentile(0.98).map(nanos_ms),
        left_out: findings.left_out,
        basis: match findings.unscheduled {
            0 => "switches",
            none if none == findings.count() => "silence",
            _ => "both",
        },
    }
}

pub(super) fn distribution(findings: &Findings) -> Vec<CumulativeReport> {
    let seconds = findings.covered.total() as f64 / 1e9;
    let step = |ms: &f64| {
        let count = at_least(&findings.latencies, *ms);
        CumulativeReport {
            at_least_ms: *ms,
            count,
            per_second: (seconds > 0.0).then(|| count as f64 / seconds),
        }
    };
    STEPS.iter().map(step).collect()
}
