//! The modal phases that began in an episode.

use serde::Serialize;
use x11prof_trace::Timestamp;

use crate::episodes::episode::Episode;
use crate::episodes::findings::Findings;
use crate::episodes::modal::Phase;
use crate::text::units::{duration_ms, nanos_ms};

/// A modal phase that began in an episode (LiLa, section 3.3). The phase is not part of the episode's latency.
#[derive(Debug, Clone, Serialize)]
pub struct ModalReport {
    /// The evidence for the phase: `transient`, `modal` or `grab`.
    #[serde(rename = "kind")]
    pub how: &'static str,
    /// The name of the modal window; null if unknown.
    pub window: Option<String>,
    /// The beginning of the phase, in milliseconds since the trace's first record.
    pub start_ms: f64,
    /// The length of the phase in milliseconds; null if the phase lasted to the end of the recording.
    pub duration_ms: Option<f64>,
    /// The number of listed episodes of the client that input began during the modal phase.
    pub episodes: u64,
    /// The total latency of the episodes that `episodes` counts, in milliseconds. During the rest of the phase the user
    /// thought, or the client was idle.
    pub latency_ms: f64,
}

impl ModalReport {
    /// The modal phases that began during `episode`. `first` is the time of the trace's first record.
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
