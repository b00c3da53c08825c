//! The landmark profile.

use serde::Serialize;

use super::parts::{PartsReport, parts};
use crate::episodes::cumulative::percentile;
use crate::episodes::landmarks::{Landmark, Landmarks};
use crate::text::units::nanos_ms;

/// A landmark.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkReport {
    /// The name.
    pub landmark: String,
    /// The kind of action and the class of the window.
    pub group: String,
    /// The trigger of the first episode.
    pub trigger: &'static str,
    /// Episodes.
    pub count: u64,
    /// Episodes over their threshold.
    pub perceptible: u64,
    /// The greatest latency.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// The sum of the latencies.
    pub total_ms: f64,
    /// The median.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The 75th percentile.
    pub p75_ms: f64,
    /// The 95th.
    pub p95_ms: f64,
    /// The 98th.
    pub p98_ms: f64,
    /// The parts of the latencies.
    pub parts: PartsReport,
    /// The largest part.
    pub culprit: &'static str,
    /// Latencies without the episodes' children.
    pub exclusive: ExclusiveReport,
    /// INP's phases, on average.
    pub phases: PhasesReport,
}

/// Exclusive latencies of a landmark.
#[derive(Debug, Clone, Serialize)]
pub struct ExclusiveReport {
    /// The greatest.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// The sum of the exclusive latencies.
    pub total_ms: f64,
}

/// INP's three phases.
#[derive(Debug, Clone, Serialize)]
pub struct PhasesReport {
    /// The time until the client began to handle the stimulus.
    pub input_delay_ms: f64,
    /// The time from then until the client's last request.
    pub processing_ms: f64,
    /// The time from then until the server had drawn.
    pub presentation_delay_ms: f64,
}

pub(super) fn phase_report(phases: [u64; 3], of: u64) -> PhasesReport {
    let mean = |nanos: u64| nanos_ms(nanos / of.max(1));
    PhasesReport {
        input_delay_ms: mean(phases[0]),
        processing_ms: mean(phases[1]),
        presentation_delay_ms: mean(phases[2]),
    }
}

pub(super) fn landmarks(of: &Landmarks) -> Vec<LandmarkReport> {
    let list = of.list().into_iter();
    list.map(|(name, of)| landmark(name.as_str(), of)).collect()
}

fn landmark(name: &str, of: &Landmark) -> LandmarkReport {
    let count = of.latencies.number();
    let (least, most) = of.latencies.range().unwrap_or((0, 0));
    let at = |share| nanos_ms(percentile(&of.latencies, share).unwrap_or(0));
    LandmarkReport {
        landmark: name.to_owned(),
        group: of.group.to_string(),
        trigger: of.trigger.name(),
        count,
        perceptible: of.perceptible,
        max_ms: nanos_ms(most),
        mean_ms: nanos_ms(of.total / count.max(1)),
        min_ms: nanos_ms(least),
        total_ms: nanos_ms(of.total),
        median_ms: at(0.5),
        p75_ms: at(0.75),
        p95_ms: at(0.95),
        p98_ms: at(0.98),
        parts: parts(&of.parts),
        culprit: of.parts.culprit(),
        exclusive: ExclusiveReport {
            max_ms: nanos_ms(of.exclusive.2),
            mean_ms: nanos_ms(of.exclusive.1 / count.max(1)),
            min_ms: nanos_ms(of.exclusive.0),
            total_ms: nanos_ms(of.exclusive.1),
        },
        phases: phase_report(of.phases, count),
    }
}
