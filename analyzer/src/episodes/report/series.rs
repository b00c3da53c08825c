//! CPU utilisation and latency over time.

use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::findings::Findings;
use crate::episodes::series::Step;
use crate::text::units::nanos_ms;
use crate::text::units::{duration_ms, percent};

/// The recorded session in steps of equal length.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesReport {
    /// The beginning of the first step, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The length of a step of the series in milliseconds.
    pub step_ms: f64,
    /// For each step, the percentage of its time in which the user waited.
    pub waiting_percent: Vec<f64>,
    /// For each step, the clients' CPU time as a percentage of one processor; null without context switches.
    pub client_percent: Option<Vec<f64>>,
    /// For each step, the server's CPU time as a percentage of one processor; null without context switches.
    pub server_percent: Option<Vec<f64>>,
    /// For each step, the number of episodes that began in it.
    pub episodes: Vec<u64>,
    /// For each step, the latency of the longest episode that began in it, in milliseconds; 0 without episodes.
    pub longest_ms: Vec<f64>,
}

impl SeriesReport {
    pub(super) fn new(findings: &Findings, first: Timestamp) -> SeriesReport {
        let series = findings.series();
        let (origin, length, steps) = series.steps();
        let share = |of: fn(&Step) -> u64| -> Vec<f64> {
            let shares = steps
                .iter()
                .map(|step| percent(of(step) as f64, length as f64));
            shares.collect()
        };
        SeriesReport {
            start_ms: duration_ms(Timestamp::from_nanos(origin).since(first)),
            step_ms: nanos_ms(length),
            waiting_percent: share(|step| step.waits),
            client_percent: series.switches.then(|| share(|step| step.client)),
            server_percent: series.switches.then(|| share(|step| step.server)),
            episodes: steps.iter().map(|step| step.episodes).collect(),
            longest_ms: steps.iter().map(|step| nanos_ms(step.longest)).collect(),
        }
    }
}
