//! Finds new, worse and fixed issues between two versions, and the significance of each change.
//!
//! The compared figure is the time over the threshold per user action in each session, so a longer session does not
//! count as worse. Only sessions that contain the issue's program are used. All issues of a program are tested
//! together, and `analyzer`'s permutation test corrects for the number of issues.

use std::collections::HashMap;
use std::sync::Arc;

use x11prof_analyzer::{LEVEL, Sample, chances};

use crate::issues::{Issue, Issues, SessionNumber};

/// The maximum number of compared issues of a program. The issues with the most time are compared.
const COMPARED: usize = 50;
/// The maximum number of issues of all programs whose changes are tested for significance. The issues with the most
/// time are tested.
const TESTED: usize = 200;
/// Maximum number of tested sessions of a version, spread evenly over all sessions.
const SESSIONS: usize = 100;
/// The resolution of the compared figures: one nanosecond, in milliseconds.
const RESOLUTION: f64 = 1e-6;

/// The difference of an issue, or of all issues of a program, between two versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// The milliseconds over the threshold per user action, as the mean over the sessions of the old version and of the
    /// new version.
    pub(crate) per_action_ms: [f64; 2],
    /// The probability (0 to 1) of such a difference between equal versions; `None` if there are too few sessions, or
    /// if no issue of the program was tested.
    pub(crate) chance: Option<f64>,
    /// For the old version and the new version, true if the issue occurs in the version.
    pub(crate) occurs: [bool; 2],
}

impl Change {
    /// The kind of the change: `new`, `fixed`, `worse` or `better`. `None` if the difference is not significant.
    pub(crate) fn word(&self) -> Option<&'static str> {
        let [old, new] = self.per_action_ms;
        self.chance.filter(|chance| *chance <= LEVEL)?;
        Some(match self.occurs {
            [false, true] => "new",
            [true, false] => "fixed",
            _ if new > old => "worse",
            _ => "better",
        })
    }
}

/// The changes of one program's issues between two versions.
pub(crate) struct Changes {
    /// The changes of tested issues, by index in the ranked list of issues.
    pub(crate) of_issue: HashMap<usize, Change>,
    /// The change of all tested issues of the program together; `None` if one version has no session.
    pub(crate) of_program: Option<Change>,
    /// The number of sessions of the old version and of the new one.
    pub(crate) sessions: [usize; 2],
    /// The number of user actions in the program, in the sessions of the old version and of the new one.
    pub(crate) actions: [u64; 2],
}

/// Compares the issues of `program` (`None` if unknown) in the sessions of two versions, the old one first. `ranked`
/// contains the program's issues with their indices in the ranked list of all issues.
pub(crate) fn changes(
    issues: &Issues,
    ranked: &[(usize, &Issue)],
    program: Option<&Arc<str>>,
    versions: [&str; 2],
) -> Changes {
    let mut sessions: [Vec<(SessionNumber, u64)>; 2] = [Vec::new(), Vec::new()];
    for (session, actions) in issues.of_program(program) {
        let version = issues
            .facts(session)
            .and_then(|facts| facts.partition.version.as_deref());
        let side = versions.iter().position(|of| Some(*of) == version);
        if let Some(side) = side {
            sessions[side].push((session, actions));
        }
    }
    let actions = [0, 1].map(|side: usize| {
        let actions = sessions[side].iter().map(|(_, actions)| *actions);
        actions.fold(0, u64::saturating_add)
    });
    let numbers = [0, 1].map(|side: usize| sessions[side].len());
    let tested = sessions.map(spread);
    // The index of each tested session in the lists of figures, which begin with the old version's sessions.
    let all = tested.iter().flatten().enumerate();
    let places: HashMap<SessionNumber, usize> =
        all.map(|(at, (session, _))| (*session, at)).collect();
    let all_actions: Vec<u64> = tested
        .iter()
        .flatten()
        .map(|(_, actions)| *actions)
        .collect();
    let own = &ranked[..ranked.len().min(COMPARED)];
    let mut figures: Vec<Vec<f64>> = Vec::new();
    let mut total = vec![0.0; places.len()];
    for (_, issue) in own {
        let mut figure = vec![0.0; places.len()];
        for one in &issue.occurrences {
            if let Some(at) = places.get(&one.session) {
                let part = one.over as f64 / 1e6 / all_actions[*at].max(1) as f64;
                figure[*at] += part;
                total[*at] += part;
            }
        }
        figures.push(figure);
    }
    figures.push(total);
    let first = tested[0].len();
    let both = first > 0 && !tested[1].is_empty();
    let (issues_tested, all) = (tested_of(own), figures.len() - 1);
    let samples: Vec<Sample<'_>> = figures[..issues_tested]
        .iter()
        .chain(figures.last())
        .map(|values| Sample {
            values,
            resolution: RESOLUTION,
        })
        .collect();
    let chances = match both && (issues_tested > 0 || own.is_empty()) {
        true => chances(&samples, first).unwrap_or_default(),
        false => Vec::new(),
    };
    let change = |at: usize, chance: Option<&f64>| {
        let figure = &figures[at];
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
        let occurs = |of: &[f64]| of.iter().any(|value| *value > 0.0);
        let (old, new) = figure.split_at(first);
        Change {
            per_action_ms: [mean(old), mean(new)],
            chance: chance.copied(),
            occurs: [occurs(old), occurs(new)],
        }
    };
    Changes {
        of_issue: own[..issues_tested]
            .iter()
            .enumerate()
            .filter(|_| both)
            .map(|(at, (place, _))| (*place, change(at, chances.get(at))))
            .collect(),
        of_program: both.then(|| change(all, chances.last())),
        sessions: numbers,
        actions,
    }
}

/// The number of the program's issues whose changes are tested for significance.
fn tested_of(own: &[(usize, &Issue)]) -> usize {
    own.partition_point(|(at, _)| *at < TESTED)
}

/// Selects at most `SESSIONS` sessions to test, spread evenly over the list.
fn spread(of: Vec<(SessionNumber, u64)>) -> Vec<(SessionNumber, u64)> {
    let number = of.len();
    match number <= SESSIONS {
        true => of,
        false => (0..SESSIONS)
            .filter_map(|at| of.get(at * number / SESSIONS).copied())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Changes, changes, tested_of};
    use crate::episode_row::EpisodeRow;
    use crate::hive::Partition;
    use crate::issues::{Issues, Selection};

    const MS: u64 = 1_000_000;

    /// Sessions of two versions with ten actions each; the time over the threshold by blame, version and session.
    fn compared(
        each: usize,
        over_ms: impl Fn(&str, usize, usize) -> u64,
    ) -> (Vec<String>, Changes) {
        let mut issues = Issues::new(Selection::default());
        for (side, version) in ["1", "2"].into_iter().enumerate() {
            for number in 0..each {
                let partition = Partition {
                    version: Some(version.to_owned()),
                    ..Partition::default()
                };
                let session = issues.session(&format!("{version} {number}"), "", &partition);
                issues.add_latencies(session, (None, "Clicks", "input", 0, 10));
                for blame in ["new", "fixed", "worse", "noise"] {
                    let over = over_ms(blame, side, number);
                    if over > 0 {
                        let row = EpisodeRow {
                            blame: blame.to_owned(),
                            latency: 100 * MS + over * MS,
                            threshold: 100 * MS,
                            ..EpisodeRow::default()
                        };
                        issues.add(session, &row);
                    }
                }
            }
        }
        let ranked = issues.ranked();
        let names = ranked.iter().map(|issue| issue.blame.to_string());
        let own: Vec<_> = ranked.iter().copied().enumerate().collect();
        (names.collect(), changes(&issues, &own, None, ["1", "2"]))
    }

    fn over_ms(blame: &str, side: usize, number: usize) -> u64 {
        let noise = (number * 37 + side * 11) as u64 % 23;
        match (blame, side) {
            ("new", 1) | ("fixed", 0) => 300 + noise,
            ("worse", 0) => 200 + noise,
            ("worse", 1) => 600 + noise,
            ("noise", _) => 100 + 5 * noise,
            _ => 0,
        }
    }

    #[test]
    fn significant_changes_are_classified() {
        let (names, changes) = compared(8, over_ms);
        for (at, name) in names.iter().enumerate() {
            let change = changes.of_issue[&at];
            let expected = Some(name.as_str()).filter(|name| *name != "noise");
            assert_eq!(change.word(), expected, "{name}: {change:?}");
        }
        let all = changes.of_program.unwrap();
        assert_eq!(all.word(), Some("worse"));
        assert_eq!((changes.sessions, changes.actions), ([8, 8], [80, 80]));
    }

    #[test]
    fn three_sessions_per_version_are_too_few_for_a_verdict() {
        let (_, changes) = compared(3, over_ms);
        assert!(
            changes
                .of_issue
                .values()
                .all(|change| change.chance.is_none())
        );
        assert!(
            changes
                .of_issue
                .values()
                .all(|change| change.word().is_none())
        );
    }

    /// The work is limited even if there are many issues and programs.
    #[test]
    fn only_the_issues_with_the_most_time_are_tested() {
        let issue = super::Issue::default();
        let own =
            |ranks: &[usize]| tested_of(&ranks.iter().map(|at| (*at, &issue)).collect::<Vec<_>>());
        assert_eq!(own(&[0, 1, 199, 200, 5000]), 3);
        assert_eq!(own(&[200]), 0);
    }
}
