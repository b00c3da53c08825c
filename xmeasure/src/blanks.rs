//! What a character without ink counts as, beside one with ink.

use x11prof_cost_model::{Blank, Clock, Point};

use crate::fit::Sample;
use crate::statistics::Estimate;
use crate::transport::rounded;

/// The share of a character without ink: by the time that a string of such takes, the length that
/// a string with ink has which takes as long, over its own. `None` where the points, measured with
/// ink, do not bound it.
pub(crate) fn blank(sample: &Sample, points: &[Point]) -> Option<Blank> {
    let (clock, time) = match (sample.cpu, sample.wall) {
        (Some(cpu), _) => (Clock::Cpu, cpu),
        (None, wall) => (Clock::Wall, wall?),
    };
    let of = |point: &Point| Some((point.size, point.time(clock)?.0));
    let points: Vec<(f64, f64)> = points.iter().filter_map(of).collect();
    let length = sample.operation.op_size;
    let share = |time: f64| Some((size_of(time, &points)? / length).clamp(0.0, 1.0));
    let Estimate { median, half_width } = time;
    let found = share(median)?;
    let spread = half_width.and_then(|half| {
        let (low, high) = (share(median - half)?, share(median + half)?);
        (found > 0.0).then(|| (high - low) / 2.0 / found)
    });
    Some(Blank {
        share: rounded(found, 4),
        spread: spread.map(|spread| rounded(spread, 2)),
    })
}

/// The size at which the straight lines through `points` reach `time`; below the smallest the
/// first line goes on, as prices do.
pub(crate) fn size_of(time: f64, points: &[(f64, f64)]) -> Option<f64> {
    let line = points.windows(2).find_map(|pair| match *pair {
        [from, to] if time <= to.1 && to.1 > from.1 => Some((from, to)),
        _ => None,
    });
    match (line, points.last()) {
        (Some(((size, from), (next, to))), _) => {
            Some(size + (next - size) * (time - from) / (to - from))
        }
        // It takes longer than the longest string with ink.
        (None, Some((longest, most))) if points.len() > 1 && time > *most => Some(*longest),
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
        assert_eq!(size_of(50.0, &points), Some(80.0));
        assert_eq!(size_of(1.0, &[(20.0, 3.0)]), None);
    }
}
