//! The report on episodes as data (docs/REFERENCE.md).

mod awaited;
mod blame;
mod episode;
mod landmark;
mod loops;
mod mark;
mod modal;
mod outliers;
mod over_time;
mod parts;
mod pattern;
mod series;
mod summary;
mod user;

use serde::Serialize;

use super::findings::Findings;
use crate::recording::trace_summary::TraceSummary;

pub use awaited::AwaitedReport;
pub use blame::{BlameReport, Blamed, PathReport};
pub use episode::{ChildReport, EpisodeReport, HeldUpReport};
pub use landmark::{ExclusiveReport, LandmarkReport, PhasesReport};
pub use loops::{BacklogReport, LoopReport};
pub use mark::{MarkReport, MarkedEpisode, MarkedStall};
pub use modal::ModalReport;
pub use outliers::OutliersReport;
pub use over_time::{ApartReport, BurstReport, DurationReport, ThinkReport};
pub use parts::{CausesReport, PartsReport, TriggerReport};
pub use pattern::{LocationReport, PatternReport};
pub use series::SeriesReport;
pub use summary::{CumulativeReport, SummaryReport};
pub use user::{EventTypeReport, ResourceUse};

/// The version of the JSON.
const FORMAT: u32 = 1;

/// The results of `x11prof episodes`.
#[derive(Debug, Clone, Serialize)]
pub struct EpisodesReport {
    /// The version of this layout.
    pub format: u32,
    /// The trace.
    pub trace: String,
    /// LagAlyzer's Table 4.2 for the recording.
    pub summary: SummaryReport,
    /// The cumulative latency distribution.
    pub distribution: Vec<CumulativeReport>,
    /// The episodes by trigger, with the location and cause of their time.
    pub triggers: Vec<TriggerReport>,
    /// Landmarks grouped by the kind of action and the class of the window, the most time first.
    pub groups: Vec<LandmarkReport>,
    /// The landmark profile, the most time first.
    pub landmarks: Vec<LandmarkReport>,
    /// Episodes of one shape, the most perceptible time first.
    pub patterns: Vec<PatternReport>,
    /// Actions that took far longer than the same actions usually take, the most time first.
    pub outliers: Vec<OutliersReport>,
    /// Clients that repeatedly cause each other's messages, the most steps first; the steps are no episodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopReport>,
    /// Pointer motion that arrived faster than clients handled it, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backlogs: Vec<BacklogReport>,
    /// Contiguous short episodes.
    pub bursts: Vec<BurstReport>,
    /// Think and wait time.
    pub think_and_wait: ThinkReport,
    /// Utilisation and latency over time.
    pub series: SeriesReport,
    /// The share of all latency, by the episodes' duration.
    pub durations: Vec<DurationReport>,
    /// Times between the beginnings of long episodes (the latency-benchmark paper's Table 2).
    pub long_apart: Vec<ApartReport>,
    /// The episodes by time; with `--worst`, the longest first.
    pub episodes: Vec<EpisodeReport>,
    /// Episodes that are not in the list.
    pub omitted: u64,
    /// The user-defined events by type; null without --events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventTypeReport>,
    /// The marks of the user, with the activity around each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<MarkReport>,
    /// Marks after the first thousand, which are not in the list.
    #[serde(skip_serializing_if = "none_omitted")]
    pub marks_omitted: u64,
}

fn none_omitted(count: &u64) -> bool {
    *count == 0
}

impl EpisodesReport {
    /// The report on `findings`, in a trace summarized by `summary`; `path` is the trace's path as given by the user.
    pub fn new(path: &str, summary: &TraceSummary, findings: &Findings) -> EpisodesReport {
        let first = summary.first().unwrap_or_default();
        EpisodesReport {
            format: FORMAT,
            trace: path.to_owned(),
            summary: summary::summary(summary, findings),
            distribution: summary::distribution(findings),
            triggers: parts::triggers(findings),
            groups: landmark::landmarks(&findings.groups),
            landmarks: landmark::landmarks(&findings.landmarks),
            patterns: PatternReport::all(findings, first),
            outliers: OutliersReport::all(findings),
            loops: LoopReport::all(findings, first),
            backlogs: BacklogReport::all(findings, first),
            bursts: findings
                .bursts
                .list()
                .into_iter()
                .map(|burst| BurstReport::new(burst, findings, first))
                .collect(),
            think_and_wait: ThinkReport::new(summary, findings, first),
            series: SeriesReport::new(findings, first),
            durations: DurationReport::all(findings),
            long_apart: ApartReport::all(findings),
            episodes: findings
                .episodes()
                .into_iter()
                .map(|one| episode::episode(one, findings, first))
                .collect(),
            omitted: findings.omitted,
            events: EventTypeReport::all(findings, first),
            marks: Vec::new(),
            marks_omitted: 0,
        }
    }
}
