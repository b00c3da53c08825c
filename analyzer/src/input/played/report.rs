//! The latencies of a driven session's actions, as a document (docs/REFERENCE.md).

use serde::Serialize;

use super::PlayedAction;
use crate::episodes::PartsReport;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// The number of cells of a histogram for each doubling of the latency.
const CELLS: i32 = 2;

/// The distribution of latencies or of a component, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadReport {
    /// The number of values in the distribution.
    pub count: usize,
    /// The median of the values in milliseconds.
    #[serde(rename = "p50_ms")]
    pub median_ms: f64,
    /// The 95th percentile of the values in milliseconds.
    pub p95_ms: f64,
    /// The 99th percentile of the values in milliseconds.
    pub p99_ms: f64,
    /// The greatest value in milliseconds.
    #[serde(rename = "max_ms")]
    pub worst_ms: f64,
}

/// The number of latencies in one range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistogramCell {
    /// The smallest latency of the range in milliseconds.
    pub from_ms: f64,
    /// The upper bound of the range, which is not part of it, in milliseconds.
    pub to_ms: f64,
    /// The number of latencies in the range.
    pub count: usize,
}

/// The latencies of one session, driven once or several times.
#[derive(Debug, Clone, Serialize)]
pub struct PlaysReport {
    /// The version of this document's layout.
    pub format: u32,
    /// The actions of the session, each over all runs.
    pub actions: Vec<ActionReport>,
    /// The runs of the session.
    pub plays: Vec<RunReport>,
}

/// An action of the session over all runs.
#[derive(Debug, Clone, Serialize)]
pub struct ActionReport {
    /// The number of the action in the session, from 1.
    pub number: usize,
    /// The line of the session's file that describes the action.
    pub action: String,
    /// The latencies of all runs except the first, which has cold caches; with a single run, its latency. Null if no
    /// run has a latency.
    pub latency: Option<SpreadReport>,
    /// The latency of the action in milliseconds in each run; null if the program did not respond.
    pub latencies_ms: Vec<Option<f64>>,
}

/// A run of the session with all its actions.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// The name of the run's trace.
    pub trace: String,
    /// The number of actions without a latency: the program did not receive them, or did not respond.
    #[serde(rename = "without_response")]
    pub unanswered: usize,
    /// The latencies of the run's actions; null if no action has a latency.
    pub latency: Option<SpreadReport>,
    /// The time from an action to the last change of the screen before the next action, for actions after whose
    /// response and a pause the program drew. Of an animation, its first frame. Null if there are no such actions.
    pub drew_later: Option<SpreadReport>,
    /// The components of the latencies by owner, as in [`PartsReport`], without components of zero time.
    pub parts: Vec<(&'static str, SpreadReport)>,
    /// The number of latencies by size, in two ranges for each doubling.
    pub histogram: Vec<HistogramCell>,
}

impl SpreadReport {
    /// The spread of the values; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<SpreadReport> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let nearest = |percent: usize| {
            // The nearest rank.
            let rank = (values.len() * percent).div_ceil(100);
            values[rank.saturating_sub(1).min(last)]
        };
        Some(SpreadReport {
            count: values.len(),
            median_ms: nearest(50),
            p95_ms: nearest(95),
            p99_ms: nearest(99),
            worst_ms: values[last],
        })
    }
}

impl PlaysReport {
    /// Creates the report on the runs of one session, each with the name of its trace.
    pub fn new(plays: Vec<(String, Vec<PlayedAction>)>) -> PlaysReport {
        let longest = plays
            .iter()
            .map(|(_, play)| play)
            .max_by_key(|play| play.len());
        let actions = longest.into_iter().flatten().map(|of| {
            let in_play = |(_, play): &(String, Vec<PlayedAction>)| {
                let mut actions = play.iter();
                let same =
                    actions.find(|one| one.number == of.number && one.action == of.action)?;
                same.latency.as_ref().map(|(latency, _)| *latency)
            };
            let latencies_ms: Vec<Option<f64>> = plays.iter().map(in_play).collect();
            let warm = if plays.len() > 1 { 1 } else { 0 };
            ActionReport {
                number: of.number,
                action: of.action.clone(),
                latency: SpreadReport::of(latencies_ms[warm..].iter().flatten().copied().collect()),
                latencies_ms,
            }
        });
        PlaysReport {
            format: FORMAT,
            actions: actions.collect(),
            plays: plays
                .iter()
                .map(|(trace, play)| RunReport::new(trace, play))
                .collect(),
        }
    }
}

impl RunReport {
    fn new(trace: &str, actions: &[PlayedAction]) -> RunReport {
        let answered: Vec<&(f64, PartsReport)> = actions
            .iter()
            .filter_map(|one| one.latency.as_ref())
            .collect();
        let latencies: Vec<f64> = answered.iter().map(|(latency, _)| *latency).collect();
        let part = |name, of: fn(&PartsReport) -> f64| {
            let spread = SpreadReport::of(answered.iter().map(|(_, parts)| of(parts)).collect())?;
            (spread.worst_ms > 0.0).then_some((name, spread))
        };
        let parts = [
            part("waiting", |of| of.waiting_ms),
            part("client", |of| of.client_ms),
            part("off_cpu", |of| of.off_cpu_ms),
            part("server", |of| of.server_ms),
            part("network", |of| of.network_ms),
            part("other_clients", |of| of.other_clients_ms),
        ];
        RunReport {
            trace: trace.to_owned(),
            unanswered: actions.len() - answered.len(),
            histogram: histogram(&latencies),
            latency: SpreadReport::of(latencies),
            drew_later: SpreadReport::of(
                actions.iter().filter_map(|one| one.drew_later_ms).collect(),
            ),
            parts: parts.into_iter().flatten().collect(),
        }
    }
}

/// The latencies in cells, in milliseconds; each bound is a power of the square root of two.
fn histogram(latencies: &[f64]) -> Vec<HistogramCell> {
    let bound = |cell: i32| (f64::from(cell) / f64::from(CELLS)).exp2();
    // Values below about a microsecond share a cell.
    let cell = |latency: f64| (f64::from(CELLS) * latency.max(1e-3).log2()).floor() as i32;
    let cells: Vec<i32> = latencies.iter().map(|latency| cell(*latency)).collect();
    let (Some(least), Some(most)) = (cells.iter().min(), cells.iter().max()) else {
        return Vec::new();
    };
    (*least..=*most)
        .map(|at| HistogramCell {
            from_ms: bound(at),
            to_ms: bound(at + 1),
            count: cells.iter().filter(|cell| **cell == at).count(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{SpreadReport, histogram};

    #[test]
    fn percentiles_are_measured_values() {
        let spread = SpreadReport::of((1..=200).map(f64::from).collect()).unwrap();
        assert_eq!(
            (
                spread.median_ms,
                spread.p95_ms,
                spread.p99_ms,
                spread.worst_ms
            ),
            (100.0, 190.0, 198.0, 200.0)
        );
        let one = SpreadReport::of(vec![3.0]).unwrap();
        assert_eq!((one.median_ms, one.p99_ms), (3.0, 3.0));
        assert_eq!(SpreadReport::of(Vec::new()), None);
    }

    #[test]
    fn histogram_counts_each_latency_once() {
        let cells = histogram(&[1.0, 1.3, 1.5, 4.0]);
        let counts: Vec<_> = cells.iter().map(|cell| cell.count).collect();
        assert_eq!(counts, [2, 1, 0, 0, 1]);
        assert_eq!((cells[0].from_ms, cells[4].from_ms), (1.0, 4.0));
        assert!(histogram(&[]).is_empty());
    }
}
