//! The size of an item that takes as long as some other load does.

use x11prof_cost_model::{Clock, Point};

use crate::fit::samples::Sample;
use crate::sampling::rounding::rounded;
use crate::sampling::statistics::Estimate;

/// The size among `points` that takes as long as `sample`, and the figure derived from it, with half the width of its
/// interval, relative to it.
pub(crate) fn by_size(
    sample: &Sample,
    points: &[Point],
    follows: impl Fn(f64) -> Option<f64>,
) -> Option<(f64, Option<f64>)> {
    let (clock, time) = match (sample.cpu, sample.wall) {
        (Some(cpu), _) => (Clock::Cpu, cpu),
        (None, wall) => (Clock::Wall, wall?),
    };
    let of = |point: &Point| Some((point.size, point.time(clock)?.0));
    let points: Vec<(f64, f64)> = points.iter().filter_map(of).collect();
    let at = |time: f64| follows(size_of(time, &points)?);
    let Estimate { centre, half_width } = time;
    let found = at(centre)?;
    let spread = half_width.and_then(|half| {
        let (low, high) = (at(centre - half)?, at(centre + half)?);
        (found > 0.0).then(|| rounded((high - low) / 2.0 / found, 2))
    });
    Some((found, spread))
}

/// The size at which the straight lines through `points` reach `time`; below the smallest the
/// first line goes on, and above the largest the last, as prices do.
fn size_of(time: f64, points: &[(f64, f64)]) -> Option<f64> {
    let mut lines = points.windows(2);
    let rising = |pair: &&[(f64, f64)]| matches!(**pair, [from, to] if to.1 > from.1);
    let line = lines
        .clone()
        .find(|pair| rising(pair) && pair.iter().any(|end| time <= end.1))
        .or_else(|| lines.rfind(rising))?;
    match *line {
        [(size, from), (next, to)] => Some(size + (next - size) * (time - from) / (to - from)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn a_time_leads_back_to_a_size() {
        let points = [(1.0, 2.0), (8.0, 9.0), (80.0, 45.0)];
        assert_eq!(size_of(27.0, &points), Some(44.0));
        assert_eq!(size_of(2.0, &points), Some(1.0));
        assert_eq!(size_of(1.5, &points), Some(0.5));
        assert_eq!(size_of(55.0, &points), Some(100.0));
        assert_eq!(size_of(1.0, &[(20.0, 3.0)]), None);
    }
}
