//! An issue in the report's ranked list.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use x11prof_analyzer::PartsReport;

use super::change::ChangeReport;
use super::points::{PointReport, points};
use crate::changes::Change;
use crate::episode_row::{PART_NAMES, PARTS};
use crate::issues::{Issue, Issues, Occurrence, median, ranked_places};
use crate::known::KnownEntry;

/// Maximum number of patterns listed for an issue.
const PATTERNS: usize = 20;
/// The parts of an episode's time that do not count as causes.
const PARTS_WITHOUT_CAUSE: [&str; 4] =
    ["waiting_ns", "client_ns", "network_ns", "other_clients_ns"];

/// An issue: slow episodes of equal program, landmark and blame.
#[derive(Debug, Clone, Serialize)]
pub struct IssueReport {
    /// The rank of the issue in the list, from 1, by time over the threshold.
    pub rank: usize,
    /// The name of the program; null if it is not known.
    pub program: Option<String>,
    /// The kind of user action and the class of its window.
    pub landmark: String,
    /// The largest cause of the episodes' latencies: a request's round trips, a wait, or another client.
    pub blame: String,
    /// The pattern (tree of intervals) of the issue with the most time over the threshold.
    #[serde(serialize_with = "shared")]
    pub pattern: Arc<str>,
    /// The patterns (trees of intervals) of the issue with the most time over the threshold, at most twenty, in
    /// descending order of this time.
    pub patterns: Vec<PatternReport>,
    /// The number of the issue's patterns, including those that are not listed.
    pub pattern_count: usize,
    /// The call sites of clients' longest waits during the episodes, at most twenty, the most frequent first; only for
    /// recordings with stacks.
    #[serde(rename = "blocked_at")]
    pub waited_in: Vec<CallSiteReport>,
    /// The functions in which clients used the most CPU time during the episodes, at most twenty, the most frequent
    /// first; only for recordings with samples of running clients.
    #[serde(rename = "cpu_at")]
    pub ran_in: Vec<CallSiteReport>,
    /// The number of sessions in which the issue occurred.
    pub sessions: usize,
    /// The number of known users in whose sessions the issue occurred.
    pub users: usize,
    /// The number of episodes of the issue. Each has a latency over its threshold.
    pub occurrences: usize,
    /// The number of all episodes with this landmark in this program, of any latency.
    pub of_landmark: u64,
    /// The median latency of the issue's episodes in milliseconds.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The greatest latency of the issue's episodes in milliseconds.
    #[serde(rename = "max_ms")]
    pub worst_ms: f64,
    /// The sum over the issue's episodes of the time over the threshold, in milliseconds. The list is ordered by this
    /// sum.
    pub total_over_threshold_ms: f64,
    /// The sum over the issue's episodes of the latencies, divided into parts.
    pub parts: PartsReport,
    /// The time by cause, in milliseconds, summed over the issue's episodes.
    pub causes: BTreeMap<String, f64>,
    /// The number of round trips during the issue's episodes.
    pub round_trips: u64,
    /// The number of requests sent during the issue's episodes.
    pub requests: u64,
    /// The number of the issue's episodes whose end is not certain.
    #[serde(rename = "uncertain")]
    pub unsure: u64,
    /// The versions in which the issue occurred, the oldest first.
    pub versions: Vec<String>,
    /// The version of the first session (by day) with the issue; null if it is not known.
    pub first_version: Option<String>,
    /// The version of the last session (by day) with the issue; null if it is not known.
    pub last_version: Option<String>,
    /// The figures of the issue for each version in which it occurred.
    pub by_version: Vec<ByVersion>,
    /// For each latency, the number of the issue's episodes with at least this latency.
    pub distribution: Vec<PointReport>,
    /// The change of the issue between the compared versions; null unless two versions are compared and
    /// the issue is one of the 200 with the most time.
    pub change: Option<ChangeReport>,
    /// The matching entry in the file of known issues; null if there is none.
    pub known: Option<KnownReport>,
    /// The episode of the issue with the greatest latency.
    pub example: Example,
}

/// The episodes of an issue with the same tree of intervals.
#[derive(Debug, Clone, Serialize)]
pub struct PatternReport {
    /// The tree of the episodes' intervals as text.
    #[serde(serialize_with = "shared")]
    pub pattern: Arc<str>,
    /// The number of episodes with this pattern. Each has a latency over its threshold.
    pub occurrences: u64,
    /// The greatest latency of the episodes in milliseconds.
    #[serde(rename = "max_ms")]
    pub worst_ms: f64,
    /// The sum over the episodes of the time over the threshold, in milliseconds.
    pub total_over_threshold_ms: f64,
}

/// A call site or function that was the most important one in some episodes of an issue: the call site of the longest
/// wait, or the function with the most CPU time.
#[derive(Debug, Clone, Serialize)]
pub struct CallSiteReport {
    /// For a call site, the calling function and its nearest named caller; otherwise the running function.
    #[serde(rename = "location")]
    pub place: String,
    /// The number of episodes with this call site or function.
    pub occurrences: usize,
}

/// The figures of an issue for one version.
#[derive(Debug, Clone, Serialize)]
pub struct ByVersion {
    /// The version of the program; null if it is not known.
    pub version: Option<String>,
    /// The number of this version's sessions in which the issue occurred.
    pub sessions: usize,
    /// The number of this version's episodes of the issue.
    pub occurrences: usize,
    /// The most frequent call site of the episodes' longest waits; null if no stack is known.
    #[serde(rename = "blocked_at")]
    pub waited_in: Option<String>,
    /// The function that most often used the most CPU time in an episode; null without samples.
    #[serde(rename = "cpu_at")]
    pub ran_in: Option<String>,
    /// The median latency of this version's episodes of the issue in milliseconds.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The sum over this version's episodes of the issue of the time over the threshold, in milliseconds.
    pub total_over_threshold_ms: f64,
    /// `total_over_threshold_ms` divided by the number of user actions in this version of the program, in milliseconds;
    /// null without actions.
    pub per_action_ms: Option<f64>,
}

/// An issue's entry in the file of known issues.
#[derive(Debug, Clone, Serialize)]
pub struct KnownReport {
    /// The reason why the issue is accepted; null if the file does not give one.
    pub accepted: Option<String>,
    /// The issue's entry in a bug tracker; null if the file does not give one.
    pub bug: Option<String>,
}

/// The worst episode of an issue, as an example.
#[derive(Debug, Clone, Serialize)]
pub struct Example {
    /// The path of the trace that contains the episode.
    pub trace: String,
    /// The beginning of the episode, in seconds since the trace's first record.
    pub at_s: f64,
    /// The latency of the episode in milliseconds.
    pub latency_ms: f64,
    /// The number of the connection of the client that handled the episode.
    pub client: u32,
}

/// Serialises a text that several issues share.
fn shared<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// The number of the user's actions, by program and version.
pub(super) type Actions<'a> = HashMap<(Option<&'a str>, Option<&'a str>), u64>;

/// Creates the report of the issue `of`; `change` is its change between the compared versions, and `known` its entry in
/// the file of known issues.
pub(super) fn report(
    rank: usize,
    of: &Issue,
    issues: &Issues,
    versions: &[String],
    actions: &Actions<'_>,
    change: Option<Change>,
    known: Option<&KnownEntry>,
) -> IssueReport {
    let facts = |session| issues.facts(session);
    let sessions: BTreeSet<_> = of.occurrences.iter().map(|one| one.session).collect();
    let users: BTreeSet<_> = sessions
        .iter()
        .filter_map(|one| facts(*one)?.partition.user.as_deref())
        .collect();
    let days = sessions.iter().filter_map(|one| facts(*one));
    let mut days: Vec<_> = days
        .map(|of| {
            (
                of.partition.date.as_deref(),
                of.partition.version.as_deref(),
            )
        })
        .collect();
    days.sort_unstable();
    let version = |at: Option<&(Option<&str>, Option<&str>)>| Some(at?.1?.to_owned());
    let mut by_version: BTreeMap<Option<&str>, Vec<&Occurrence>> = BTreeMap::new();
    for one in &of.occurrences {
        let version = facts(one.session).and_then(|facts| facts.partition.version.as_deref());
        by_version.entry(version).or_default().push(one);
    }
    let place = |name: Option<&str>| versions.iter().position(|one| Some(one.as_str()) == name);
    let mut by_version: Vec<_> = by_version.into_iter().collect();
    by_version.sort_by_key(|(name, _)| place(*name));
    let key = (of.program.clone(), of.landmark.clone());
    let patterns = of.ranked_patterns();
    IssueReport {
        rank,
        program: of.program.as_deref().map(str::to_owned),
        landmark: of.landmark.to_string(),
        blame: of.blame.to_string(),
        pattern: patterns
            .first()
            .map_or_else(Arc::default, |(name, _)| Arc::clone(name)),
        pattern_count: patterns.len(),
        patterns: patterns
            .iter()
            .take(PATTERNS)
            .map(|(pattern, of)| PatternReport {
                pattern: Arc::clone(pattern),
                occurrences: of.occurrences,
                worst_ms: ms(of.worst),
                total_over_threshold_ms: ms(of.over),
            })
            .collect(),
        waited_in: places(ranked_places(&of.occurrences, |one| &one.waited_in)),
        ran_in: places(ranked_places(&of.occurrences, |one| &one.ran_in)),
        sessions: sessions.len(),
        users: users.len(),
        occurrences: of.occurrences.len(),
        of_landmark: issues.of_landmark.get(&key).copied().unwrap_or(0),
        median_ms: ms(median(
            of.occurrences.iter().map(|one| one.latency).collect(),
        )),
        worst_ms: ms(of.worst.latency),
        total_over_threshold_ms: ms(of.over),
        parts: parts(&of.parts),
        causes: PART_NAMES
            .into_iter()
            .zip(of.parts)
            .filter(|(name, _)| !PARTS_WITHOUT_CAUSE.contains(name))
            .map(|(name, nanos)| (name.replace("_ns", "_ms"), ms(nanos)))
            .collect(),
        round_trips: of.round_trips,
        requests: of.requests,
        unsure: of.unsure,
        versions: by_version
            .iter()
            .filter_map(|(name, _)| Some((*name)?.to_owned()))
            .collect(),
        first_version: version(days.first()),
        last_version: version(days.last()),
        distribution: points(of.occurrences.iter().map(|one| (one.latency, 1))),
        by_version: by_version
            .iter()
            .map(|(name, list)| {
                let sessions: BTreeSet<_> = list.iter().map(|one| one.session).collect();
                let over_ms = list.iter().map(|one| ms(one.over)).sum();
                ByVersion {
                    version: name.map(str::to_owned),
                    sessions: sessions.len(),
                    occurrences: list.len(),
                    waited_in: commonest(ranked_places(list.iter().copied(), |one| &one.waited_in)),
                    ran_in: commonest(ranked_places(list.iter().copied(), |one| &one.ran_in)),
                    median_ms: ms(median(list.iter().map(|one| one.latency).collect())),
                    total_over_threshold_ms: over_ms,
                    per_action_ms: actions
                        .get(&(of.program.as_deref(), *name))
                        .filter(|count| **count > 0)
                        .map(|count| over_ms / *count as f64),
                }
            })
            .collect(),
        change: change.map(ChangeReport::of),
        known: known.map(|entry| KnownReport {
            accepted: entry.accepted.clone(),
            bug: entry.bug.clone(),
        }),
        example: Example {
            trace: of.worst.trace.to_string(),
            at_s: of.worst.start as f64 / 1e9,
            latency_ms: ms(of.worst.latency),
            client: of.worst.client,
        },
    }
}

fn places(ranked: Vec<(&str, usize)>) -> Vec<CallSiteReport> {
    let first = ranked.into_iter().take(PATTERNS);
    let report = |(place, occurrences): (&str, usize)| CallSiteReport {
        place: place.to_owned(),
        occurrences,
    };
    first.map(report).collect()
}

fn commonest(ranked: Vec<(&str, usize)>) -> Option<String> {
    ranked.first().map(|(place, _)| (*place).to_owned())
}

fn parts(of: &[u64; PARTS]) -> PartsReport {
    let sum = |parts: &[u64]| parts.iter().map(|part| ms(*part)).sum();
    // The indices follow the order of `PART_NAMES`.
    PartsReport {
        waiting_ms: ms(of[0]),
        client_ms: ms(of[1]),
        off_cpu_ms: sum(&of[2..8]),
        server_ms: sum(&of[8..12]),
        network_ms: ms(of[12]),
        other_clients_ms: sum(&of[13..15]),
    }
}
