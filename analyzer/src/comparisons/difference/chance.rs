//! Significance of the differences between two groups of runs.
//!
//! Each figure has Welch's t (Welch 1947: groups of unequal spread). All figures have one permutation test of the
//! largest t (Westfall & Young 1993, single-step maxT; Ge, Dudoit & Speed 2003, algorithm 4.1). For equal versions,
//! every split of the runs into two groups is as likely as the actual one. So the p-value of a figure is the fraction
//! of splits in which *any* figure has a t at least as large. The test corrects for the number of figures, also if they
//! depend on each other; Bonferroni's or Holm's correction would need many more runs. statrs has neither test; its
//! Mann-Whitney U alone cannot detect a difference with four runs each and a hundred figures.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The significance level: a change is significant if its p-value is below this probability.
pub const LEVEL: f64 = 0.05;
/// Maximum number of splits that are tested; beyond it, a random selection is tested.
const DIVISIONS: usize = 5000;
/// Number of splits that are tested even if they have more than [`VALUES`] values. With 400 splits, 20 correspond to
/// the significance level.
const FEWEST_DIVISIONS: usize = 400;
/// Maximum number of values in all tested splits together, so that the test takes a few seconds at most. Beyond it,
/// fewer splits are tested.
const VALUES: usize = 200_000_000;

/// A figure in all runs: the values of the first group's runs, then of the second group's.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The values of the figure, one for each run.
    pub values: &'a [f64],
    /// The resolution of the figure. The spread of a figure that is equal in all runs is the rounding error: a twelfth
    /// of the squared resolution (Sheppard 1898).
    pub resolution: f64,
}

/// Returns, for each sample, the fraction of splits in which any sample has a t at least as large as this sample's.
/// `first` is the size of the first group. `None` if no split could have a probability below [`LEVEL`].
pub fn chances(samples: &[Sample<'_>], first: usize) -> Option<Vec<f64>> {
    let runs = samples.first()?.values.len();
    if fewest(first, runs - first) > LEVEL {
        return None;
    }
    let made: Vec<bool> = (0..runs).map(|run| run < first).collect();
    let seen: Vec<f64> = samples.iter().map(|of| of.t(&made)).collect();
    if seen.iter().all(|t| *t == 0.0) {
        return Some(vec![1.0; samples.len()]);
    }
    let mut as_large = vec![0usize; samples.len()];
    let mut tried = 0usize;
    let values = (samples.len() * runs).max(1);
    let most = (VALUES / values).clamp(FEWEST_DIVISIONS, DIVISIONS);
    divisions(runs, first, most, |division| {
        tried += 1;
        let largest = samples.iter().map(|of| of.t(division)).fold(0.0, f64::max);
        for (count, t) in as_large.iter_mut().zip(&seen) {
            // Sums in another order may differ in their last digits.
            *count += usize::from(largest >= t * (1.0 - 1e-9));
        }
    });
    let part = |count: usize| count as f64 / tried as f64;
    Some(as_large.into_iter().map(part).collect())
}

/// Returns the smallest p-value that is possible for groups of these sizes.
fn fewest(first: usize, second: usize) -> f64 {
    // If both groups have the same size, exchanging them gives the same t.
    let same = if first == second { 2.0 } else { 1.0 };
    same / ways(first + second, first)
}

/// The smallest number of runs of each version with which a difference can be significant.
pub(crate) fn fewest_runs() -> usize {
    (1..).find(|&runs| fewest(runs, runs) <= LEVEL).unwrap_or(1)
}

/// The number of ways to choose `chosen` of `all`.
fn ways(all: usize, chosen: usize) -> f64 {
    (0..chosen)
        .map(|n| (all - n) as f64 / (n + 1) as f64)
        .product()
}

/// Calls `on` with each split of `runs` runs into two groups. The argument is true for each run in the first group,
/// which has `first` runs. If there are very many splits, uses a random selection of `most` that includes the actual
/// one.
fn divisions(runs: usize, first: usize, most: usize, mut on: impl FnMut(&[bool])) {
    let mut division: Vec<bool> = (0..runs).map(|run| run < first).collect();
    if ways(runs, first) <= most as f64 {
        // The splits in descending order as binary numbers: the actual split is the largest.
        loop {
            on(&division);
            let Some(last) = (1..runs)
                .rev()
                .find(|&at| division[at - 1] && !division[at])
            else {
                return;
            };
            division.swap(last - 1, last);
            // The remaining positions start again with the largest number.
            division[last + 1..].sort_unstable_by(|a, b| b.cmp(a));
        }
    }
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..most {
        on(&division);
        // Fisher-Yates, with Marsaglia's xorshift (2003): deterministic.
        for at in (1..runs).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            division.swap(at, (random % (at as u64 + 1)) as usize);
        }
    }
}

impl Sample<'_> {
    /// The absolute value of Welch's t for this split of the runs.
    fn t(&self, in_first: &[bool]) -> f64 {
        let group = |wanted: bool| {
            let values = self.values.iter().zip(in_first);
            Group::of(
                values
                    .filter(move |(_, first)| **first == wanted)
                    .map(|(value, _)| *value),
            )
        };
        let (first, second) = (group(true), group(false));
        let rounding = self.resolution * self.resolution / 12.0;
        let error = (first.error2(rounding) + second.error2(rounding)).sqrt();
        match (second.mean - first.mean).abs() {
            0.0 => 0.0,
            difference => difference / error,
        }
    }
}

/// The confidence interval of the difference of two groups' means for the significance level `level`. `None` if a group
/// has only one value.
pub(crate) fn interval(first: &[f64], second: &[f64], level: f64) -> Option<(f64, f64)> {
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let (first, second) = [first, second]
        .map(|of| Group::of(of.iter().copied()))
        .into();
    let difference = second.mean - first.mean;
    let parts = [first.error2(0.0), second.error2(0.0)];
    let error2: f64 = parts.iter().sum();
    if error2 <= 0.0 {
        return Some((difference, difference));
    }
    // Welch and Satterthwaite's degrees of freedom.
    let spread =
        parts[0] * parts[0] / (first.runs - 1.0) + parts[1] * parts[1] / (second.runs - 1.0);
    let freedom = error2 * error2 / spread;
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let margin = student.inverse_cdf(1.0 - level / 2.0) * error2.sqrt();
    Some((difference - margin, difference + margin))
}

/// A group's mean and spread.
#[derive(Clone, Copy)]
struct Group {
    runs: f64,
    mean: f64,
    variance: f64,
}

impl Group {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Group {
        let runs = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / runs;
        let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
        let variance = if runs > 1.0 {
            squares / (runs - 1.0)
        } else {
            0.0
        };
        Group {
            runs,
            mean,
            variance,
        }
    }

    /// The square of the mean's standard error.
    fn error2(&self, rounding: f64) -> f64 {
        (self.variance + rounding) / self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample<'_> {
        Sample {
            values,
            resolution: 1.0,
        }
    }

    #[test]
    fn each_permutation_is_visited_once_up_to_the_limit() {
        let mut seen = std::collections::BTreeSet::new();
        let mut count = 0;
        divisions(7, 3, DIVISIONS, |division| {
            assert_eq!(division.iter().filter(|first| **first).count(), 3);
            seen.insert(division.to_vec());
            count += 1;
        });
        assert_eq!((count, seen.len()), (35, 35));
        count = 0;
        divisions(30, 15, DIVISIONS, |_| count += 1);
        assert_eq!(count, DIVISIONS);
    }

    #[test]
    fn very_many_figures_use_fewer_permutations() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let samples = vec![sample(&values); 5000];
        let chance = chances(&samples, 10).unwrap()[0];
        // 200 million values are 2000 permutations, of which only the actual one has so large a difference.
        assert_eq!(chance, 1.0 / 2000.0);
    }

    #[test]
    fn significance_needs_four_runs_per_side() {
        assert_eq!(fewest_runs(), 4);
        assert!(chances(&[sample(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0])], 3).is_none());
        let four = chances(&[sample(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0])], 4).unwrap();
        assert!((four[0] - 2.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn confidence_interval_follows_welch() {
        // By hand: means 12.4 and 16.1667, variances 1.3 and 1.36667, so a standard error of 0.69841 with 8.7228
        // degrees of freedom, for which t is 2.2732 (between the tables' 2.306 for 8 and 2.262 for 9).
        let (low, high) = interval(
            &[12.0, 11.0, 14.0, 13.0, 12.0],
            &[15.0, 17.0, 16.0, 18.0, 15.0, 16.0],
            LEVEL,
        )
        .unwrap();
        let middle = (low + high) / 2.0;
        assert!((middle - 3.766_666).abs() < 1e-5, "{low} {high}");
        assert!(((high - low) / 2.0 - 1.5876).abs() < 1e-3, "{low} {high}");
        assert_eq!(interval(&[1.0], &[2.0, 3.0], LEVEL), None);
        assert_eq!(interval(&[1.0, 1.0], &[3.0, 3.0], LEVEL), Some((2.0, 2.0)));
    }

    /// Comparisons of a program with itself, a hundred figures each: one in twenty may seem to find a
    /// difference.
    #[test]
    fn family_wise_error_rate_is_5_percent() {
        let mut random = 88_172_645_463_325_252_u64;
        let mut uniform = move || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut found = 0;
        for _ in 0..200 {
            // Counts with few values and skewed times, all dependent on the speed of a run.
            let pace: Vec<f64> = (0..10).map(|_| uniform()).collect();
            let figures: Vec<Vec<f64>> = (0..40)
                .map(|figure| {
                    let value = |pace: &f64| match figure % 3 {
                        0 => (2.0 * uniform()).floor(),
                        1 => 1.0 / (0.05 + uniform()),
                        _ => 10.0 * pace + uniform(),
                    };
                    pace.iter().map(value).collect()
                })
                .collect();
            let samples: Vec<Sample<'_>> = figures.iter().map(|of| sample(of)).collect();
            let chances = chances(&samples, 5).unwrap();
            found += usize::from(chances.iter().any(|chance| *chance <= LEVEL));
        }
        // 200 times 5 % with twice its standard deviation.
        assert!(found <= 16, "{found} of 200");
    }

    #[test]
    fn change_is_detected_among_noise() {
        let noise: Vec<Vec<f64>> = (0..50)
            .map(|n| {
                (0..10)
                    .map(|run| f64::from((run * 37 + n * 101) % 23))
                    .collect()
            })
            .collect();
        let changed = [
            100.0, 101.0, 99.0, 100.0, 100.0, 140.0, 141.0, 139.0, 140.0, 140.0,
        ];
        let mut samples: Vec<Sample<'_>> = noise.iter().map(|of| sample(of)).collect();
        samples.push(sample(&changed));
        let chances = chances(&samples, 5).unwrap();
        let (last, others) = chances.split_last().unwrap();
        assert!(*last <= LEVEL, "{last}");
        assert!(others.iter().all(|chance| *chance > LEVEL));
    }
}
