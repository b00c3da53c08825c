//! Patterns: episodes of one shape.

use serde::Serialize;
use x11prof_trace::Timestamp;

use super::parts::{PartsReport, parts};
use crate::episodes::cumulative::percentile;
use crate::episodes::findings::Findings;
use crate::episodes::location::Location;
use crate::episodes::patterns::Pattern;
use crate::text::units::nanos_ms;
use crate::text::units::{duration_ms, percent};

/// Episodes of one shape.
#[derive(Debug, Clone, Serialize)]
pub struct PatternReport {
    /// The pattern's number from 1, in the order of first sight; null for patterns over the limit.
    pub pattern: Option<u64>,
    /// The kind of action and the class of the window.
    pub group: String,
    /// The landmark that alone is slow in its group; the pattern includes all its episodes. Null for all other
    /// patterns.
    pub landmark: Option<String>,
    /// The tree: the stimulus, the actions, and in brackets their effects.
    pub shape: String,
    /// The trigger of the first episode.
    pub trigger: &'static str,
    /// Episodes.
    pub count: u64,
    /// Episodes over their threshold.
    pub perceptible: u64,
    /// The share of perceptible episodes: `always`, `sometimes`, `once` or `never`.
    pub slow: &'static str,
    /// The least latency.
    pub min_ms: f64,
    /// The median latency.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The greatest.
    pub max_ms: f64,
    /// The sum of the latencies.
    pub total_ms: f64,
    /// The latency without the children's.
    pub exclusive_ms: f64,
    /// The parts of the latency.
    pub parts: PartsReport,
    /// The largest part.
    pub culprit: &'static str,
    /// The locations of the pattern's time, the most first. They add up to the pattern's total.
    pub locations: Vec<LocationReport>,
    /// The number of the client with the pattern's longest episode.
    pub longest_client: u32,
    /// The beginning of the longest episode, since the trace's first record.
    pub longest_start_ms: f64,
}

/// A location of time.
#[derive(Debug, Clone, Serialize)]
pub struct LocationReport {
    /// The location as text: `client CPU`, `round trips of QueryTree`, `drawing in XTerm`.
    pub location: String,
    /// `client`, `round_trips`, `writing`, `drawing`, `waiting`, `processor`, `sleeping`, `lock`, `file`,
    /// `poll`, `elsewhere`, `network`.
    pub kind: &'static str,
    /// The request or the window; null if there is none.
    pub of: Option<String>,
    /// The time.
    pub ms: f64,
    /// The percentage of the pattern's time.
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
        median_ms: nanos_ms(percentile(&of.latencies, 0.5).unwrap_or(0)),
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
