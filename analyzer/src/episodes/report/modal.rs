//! Modal phases of an episode.

use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::episode::Episode;
use crate::episodes::findings::Findings;
use crate::episodes::modal::Phase;
use crate::text::units::{duration_ms, nanos_ms};

/// A modal phase that an episode began (LiLa, section 3.3); no part of its latency.
#[derive(Debug, Clone, Serialize)]
pub struct ModalReport {
    /// `transient`, `modal`, `grab`.
    #[serde(rename = "kind")]
    pub how: &'static str,
    /// The window, if known.
    pub window: Option<String>,
    /// The beginning, since the trace's first record.
    pub start_ms: f64,
    /// The length; null if the phase lasted to the end of the recording.
    pub duration_ms: Option<f64>,
    /// The number of listed episodes of the client that the user began in the phase.
    pub episodes: u64,
    /// The sum of their latencies. During the rest of the phase the user thought, or the client was idle.
    pub latency_ms: f64,
}

impl ModalReport {
    /// The phases that began during `episode`.
    pub(super) fn of(episode: &Episode, findings: &Findings, first: Timestamp) -> Vec<ModalReport> {
        let (start, end) = (episode.start, episode.end());
        let begun = findings.modal.begun_in(episode.client, start, end);
        let one = |phase: &Phase| {
            let within = findings.input_within(episode.client, phase.start, phase.end);
            ModalReport {
                how: phase.how.name(),
                window: phase.window.clone(),
                start_ms: duration_ms(phase.start.since(first)),
                duration_ms: phase.end.map(|end| duration_ms(end.since(phase.start))),
                episodes: within.0,
                latency_ms: nanos_ms(within.1),
            }
        };
        begun.into_iter().map(one).collect()
    }
}
