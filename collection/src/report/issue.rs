//! An issue of the list.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use x11prof_analyzer::PartsReport;

use super::change::ChangeReport;
use super::points::{PointReport, points};
use crate::changes::Change;
use crate::episode_row::{PART_NAMES, PARTS};
use crate::issues::{Issue, Issues, median};
use crate::known::KnownEntry;

/// Maximum number of patterns listed for an issue.
const PATTERNS: usize = 20;
/// The parts of an episode's time that do not count as causes.
const PARTS_WITHOUT_CAUSE: [&str; 4] =
    ["waiting_ns", "client_ns", "network_ns", "other_clients_ns"];

/// An issue.
#[derive(Debug, Clone, Serialize)]
pub struct IssueReport {
    /// The rank; the worst issue has 1.
    pub rank: usize,
    /// The program; null if it is not known.
    pub program: Option<String>,
    /// The kind of action and the class of the window.
    pub landmark: String,
    /// The location of most of each episode's time.
    pub blame: String,
    /// The pattern with the most time over the threshold: a tree of intervals.
    pub pattern: String,
    /// At most twenty patterns, the most time over the threshold first.
    pub patterns: Vec<PatternReport>,
    /// The number of all patterns.
    pub pattern_count: usize,
    /// The call sites of clients' longest waits, at most twenty, the most frequent first; only for recordings with
    /// stacks.
    #[serde(rename = "blocked_at")]
    pub waited_in: Vec<CallSiteReport>,
    /// The functions with clients' most CPU time, as for `waited_in`; only for recordings with samples of running
    /// clients.
    #[serde(rename = "cpu_at")]
    pub ran_in: Vec<CallSiteReport>,
    /// Sessions in which it occurred.
    pub sessions: usize,
    /// The number of known users with this issue.
    pub users: usize,
    /// Episodes over the threshold.
    pub occurrences: usize,
    /// The number of episodes of this landmark in this program, however short.
    pub of_landmark: u64,
    /// The latency that half of its episodes do not exceed.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The greatest latency.
    #[serde(rename = "max_ms")]
    pub worst_ms: f64,
    /// The sum over all episodes of the time over the threshold; the list is ordered by this.
    pub total_over_threshold_ms: f64,
    /// The parts of the time.
    pub parts: PartsReport,
    /// Time by cause.
    pub causes: BTreeMap<String, f64>,
    /// Round trips.
    pub round_trips: u64,
    /// Requests sent.
    pub requests: u64,
    /// Episodes whose end is not certain.
    #[serde(rename = "uncertain")]
    pub unsure: u64,
    /// Versions in which it occurred, in their order.
    pub versions: Vec<String>,
    /// The first version with the issue, by day.
    pub first_version: Option<String>,
    /// The last version with the issue.
    pub last_version: Option<String>,
    /// Figures by version.
    pub by_version: Vec<ByVersion>,
    /// The distribution of latencies.
    pub distribution: Vec<PointReport>,
    /// The change between the compared versions; null unless there are two.
    pub change: Option<ChangeReport>,
    /// The entry in the file of known issues; null if there is none.
    pub known: Option<KnownReport>,
    /// The worst episode.
    pub example: Example,
}

/// Episodes of an issue with the same pattern.
#[derive(Debug, Clone, Serialize)]
pub struct PatternReport {
    /// The tree of intervals as text.
    pub pattern: String,
    /// Episodes over the threshold.
    pub occurrences: u64,
    /// The greatest latency.
    #[serde(rename = "max_ms")]
    pub worst_ms: f64,
    /// The sum over all episodes of the time over the threshold.
    pub total_over_threshold_ms: f64,
}

/// A call site of the longest wait, or a function with the most CPU time, in episodes of an issue.
#[derive(Debug, Clone, Serialize)]
pub struct CallSiteReport {
    /// The calling function and its nearest named caller; or the running function.
    #[serde(rename = "location")]
    pub place: String,
    /// Episodes over the threshold.
    pub occurrences: usize,
}

/// An issue in one version.
#[derive(Debug, Clone, Serialize)]
pub struct ByVersion {
    /// The version; null if it is not known.
    pub version: Option<String>,
    /// Sessions with it.
    pub sessions: usize,
    /// Episodes.
    pub occurrences: usize,
    /// The call site of the longest wait in most episodes; null if no stack is known.
    #[serde(rename = "blocked_at")]
    pub waited_in: Option<String>,
    /// The function with the most CPU time in most episodes; null without samples.
    #[serde(rename = "cpu_at")]
    pub ran_in: Option<String>,
    /// The median latency of the episodes.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The sum over all episodes of the time over the threshold.
    pub total_over_threshold_ms: f64,
    /// The sum divided by the number of user actions in this version of the program; null without actions.
    pub per_action_ms: Option<f64>,
}

/// An issue's entry in the file of known issues.
#[derive(Debug, Clone, Serialize)]
pub struct KnownReport {
    /// Why it is accepted.
    pub accepted: Option<String>,
    /// The issue tracker entry.
    pub bug: Option<String>,
}

/// An example episode.
#[derive(Debug, Clone, Serialize)]
pub struct Example {
    /// The trace's path.
    pub trace: String,
    /// The beginning, in seconds since the trace's first record.
    pub at_s: f64,
    /// The latency.
    pub latency_ms: f64,
    /// The number of its client's connection.
    pub client: u32,
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Actions of the user, by program and version.
pub(super) type Actions<'a> = HashMap<(Option<&'a str>, Option<&'a str>), u64>;

/// The issue of this rank.
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
        .filter_map(|one| facts(*one)?.user.as_deref())
        .collect();
    let days = sessions.iter().filter_map(|one| facts(*one));
    let mut days: Vec<_> = days
        .map(|of| (of.date.as_deref(), of.version.as_deref()))
        .collect();
    days.sort_unstable();
    let version = |at: Option<&(Option<&str>, Option<&str>)>| Some(at?.1?.to_owned());
    let mut by_version: BTreeMap<Option<&str>, Vec<_>> = BTreeMap::new();
    for one in &of.occurrences {
        let version = facts(one.session).and_then(|facts| facts.version.as_deref());
        by_version.entry(version).or_default().push(*one);
    }
    let place = |name: Option<&str>| versions.iter().position(|one| Some(one.as_str()) == name);
    let mut by_version: Vec<_> = by_version.into_iter().collect();
    by_version.sort_by_key(|(name, _)| place(*name));
    let key = (of.program.clone(), of.landmark.clone());
    let patterns = of.ranked_patterns();
    IssueReport {
        rank,
        program: of.program.clone(),
        landmark: of.landmark.clone(),
        blame: of.blame.clone(),
        pattern: patterns.first().map_or("", |(name, _)| name).to_owned(),
        pattern_count: patterns.len(),
        patterns: patterns
            .iter()
            .take(PATTERNS)
            .map(|(pattern, of)| PatternReport {
                pattern: (*pattern).to_owned(),
                occurrences: of.occurrences,
                worst_ms: ms(of.worst),
                total_over_threshold_ms: ms(of.over),
            })
            .collect(),
        waited_in: places(issues.ranked_places(&of.occurrences, |one| one.waited_in)),
        ran_in: places(issues.ranked_places(&of.occurrences, |one| one.ran_in)),
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
                    waited_in: commonest(issues.ranked_places(list, |one| one.waited_in)),
                    ran_in: commonest(issues.ranked_places(list, |one| one.ran_in)),
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
            trace: of.worst.trace.clone(),
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
    // In the order of `PART_NAMES`.
    PartsReport {
        waiting_ms: ms(of[0]),
        client_ms: ms(of[1]),
        off_cpu_ms: sum(&of[2..8]),
        server_ms: sum(&of[8..12]),
        network_ms: ms(of[12]),
        other_clients_ms: sum(&of[13..15]),
    }
}
