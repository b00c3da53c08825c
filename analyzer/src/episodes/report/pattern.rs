//! The patterns of episodes: episodes that do the same work.

use serde::Serialize;
use x11prof_trace::Timestamp;

use super::parts::{PartsReport, parts};
use crate::episodes::findings::Findings;
use crate::episodes::location::Location;
use crate::episodes::patterns::Pattern;
use crate::text::units::nanos_ms;
use crate::text::units::{duration_ms, percent};

/// The figures over the episodes of one pattern.
#[derive(Debug, Clone, Serialize)]
pub struct PatternReport {
    /// The number of the pattern from 1, in the order in which patterns first occur; null for the sum of patterns over
    /// the limit.
    pub pattern: Option<u64>,
    /// The kind of user action and the class of its window.
    pub group: String,
    /// The landmark of all episodes of the pattern; null if they have several. If it is the only slow landmark of its
    /// group, the pattern includes all of its episodes.
    pub landmark: Option<String>,
    /// The tree of the pattern as text: the stimulus, the actions, and in brackets their effects.
    pub shape: String,
    /// The kind of stimulus of the first episode: `input`, `output` or `asynchronous`.
    pub trigger: &'static str,
    /// The number of episodes with this pattern.
    pub count: u64,
    /// The number of episodes over their threshold.
    pub perceptible: u64,
    /// How many of the episodes are perceptible: `always`, `sometimes`, `once` or `never`.
    pub slow: &'static str,
    /// The smallest latency in milliseconds.
    pub min_ms: f64,
    /// The median latency of the pattern's episodes in milliseconds.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The greatest latency in milliseconds.
    pub max_ms: f64,
    /// The sum of the latencies of the pattern's episodes in milliseconds.
    pub total_ms: f64,
    /// The sum of the exclusive latencies (without the latencies of children), in milliseconds.
    pub exclusive_ms: f64,
    /// The sums of the latencies' components by owner.
    pub parts: PartsReport,
    /// The name of the largest component.
    pub culprit: &'static str,
    /// The locations of the pattern's time, the most time first. They add up to `total_ms`.
    pub locations: Vec<LocationReport>,
    /// The number of the connection with the pattern's longest episode.
    pub longest_client: u32,
    /// The beginning of the longest episode, in milliseconds since the trace's first record.
    pub longest_start_ms: f64,
}

/// A location of time: code, a kind of request, or a window.
#[derive(Debug, Clone, Serialize)]
pub struct LocationReport {
    /// The location as text: `client CPU`, `round trips of QueryTree`, `drawing in XTerm`.
    pub location: String,
    /// The kind of location: `client`, `round_trips`, `writing`, `drawing`, `waiting`, `processor`, `server_processor`,
    /// `sleeping`, `lock`, `file`, `poll`, `elsewhere`, `grab`, `network`, `other_clients` or `awaited`.
    pub kind: &'static str,
    /// The name of the request or the window; null if there is none.
    pub of: Option<String>,
    /// The time at this location in milliseconds.
    pub ms: f64,
    /// The time at this location as a percentage of the pattern's time.
    pub percent: f64,
}

impl LocationReport {
    pub(super) fn new(location: Location, nanos: u64, of_all: u64) -> LocationReport {
        LocationReport {
            location: location.to_string(),
            kind: location.kind(),
            of: location.what().map(|what| what.to_string()),
            ms: nanos_ms(nanos),
            percent: percent(nanos as f64, of_all as f64),
        }
    }
}

impl PatternReport {
    pub(super) fn all(findings: &Findings, first: Timestamp) -> Vec<PatternReport> {
        let list = findings.patterns.list().into_iter();
        list.map(|of| report(of, first)).collect()
    }
}

fn report(of: &Pattern, first: Timestamp) -> PatternReport {
    let (least, most) = of.latencies.range().unwrap_or((0, 0));
    let (_, client, start) = of.longest;
    let tree = of.tree.as_ref();
    let others = || "(others)".to_owned();
    PatternReport {
        pattern: tree.map(|_| of.number),
        group: tree.map_or_else(others, |tree| tree.about.to_string()),
        landmark: of.landmark.as_ref().map(ToString::to_string),
        shape: match (tree, &of.landmark) {
            (Some(tree), Some(landmark)) => tree.of(landmark.as_str()).to_string(),
            (tree, _) => tree.map_or_else(others, ToString::to_string),
        },
        trigger: of.trigger.name(),
        count: of.latencies.number(),
        perceptible: of.perceptible,
        slow: of.occurrence().name(),
        min_ms: nanos_ms(least),
        median_ms: nanos_ms(of.latencies.percentile(0.5).unwrap_or(0)),
        max_ms: nanos_ms(most),
        total_ms: nanos_ms(of.total),
        exclusive_ms: nanos_ms(of.exclusive),
        parts: parts(&of.parts),
        culprit: of.parts.culprit(),
        locations: locations(of),
        longest_client: client.0,
        longest_start_ms: duration_ms(start.since(first)),
    }
}

fn locations(of: &Pattern) -> Vec<LocationReport> {
    let all = of.locations().into_iter();
    all.map(|(location, nanos)| LocationReport::new(location, nanos, of.total))
        .collect()
}
