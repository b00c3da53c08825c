//! Readings at one pace. Where others use the processor's core, a batch takes up to twice as long. A
//! piece of work that is always the same, timed during each batch, shows by how much. Each reading was
//! brought to one pace by the usual power of that; some loads depend on the pace by more and some by
//! less, which their own readings show.

use crate::sampling::reading::Reading;
use crate::sampling::statistics::estimate;

/// The weight, beside the readings, of the assumption that a load depends on the pace as usual: this
/// sum of squared deviations of the logarithm of the pace, that of two readings three tenths apart.
const WEIGHT: f64 = 0.045;
/// No load depends on the pace by so much more or less than usual.
const STRONGEST: f64 = 1.0;
/// A reading that is this many times as far off as usual says nothing about the pace.
const ASTRAY: f64 = 3.0;

/// The factor of each of one load's readings that brings it to the pace `at_us`: 1 for a reading without a pace.
pub(crate) fn factors(readings: &[Reading], at_us: f64) -> Vec<f64> {
    let points: Vec<Option<Point>> = readings.iter().map(Point::of).collect();
    let power = power(&points);
    let factor = |point: &Point| (power * (at_us.ln() - point.pace)).exp();
    let factors = points
        .iter()
        .map(|point| point.as_ref().map_or(1.0, factor));
    factors.collect()
}

/// A reading's pace and time of a request, by their logarithms.
#[derive(Debug, Clone, Copy)]
struct Point {
    pace: f64,
    time: f64,
    apart: Option<bool>,
}

impl Point {
    fn of(reading: &Reading) -> Option<Point> {
        let apart = reading.apart;
        let time = match apart {
            Some(true) => reading.wall,
            _ => reading.cpu.unwrap_or(reading.wall),
        };
        let each = time / (reading.requests + reading.syncs).max(1) as f64;
        let pace = reading.pace?;
        (each > 0.0 && pace > 0.0).then(|| Point {
            pace: pace.ln(),
            time: each.ln(),
            apart,
        })
    }
}

/// The power of the pace that the times still depend on, for each clock: by least squares, without strays.
fn power(points: &[Option<Point>]) -> f64 {
    let mut apart: Vec<Point> = points.iter().flatten().copied().collect();
    apart.sort_by_key(|point| point.apart);
    let (mut products, mut squares) = (0.0, WEIGHT);
    for alike in apart.chunk_by(|one, other| one.apart == other.apart) {
        let kept = without_strays(alike);
        let count = kept.len() as f64;
        let mean = |of: fn(&Point) -> f64| kept.iter().map(of).sum::<f64>() / count;
        let (pace, time) = (mean(|point| point.pace), mean(|point| point.time));
        for point in &kept {
            products += (point.pace - pace) * (point.time - time);
            squares += (point.pace - pace).powi(2);
        }
    }
    (products / squares).clamp(-STRONGEST, STRONGEST)
}

/// The points whose time is close to the others'.
fn without_strays(points: &[Point]) -> Vec<Point> {
    let all: Vec<f64> = points.iter().map(|point| point.time).collect();
    let Some(centre) = estimate(&all).map(|estimate| estimate.centre) else {
        return Vec::new();
    };
    let off = |point: &Point| (point.time - centre).abs();
    let usual = estimate(&points.iter().map(off).collect::<Vec<_>>());
    let most = usual.map_or(f64::INFINITY, |estimate| estimate.centre * ASTRAY);
    let kept = points.iter().filter(|point| off(point) <= most);
    kept.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::factors;
    use crate::sampling::reading::Reading;

    fn reading(cpu: f64, pace: f64, apart: bool) -> Reading {
        Reading {
            cpu: Some(cpu),
            wall: cpu,
            requests: 10,
            apart: Some(apart),
            pace: Some(pace),
            ..Reading::default()
        }
    }

    /// Eight readings at two paces, of a load that takes `slower` times as long at the second.
    fn load(slower: f64) -> Vec<Reading> {
        let both = [
            reading(100.0, 10.0, false),
            reading(100.0 * slower, 20.0, false),
        ];
        both.into_iter().cycle().take(8).collect()
    }

    #[test]
    fn a_load_that_depends_more_on_the_pace_is_brought_back() {
        let all = load(1.2);
        let factors = factors(&all, 10.0);
        let cpu = |at: usize| all[at].cpu.unwrap() * factors[at];
        assert_eq!(cpu(0), 100.0);
        // The pace counts in part: the usual power weighs as well.
        assert!((100.0..102.0).contains(&cpu(1)), "{}", cpu(1));
    }

    #[test]
    fn strays_do_not_change_the_pace() {
        let mut all = load(1.0);
        all.push(reading(1e4, 20.0, false));
        assert!(
            factors(&all, 10.0)
                .iter()
                .all(|factor| (factor - 1.0).abs() < 1e-9)
        );
    }

    #[test]
    fn each_clock_goes_by_itself() {
        let mut all = load(1.0);
        // The other clock makes it slower, not its pace.
        all.extend([reading(900.0, 20.0, true); 8]);
        assert!(
            factors(&all, 10.0)
                .iter()
                .all(|factor| (factor - 1.0).abs() < 1e-9)
        );
    }

    #[test]
    fn readings_without_a_pace_stay() {
        let unseen = Reading {
            pace: None,
            ..reading(100.0, 10.0, false)
        };
        assert_eq!(factors(&[unseen; 6], 10.0), [1.0; 6]);
        assert_eq!(factors(&[], 10.0), []);
    }
}
