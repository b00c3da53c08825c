//! What a window's surroundings add to what its change costs: from loads that differ in how many
//! siblings it has, in how many pieces they leave their parent, how many windows it covers and how
//! large it is.

use x11prof_cost_model::{Measured, WindowSurroundingCosts};
use x11prof_session::{Effect, WindowSurroundings};

use crate::fit::samples::Sample;
use crate::sampling::rounding::measured;
use crate::sampling::statistics::Estimate;

/// Siblings, rectangles that are left of their parent, windows covered or uncovered, and
/// thousands of pixels.
type Amounts = [f64; PARTS];

const PARTS: usize = 4;

/// Rounds of fitting one part after the other: far more than they take to settle, though siblings
/// and rectangles mostly grow together.
const ROUNDS: usize = 4000;

/// Two loads differ in an amount where it is by more than this: of windows, or of 1000 pixels.
const APART: f64 = 1.0;

/// The least part of a load's time that counts as more than nothing.
const LEAST: f64 = 0.01;

/// What each of the surroundings adds, by all samples of one entry, and the samples as they would
/// be without. `like` are the samples of an entry to which they add the same.
pub(crate) fn apart(
    samples: &[&Sample],
    like: Option<&[&Sample]>,
) -> (Option<WindowSurroundingCosts>, Vec<Sample>) {
    let mut alone: Vec<Sample> = samples.iter().map(|sample| (*sample).clone()).collect();
    if samples.iter().all(|sample| amounts(sample).is_none()) {
        return (None, alone);
    }
    let telling = like.unwrap_or(samples);
    let cpu = each(telling, |sample| sample.cpu);
    let wall = each(telling, |sample| sample.wall);
    for sample in &mut alone {
        let Some(amounts) = amounts(sample) else {
            continue;
        };
        for (time, each) in [(&mut sample.cpu, &cpu), (&mut sample.wall, &wall)] {
            if let Some(time) = time {
                let added = amounts.iter().zip(each);
                let added: f64 = added
                    .map(|(amount, each)| amount * each.map_or(0.0, |each| each.centre))
                    .sum();
                time.centre = (time.centre - added).max(0.0);
            }
        }
    }
    let [sibling, rectangle, overlapped, kilopixel]: [Option<Measured>; PARTS] =
        std::array::from_fn(|part| measured(cpu[part], wall[part]));
    let costs = WindowSurroundingCosts {
        sibling,
        rectangle,
        overlapped,
        kilopixel,
    };
    let any = costs != WindowSurroundingCosts::default();
    (any.then_some(costs), alone)
}

/// Of a request that did its work on a window that is seen.
fn amounts(sample: &Sample) -> Option<Amounts> {
    let WindowSurroundings {
        siblings,
        rectangles,
        overlapped,
        pixels,
    } = sample.operation.surroundings?;
    let works = sample.operation.effect != Effect::Nothing;
    works.then_some([siblings, rectangles, overlapped, pixels / 1000.0])
}

/// How two loads of one size differ: in amounts and in time, of what interval, relative to which
/// time.
struct Difference {
    amounts: Amounts,
    time: f64,
    half_width: Option<f64>,
    of: f64,
}

/// What one of each adds, none less than nothing, by least squares over the differences to the
/// first load of the same size; `None` for what no two loads differ in.
fn each(
    samples: &[&Sample],
    clock: impl Fn(&Sample) -> Option<Estimate>,
) -> [Option<Estimate>; PARTS] {
    let known: Vec<(&Sample, Amounts, Estimate)> = samples
        .iter()
        .filter_map(|sample| Some((*sample, amounts(sample)?, clock(sample)?)))
        .collect();
    let mut differences = Vec::new();
    for (at, (sample, here, time)) in known.iter().enumerate() {
        let alike = |other: &&(&Sample, Amounts, Estimate)| {
            other.0.operation.items == sample.operation.items
        };
        let Some((_, there, first)) = known[..at].iter().find(alike) else {
            continue;
        };
        let halves = time.half_width.zip(first.half_width);
        differences.push(Difference {
            amounts: std::array::from_fn(|part| here[part] - there[part]),
            time: time.centre - first.centre,
            half_width: halves.map(|(one, other)| one.hypot(other)),
            of: time.centre.max(first.centre),
        });
    }
    let told = |part: usize| {
        let mut all = differences.iter();
        all.any(|difference| difference.amounts[part].abs() > APART)
    };
    let told: [bool; PARTS] = std::array::from_fn(told);
    let mut each = [0.0; PARTS];
    for _ in 0..ROUNDS {
        for part in (0..PARTS).filter(|part| told[*part]) {
            each[part] = best(&differences, each, part);
        }
    }
    std::array::from_fn(|part| {
        let most = differences
            .iter()
            .max_by(|a, b| a.amounts[part].abs().total_cmp(&b.amounts[part].abs()))?;
        let amount = most.amounts[part].abs();
        let tells = each[part] * amount > LEAST * most.of;
        told[part].then(|| Estimate {
            centre: if tells { each[part] } else { 0.0 },
            half_width: most.half_width.map(|half| half / amount),
        })
    })
}

/// The best figure for one part, the others as they are; each difference counts by its part of
/// the time that it is a difference of.
fn best(differences: &[Difference], each: [f64; PARTS], part: usize) -> f64 {
    let (mut product, mut square) = (0.0, 0.0);
    for difference in differences.iter().filter(|difference| difference.of > 0.0) {
        let others = (0..PARTS).filter(|other| *other != part);
        let others: f64 = others
            .map(|other| each[other] * difference.amounts[other])
            .sum();
        let amount = difference.amounts[part] / difference.of;
        product += amount * (difference.time - others) / difference.of;
        square += amount * amount;
    }
    if square > 0.0 {
        (product / square).max(0.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use x11prof_session::{Operation, WindowSurroundings};

    use super::apart;
    use crate::fit::samples::Sample;
    use crate::sampling::statistics::Estimate;

    fn sample(size: f64, [siblings, rectangles, overlapped, pixels]: [f64; 4]) -> Sample {
        let mut operation = Operation::new("MapWindow".into());
        operation.items = vec![size];
        operation.surroundings = Some(WindowSurroundings {
            siblings,
            rectangles,
            overlapped,
            pixels,
        });
        let centre =
            size + 0.02 * siblings + 0.015 * rectangles + 0.3 * overlapped + 0.04 * pixels / 1000.0;
        Sample {
            operation,
            cpu: Some(Estimate {
                centre,
                half_width: Some(0.01),
            }),
            wall: None,
            busy: None,
            answer: 0.0,
        }
    }

    #[test]
    fn each_part_is_told_from_the_others() {
        let samples = [
            sample(1.0, [15.0, 25.0, 0.0, 64.0]),
            sample(5.0, [3.0, 7.0, 0.0, 400.0]),
            sample(1.0, [63.0, 81.0, 0.0, 64.0]),
            sample(1.0, [63.0, 193.0, 0.0, 4.0]),
            sample(1.0, [64.0, 81.0, 64.0, 6400.0]),
            sample(1.0, [3.0, 9.0, 0.0, 10_000.0]),
        ];
        let all: Vec<&Sample> = samples.iter().collect();
        let (costs, alone) = apart(&all, None);
        let costs = costs.unwrap();
        let of = |part: Option<x11prof_cost_model::Measured>| part.unwrap().cpu_us.unwrap().0;
        assert!((of(costs.sibling) - 0.02).abs() < 1e-3);
        assert!((of(costs.rectangle) - 0.015).abs() < 1e-3);
        assert!((of(costs.overlapped) - 0.3).abs() < 1e-3);
        assert!((of(costs.kilopixel) - 0.04).abs() < 1e-3);
        for (sample, alone) in samples.iter().zip(alone) {
            let size = sample.operation.items[0];
            assert!((alone.cpu.unwrap().centre - size).abs() < 0.02);
        }
    }

    #[test]
    fn what_loads_do_not_differ_in_is_not_known() {
        let samples = [
            sample(1.0, [15.0, 25.0, 0.0, 64.0]),
            sample(5.0, [3.0, 7.0, 0.0, 400.0]),
        ];
        let all: Vec<&Sample> = samples.iter().collect();
        let (costs, alone) = apart(&all, None);
        assert!(costs.is_none());
        assert_eq!(alone, samples);
    }
}
