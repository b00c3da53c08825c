//! The report on episodes, as a document (docs/REFERENCE.md).

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
use crate::callers::running::RunningReport;
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

/// The result of `x11prof episodes`.
#[derive(Debug, Clone, Serialize)]
pub struct EpisodesReport {
    /// The version of this document's layout.
    pub format: u32,
    /// The path of the trace.
    pub trace: String,
    /// Sums over all episodes of the recording (LagAlyzer's Table 4.2).
    pub summary: SummaryReport,
    /// The cumulative distribution of the episodes' latencies.
    pub distribution: Vec<CumulativeReport>,
    /// The episodes by trigger, with the locations and causes of their time.
    pub triggers: Vec<TriggerReport>,
    /// The groups of landmarks (by the kind of action and the class of the window), the most time first.
    pub groups: Vec<LandmarkReport>,
    /// The landmarks, the most time first.
    pub landmarks: Vec<LandmarkReport>,
    /// The patterns (episodes of one shape): the most perceptible time first, then the most time.
    pub patterns: Vec<PatternReport>,
    /// Actions that took far longer than the same actions usually take, the most time first.
    pub outliers: Vec<OutliersReport>,
    /// Clients that repeatedly cause each other's messages, the most steps first; the steps are no episodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopReport>,
    /// Pointer motion that arrived faster than clients handled it, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backlogs: Vec<BacklogReport>,
    /// Bursts: contiguous short episodes, such as the frames of an animation.
    pub bursts: Vec<BurstReport>,
    /// The time in which the user waited, and the time in which the user could think.
    pub think_and_wait: ThinkReport,
    /// CPU utilisation and latency over time.
    pub series: SeriesReport,
    /// The share of all latency in each class of duration.
    pub durations: Vec<DurationReport>,
    /// Times between the beginnings of long episodes (the latency-benchmark paper's Table 2).
    pub long_apart: Vec<ApartReport>,
    /// The listed episodes in time order; with `--worst`, the longest first.
    pub episodes: Vec<EpisodeReport>,
    /// The CPU time of the clients during the listed episodes, by library and by function; empty without `--landmark`,
    /// or without `record --stacks=cpu`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<RunningReport>,
    /// The number of episodes that are not listed.
    pub omitted: u64,
    /// The user-defined events by type; absent without the option --events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventTypeReport>,
    /// The marks that the user set, with the activity around each mark.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<MarkReport>,
    /// The number of marks that are not listed, because there are over a thousand.
    #[serde(skip_serializing_if = "none_omitted")]
    pub marks_omitted: u64,
}

fn none_omitted(count: &u64) -> bool {
    *count == 0
}

impl EpisodesReport {
    /// Creates the report on `findings`, in a trace summarized by `summary`. `path` is the trace's path as given by the
    /// user.
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
            loops: LoopReport::all(findings.loops.list(), findings, first),
            backlogs: BacklogReport::all(findings.backlogs.clone(), findings, first),
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
            running: Vec::new(),
            omitted: findings.omitted,
            events: EventTypeReport::all(findings, first),
            marks: Vec::new(),
            marks_omitted: 0,
        }
    }
}
