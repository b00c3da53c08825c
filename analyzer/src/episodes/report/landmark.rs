//! The landmark profile: figures over the episodes of each landmark.

use serde::Serialize;

use super::parts::{PartsReport, parts};
use crate::episodes::episode::Trigger;
use crate::episodes::landmarks::{Landmark, Landmarks};
use crate::text::units::nanos_ms;

/// The figures over the episodes of one landmark, or of a group of landmarks.
#[derive(Debug, Clone, Serialize)]
pub struct LandmarkReport {
    /// The name of the landmark.
    pub landmark: String,
    /// The kind of user action and the class of its window.
    pub group: String,
    /// The kind of stimulus of the episodes: `input`, `output` or `asynchronous`.
    pub trigger: &'static str,
    /// The number of the landmark's episodes.
    pub count: u64,
    /// The number of episodes over their threshold.
    pub perceptible: u64,
    /// The greatest latency of the landmark's episodes in milliseconds.
    pub max_ms: f64,
    /// The mean latency in milliseconds.
    pub mean_ms: f64,
    /// The smallest latency in milliseconds.
    pub min_ms: f64,
    /// The sum of the latencies of the landmark's episodes in milliseconds.
    pub total_ms: f64,
    /// The median latency in milliseconds.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The 75th percentile of the latency in milliseconds.
    pub p75_ms: f64,
    /// The 95th percentile of the latency in milliseconds.
    pub p95_ms: f64,
    /// The 98th percentile of the latency in milliseconds.
    pub p98_ms: f64,
    /// The sums of the latencies' components by owner.
    pub parts: PartsReport,
    /// The name of the largest component.
    pub culprit: &'static str,
    /// The exclusive latencies (without the latencies of children).
    pub exclusive: ExclusiveReport,
    /// The mean latency in INP's three phases.
    pub phases: PhasesReport,
}

/// The exclusive latencies of a landmark's episodes.
#[derive(Debug, Clone, Serialize)]
pub struct ExclusiveReport {
    /// The greatest exclusive latency in milliseconds.
    pub max_ms: f64,
    /// The mean exclusive latency in milliseconds.
    pub mean_ms: f64,
    /// The smallest exclusive latency in milliseconds.
    pub min_ms: f64,
    /// The sum of the exclusive latencies of the episodes in milliseconds.
    pub total_ms: f64,
}

/// A latency in INP's three phases; they add up to the latency.
#[derive(Debug, Clone, Serialize)]
pub struct PhasesReport {
    /// The time in milliseconds until the client began to handle the stimulus.
    pub input_delay_ms: f64,
    /// The time from the beginning of the handling to the client's last request, with the effects on other clients, in
    /// milliseconds.
    pub processing_ms: f64,
    /// The time from the last request until the server had drawn it, in milliseconds.
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
    list.map(|((trigger, name), of)| landmark(*trigger, name.as_str(), of))
        .collect()
}

fn landmark(trigger: Trigger, name: &str, of: &Landmark) -> LandmarkReport {
    let count = of.latencies.number();
    let (least, most) = of.latencies.range().unwrap_or((0, 0));
    let at = |share| nanos_ms(of.latencies.percentile(share).unwrap_or(0));
    LandmarkReport {
        landmark: name.to_owned(),
        group: of.group.to_string(),
        trigger: trigger.name(),
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
