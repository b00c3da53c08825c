//! Changes between two versions, as a document (docs/REFERENCE.md).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::chance::{self, LEVEL, Sample, fewest_runs};
use super::figures::{Figures, Quantity, Subject};
use crate::server_time::TimeSource;

/// The version of the JSON.
const FORMAT: u32 = 1;

/// The changes between two versions of a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The version of this document's layout.
    pub format: u32,
    /// The recordings of the old version, from which its figures come.
    pub old: SideReport,
    /// The recordings of the new version, from which its figures come.
    pub new: SideReport,
    /// The significance level, a probability.
    #[serde(rename = "significance_level")]
    pub level: f64,
    /// The number of recordings of each version that the test of significance requires. With fewer, `significant` is
    /// null.
    #[serde(rename = "min_runs")]
    pub fewest_runs: usize,
    /// The number of significant differences; null if there are too few recordings.
    #[serde(rename = "significant")]
    pub real: Option<usize>,
    /// All compared figures, the one with the largest change first.
    pub rows: Vec<DifferenceRow>,
}

/// The recordings of one version of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SideReport {
    /// The paths of the traces.
    pub traces: Vec<String>,
    /// The recorded command of the first trace.
    pub command: Vec<String>,
    /// The source of server times; null if the recordings differ.
    #[serde(rename = "time_source")]
    pub basis: Option<TimeSource>,
    /// Protocol rewrites used in all recordings (`record --try`).
    #[serde(rename = "experiments")]
    pub fixes: Vec<String>,
    /// The emulated network of the first recording that has one (`record --net`); null without one.
    pub network: Option<String>,
}

/// A figure of both versions, and its change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DifferenceRow {
    /// The kind of the figure.
    pub quantity: Quantity,
    /// The kind of request, event or resource that the figure is about; null for the total.
    pub name: Option<String>,
    /// True if the figure is a count that is equal in each run unless other influences change it. The number of episodes
    /// over a threshold also depends on times.
    pub count: bool,
    /// The figure in the recordings of the old version.
    pub old: ValuesReport,
    /// The figure in the recordings of the new version.
    pub new: ValuesReport,
    /// The mean of the new recordings minus the mean of the old ones.
    pub change: f64,
    /// The change as a percentage of the old mean; null if the old mean is 0.
    pub percent: Option<f64>,
    /// The change as a percentage of this quantity's total, in the version with the larger total.
    pub percent_of_all: f64,
    /// The lower bound of the 95 % confidence interval of `change`; null if a version has only one recording.
    pub low: Option<f64>,
    /// The upper bound of the 95 % confidence interval of `change`.
    pub high: Option<f64>,
    /// True if all recordings of a version have the same value, for both versions; null if a version has only one
    /// recording.
    #[serde(rename = "constant")]
    pub steady: Option<bool>,
    /// The p-value: the probability that equal versions show a change as clear in any figure; null with too few
    /// recordings.
    #[serde(rename = "p_value")]
    pub chance: Option<f64>,
    /// True if `p_value` is below `significance_level`; null with too few recordings.
    #[serde(rename = "significant")]
    pub real: Option<bool>,
}

/// The values of a figure in the recordings of one version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValuesReport {
    /// The number of recordings that have the figure.
    pub runs: usize,
    /// The mean over the recordings.
    pub mean: f64,
    /// The smallest value of a recording.
    pub low: f64,
    /// The largest value of a recording.
    pub high: f64,
}

impl ValuesReport {
    fn of(values: &[f64]) -> ValuesReport {
        ValuesReport {
            runs: values.len(),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

impl SideReport {
    fn of(runs: &[Figures]) -> SideReport {
        let first = runs.first();
        let basis = first.map(|run| run.basis);
        let fixes = first.map(|run| run.fixes.clone()).unwrap_or_default();
        SideReport {
            traces: runs.iter().map(|run| run.path.clone()).collect(),
            command: first.map(|run| run.command.clone()).unwrap_or_default(),
            basis: basis.filter(|basis| runs.iter().all(|run| run.basis == *basis)),
            fixes: fixes
                .into_iter()
                .filter(|fix| runs.iter().all(|run| run.fixes.contains(fix)))
                .collect(),
            network: runs.iter().find_map(|run| run.network.clone()),
        }
    }
}

impl Difference {
    /// Compares the old version's recordings with those of the new version. Each version has at least one recording.
    pub fn new(old: &[Figures], new: &[Figures]) -> Difference {
        let (old_side, new_side) = (SideReport::of(old), SideReport::of(new));
        // Measured and modelled times cannot be compared.
        let timed = old_side.basis.is_some() && old_side.basis == new_side.basis;
        let runs = || old.iter().chain(new);
        let subjects: BTreeSet<&Subject> = runs().flat_map(|run| run.values.keys()).collect();
        let subjects = subjects
            .into_iter()
            .filter(|(quantity, _)| timed || *quantity != Quantity::ServerMs);
        let found: Vec<(&Subject, Vec<f64>, usize)> = subjects
            .filter_map(|subject| {
                let of = |runs: &[Figures]| -> Vec<f64> {
                    runs.iter().filter_map(|run| value(run, subject)).collect()
                };
                let (before, after) = (of(old), of(new));
                let first = before.len();
                let both = first > 0 && !after.is_empty();
                both.then(|| (subject, [before, after].concat(), first))
            })
            .collect();
        // A figure that is missing from a recording is not tested, because its runs cannot be permuted together with
        // those of the other figures.
        let whole = |values: &[f64]| values.len() == old.len() + new.len();
        let samples: Vec<Sample<'_>> = found
            .iter()
            .filter(|(_, values, _)| whole(values))
            .map(|(subject, values, _)| Sample {
                values,
                resolution: subject.0.resolution(),
            })
            .collect();
        let chances = chance::chances(&samples, old.len());
        let mut chances = chances.map(Vec::into_iter);
        let mut rows: Vec<DifferenceRow> = found
            .iter()
            .map(|(subject, values, first)| {
                let chance = match whole(values) {
                    true => chances.as_mut().and_then(Iterator::next),
                    false => None,
                };
                row(subject, values.split_at(*first), chance)
            })
            .collect();
        weigh(&mut rows);
        rows.sort_by(before);
        let real = chances.is_some().then(|| {
            let real = rows.iter().filter(|row| row.real == Some(true));
            real.count()
        });
        Difference {
            format: FORMAT,
            old: old_side,
            new: new_side,
            level: LEVEL,
            fewest_runs: fewest_runs(),
            real,
            rows,
        }
    }
}

/// Returns the figure of a run for `subject`; 0 if the run has none and the quantity is 0 where it is absent, otherwise
/// `None`.
fn value(run: &Figures, subject: &Subject) -> Option<f64> {
    let value = run.values.get(subject).copied();
    value.or_else(|| subject.0.is_zero_where_absent().then_some(0.0))
}

fn row(subject: &Subject, (old, new): (&[f64], &[f64]), chance: Option<f64>) -> DifferenceRow {
    let (quantity, name) = subject;
    let interval = chance::interval(old, new, LEVEL);
    let same = |values: &[f64]| values.iter().all(|value| *value == values[0]);
    let several = old.len() > 1 && new.len() > 1;
    let (old, new, steady) = (
        ValuesReport::of(old),
        ValuesReport::of(new),
        several.then(|| same(old) && same(new)),
    );
    let change = new.mean - old.mean;
    DifferenceRow {
        quantity: *quantity,
        name: name.clone(),
        count: quantity.is_count() && *quantity != Quantity::Episodes,
        percent: (old.mean != 0.0).then(|| 100.0 * change / old.mean),
        percent_of_all: 0.0,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        steady,
        chance,
        real: chance.map(|chance| change != 0.0 && chance <= LEVEL),
        old,
        new,
        change,
    }
}

/// Sets the share of each row's change in the total of its quantity, in percent.
fn weigh(rows: &mut [DifferenceRow]) {
    let mut wholes: BTreeMap<Quantity, f64> = BTreeMap::new();
    for row in rows.iter() {
        let whole = wholes.entry(row.quantity).or_default();
        *whole = whole.max(row.old.mean).max(row.new.mean);
    }
    for row in rows {
        let whole = wholes.get(&row.quantity).copied().unwrap_or_default();
        if whole > 0.0 {
            row.percent_of_all = 100.0 * row.change / whole;
        }
    }
}

/// Orders rows: significant differences first, then the largest share of their quantity.
fn before(a: &DifferenceRow, b: &DifferenceRow) -> Ordering {
    let sure = |row: &DifferenceRow| match (row.change != 0.0, row.real, row.steady) {
        (false, ..) => 4,
        (true, Some(true), _) => 0,
        (true, _, Some(true)) => 1,
        // With one recording of each version, counts precede measured times.
        (true, None, None) if row.count => 2,
        _ => 3,
    };
    let part = |row: &DifferenceRow| row.percent_of_all.abs();
    sure(a)
        .cmp(&sure(b))
        .then(part(b).total_cmp(&part(a)))
        .then_with(|| (a.quantity, &a.name).cmp(&(b.quantity, &b.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(values: &[(Quantity, Option<&str>, f64)]) -> Figures {
        let values = values.iter();
        Figures {
            path: "x.mcap".to_owned(),
            command: vec!["x".to_owned()],
            basis: TimeSource::Attributed,
            fixes: Vec::new(),
            network: None,
            values: values
                .map(|(quantity, name, value)| ((*quantity, name.map(str::to_owned)), *value))
                .collect(),
        }
    }

    fn requests(lines: f64, texts: f64, ms: f64) -> Figures {
        run(&[
            (Quantity::Requests, None, lines + texts),
            (Quantity::Requests, Some("PolyLine"), lines),
            (Quantity::Requests, Some("PolyText8"), texts),
            (Quantity::WallMs, None, ms),
        ])
    }

    #[test]
    fn single_runs_mark_counts_and_skip_significance() {
        let difference =
            Difference::new(&[requests(10.0, 90.0, 5.0)], &[requests(10.0, 30.0, 50.0)]);
        let order: Vec<_> = difference
            .rows
            .iter()
            .map(|row| (row.quantity, row.name.as_deref()))
            .collect();
        let expected = [
            (Quantity::Requests, None),
            (Quantity::Requests, Some("PolyText8")),
            (Quantity::WallMs, None),
            (Quantity::Requests, Some("PolyLine")),
        ];
        assert_eq!(order, expected);
        assert_eq!(difference.real, None);
        let first = &difference.rows[0];
        assert_eq!(
            (first.change, first.percent, first.real),
            (-60.0, Some(-60.0), None)
        );
        assert_eq!((first.percent_of_all, first.steady), (-60.0, None));
        assert!(difference.rows[0].count && !difference.rows[2].count);
        // A busy machine makes episodes long.
        let slow = |number| run(&[(Quantity::Episodes, Some("of 100 ms and more"), number)]);
        let difference = Difference::new(&[slow(1.0)], &[slow(2.0)]);
        assert!(!difference.rows[0].count);
    }

    #[test]
    fn several_runs_identify_significant_changes() {
        let side = |texts: f64| -> Vec<Figures> {
            let runs = [5.0, 9.0, 6.0, 8.0, 7.0];
            runs.iter().map(|ms| requests(10.0, texts, *ms)).collect()
        };
        let difference = Difference::new(&side(90.0), &side(60.0));
        assert_eq!(difference.real, Some(2));
        let real: Vec<_> = difference.rows.iter().map(|row| row.real).collect();
        assert_eq!(real, [Some(true), Some(true), Some(false), Some(false)]);
        assert_eq!(difference.rows[0].steady, Some(true));
        let same = Difference::new(&side(90.0), &side(90.0));
        assert_eq!(same.real, Some(0));
    }

    #[test]
    fn figure_missing_from_a_run_is_compared_but_not_tested() {
        let mut old: Vec<Figures> = (0..4).map(|_| requests(1.0, 1.0, 5.0)).collect();
        old[0].values.remove(&(Quantity::WallMs, None));
        let new: Vec<Figures> = (0..4).map(|_| requests(2.0, 1.0, 50.0)).collect();
        let difference = Difference::new(&old, &new);
        let row = |quantity| difference.rows.iter().find(|row| row.quantity == quantity);
        let wall = row(Quantity::WallMs).unwrap();
        assert_eq!((wall.old.runs, wall.chance, wall.real), (3, None, None));
        assert_eq!(row(Quantity::Requests).unwrap().real, Some(true));
    }
}
