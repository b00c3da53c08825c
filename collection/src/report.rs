//! The ranked list of issues as a document (docs/REFERENCE.md).

mod change;
mod issue;
mod points;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde::Serialize;

use crate::changes::{Change, Changes, changes};
use crate::issues::{Issue, Issues};
use crate::known::Known;

pub use change::ChangeReport;
pub use issue::{ByVersion, CallSiteReport, Example, IssueReport, KnownReport, PatternReport};
pub use points::PointReport;

use issue::{Actions, report};
use points::points;

/// The version of the JSON document's layout.
const FORMAT: u32 = 1;

/// The report of the issues in many sessions. Times are in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct IssuesReport {
    /// The version of the report's JSON format.
    pub format: u32,
    /// The number of sessions that were read.
    pub sessions: usize,
    /// The number of different users in the sessions; sessions of unknown users do not count.
    pub users: usize,
    /// The versions of the program in the sessions, the oldest first. The age of a version is the first day of its
    /// sessions; versions with the same first day are ordered by name.
    pub versions: Vec<String>,
    /// The number of episodes of any latency in the sessions.
    pub episodes: u64,
    /// The two versions that are compared, the old version first; null if no versions are compared.
    pub compared: Option<[String; 2]>,
    /// The issues, sorted by time over the threshold in descending order.
    pub issues: Vec<IssueReport>,
    /// The comparison of the versions for each program; empty without two versions.
    pub programs: Vec<ProgramReport>,
    /// The distribution of latencies in each version (the thesis, Figure 9.1).
    pub curves: Vec<CurveReport>,
    /// The files that were not used, such as damaged or duplicate ones.
    #[serde(rename = "skipped")]
    pub left_out: Vec<LeftOut>,
}

/// A file that was not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The path of the file.
    pub file: String,
    /// The reason why the file was not used.
    #[serde(rename = "reason")]
    pub why: String,
}

/// The comparison of a program's issues between two versions.
#[derive(Debug, Clone, Serialize)]
pub struct ProgramReport {
    /// The name of the program; null if it is not known.
    pub program: Option<String>,
    /// The number of sessions of the old version and of the new one.
    pub sessions: [usize; 2],
    /// The number of the user's actions in the program, in the sessions of the old version and of the new one.
    pub actions: [u64; 2],
    /// The change of all of the program's issues together; null if one version has no session of the program.
    pub change: Option<ChangeReport>,
}

/// The distribution of the latencies of a version's episodes.
#[derive(Debug, Clone, Serialize)]
pub struct CurveReport {
    /// The version of the program; null if it is not known.
    pub version: Option<String>,
    /// The number of episodes of any latency in the version's sessions.
    pub episodes: u64,
    /// For each latency, the number of episodes with at least this latency.
    pub points: Vec<PointReport>,
}

impl IssuesReport {
    /// Creates the report. It compares the two versions in `compare`, the old version first. If `compare` is `None`, it
    /// compares the last two versions, if there are at least two.
    pub fn new(
        issues: &Issues,
        known: &Known,
        compare: Option<[String; 2]>,
        left_out: Vec<LeftOut>,
    ) -> IssuesReport {
        let ranked = issues.ranked();
        let versions = versions(issues);
        let compared = compare.or_else(|| match versions.as_slice() {
            [.., old, new] => Some([old.clone(), new.clone()]),
            _ => None,
        });
        let mut own: HashMap<Option<&Arc<str>>, Vec<(usize, &Issue)>> = HashMap::new();
        for (at, issue) in ranked.iter().enumerate() {
            let of_program = own.entry(issue.program.as_ref()).or_default();
            of_program.push((at, issue));
        }
        let mut programs: Vec<_> = issues.actions.keys().map(|(of, _)| of.as_ref()).collect();
        programs.dedup();
        let mut of_issue: HashMap<usize, Change> = HashMap::new();
        let mut of_programs = Vec::new();
        if let Some([old, new]) = &compared {
            for program in programs {
                let own = own.get(&program).map_or(&[][..], Vec::as_slice);
                let Changes {
                    of_issue: more,
                    of_program,
                    sessions,
                    actions,
                } = changes(issues, own, program, [old, new]);
                of_issue.extend(more);
                of_programs.push(ProgramReport {
                    program: program.map(|name| name.to_string()),
                    sessions,
                    actions,
                    change: of_program.map(ChangeReport::of),
                });
            }
        }
        let actions = actions(issues);
        let reports = ranked.iter().enumerate().map(|(at, issue)| {
            let change = of_issue.get(&at).copied();
            report(
                at + 1,
                issue,
                issues,
                &versions,
                &actions,
                change,
                known.of(issue),
            )
        });
        let users: BTreeSet<_> = issues
            .sessions
            .iter()
            .filter_map(|of| of.partition.user.as_deref())
            .collect();
        IssuesReport {
            format: FORMAT,
            sessions: issues.sessions.len(),
            users: users.len(),
            episodes: issues.episodes,
            compared,
            issues: reports.collect(),
            programs: of_programs,
            curves: curves(issues, &versions),
            left_out,
            versions,
        }
    }
}

fn actions(issues: &Issues) -> Actions<'_> {
    let mut sums = Actions::new();
    for ((program, session), count) in &issues.actions {
        let version = issues
            .facts(*session)
            .map(|of| of.partition.version.as_deref());
        let of = (program.as_deref(), version.flatten());
        let sum = sums.entry(of).or_default();
        *sum = sum.saturating_add(*count);
    }
    sums
}

/// The known versions, sorted by the first day of each, then by name.
fn versions(issues: &Issues) -> Vec<String> {
    let mut first: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for session in &issues.sessions {
        let Some(version) = session.partition.version.as_deref() else {
            continue;
        };
        let date = session.partition.date.as_deref();
        let earliest = first.entry(version).or_insert(date);
        *earliest = (*earliest).min(date);
    }
    let mut list: Vec<(Option<&str>, &str)> =
        first.into_iter().map(|(name, date)| (date, name)).collect();
    list.sort_by(|a, b| (a.0, natural(a.1)).cmp(&(b.0, natural(b.1))));
    list.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// A sort key that compares numbers in a name numerically: 1.9 precedes 1.10.
fn natural(name: &str) -> Vec<(u64, &str)> {
    let pieces = name.split(|c: char| !c.is_ascii_alphanumeric());
    pieces
        .map(|piece| (piece.parse().unwrap_or(u64::MAX), piece))
        .collect()
}

fn curves(issues: &Issues, versions: &[String]) -> Vec<CurveReport> {
    let place = |name: &Option<String>| versions.iter().position(|one| Some(one) == name.as_ref());
    let mut list: Vec<_> = issues.steps.iter().collect();
    list.sort_by_key(|(version, _)| place(version));
    list.into_iter()
        .map(|(version, steps)| CurveReport {
            version: version.clone(),
            episodes: steps.values().copied().fold(0, u64::saturating_add),
            points: points(steps.iter().map(|(step, count)| (*step, *count))),
        })
        .collect()
}
