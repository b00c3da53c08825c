//! What a character of another kind of text counts as, beside one of the points' text: one without
//! ink, and one that is harder or easier to foresee.

use x11prof_cost_model::{Blank, Clock, Lettered, Point};
use x11prof_session::Lettering;

use crate::fit::Sample;
use crate::statistics::Estimate;
use crate::transport::rounded;

/// The share of a character without ink; `None` where the points do not bound it.
pub(crate) fn blank(sample: &Sample, points: &[Point]) -> Option<Blank> {
    let (share, spread) = share(sample, points)?;
    Some(Blank {
        share: rounded(share.clamp(0.0, 1.0), 4),
        spread,
    })
}

/// Of two texts' variety and of what is foreseen of them, what tells them apart at least.
const APART: f64 = 0.2;

/// The share of a letter in each of these texts; of those that are alike but for their places, the
/// mean.
pub(crate) fn lettering(samples: &[&Sample], points: &[Point]) -> Vec<Lettered> {
    let mut texts: Vec<(Lettered, f64)> = Vec::new();
    for sample in samples {
        let Some((lettering, (share, spread))) =
            sample.operation.lettering.zip(share(sample, points))
        else {
            continue;
        };
        let Lettering { variety, foreseen } = lettering;
        let alike = texts
            .iter_mut()
            .find(|(text, _)| (text.variety - variety).hypot(text.foreseen - foreseen) < APART);
        match alike {
            Some((text, count)) => {
                *count += 1.0;
                text.share += (share - text.share) / *count;
                text.spread = text.spread.zip(spread).map(|(one, other)| one.max(other));
            }
            None => texts.push((
                Lettered {
                    variety,
                    foreseen,
                    share,
                    spread,
                },
                1.0,
            )),
        }
    }
    let written = |(text, _): (Lettered, f64)| Lettered {
        variety: rounded(text.variety, 4),
        foreseen: rounded(text.foreseen, 4),
        share: rounded(text.share, 4),
        ..text
    };
    texts.into_iter().map(written).collect()
}

/// By the time that a string takes, the length that a string of the points' text has which takes
/// as long, over its own; with half the width of its interval, relative to it.
fn share(sample: &Sample, points: &[Point]) -> Option<(f64, Option<f64>)> {
    let length = sample.operation.op_size;
    by_size(sample, points, |size| Some((size / length).max(0.0)))
}

/// What follows from the size that takes as long as `sample` does, among `points`; with half the
/// width of its interval, relative to it.
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
        .find(|pair| rising(pair) && pair.iter().any(|it| time <= it.1))
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
