//! The distribution of a quantity in bounded memory: exact values if there are few different ones, otherwise a sketch
//! of them.
//!
//! Number, range, mean and standard deviation are always exact (Chan, Golub and LeVeque, 1983). Mode, median and
//! histogram of a sketch are computed from its cells, whose width is at most 1/128 of their values (`hdrhistogram`).

use hdrhistogram::Histogram as Sketch;
use rustc_hash::FxHashMap;

/// Maximum number of different values that are counted exactly, as many as the paper's histograms have cells. Beyond
/// it, a sketch is used.
const MAX_VALUES: usize = 4096;
/// Significant decimal digits of a sketch.
const DIGITS: u8 = 2;

/// A distribution to which values can be added.
#[derive(Debug, Clone)]
pub struct Distribution {
    number: u64,
    least: u64,
    most: u64,
    mean: f64,
    squares: f64,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    Exact(FxHashMap<u64, u64>),
    Sketch(Sketch<u64>),
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution {
            number: 0,
            least: u64::MAX,
            most: 0,
            mean: 0.0,
            squares: 0.0,
            values: Values::Exact(FxHashMap::default()),
        }
    }
}

impl Distribution {
    /// Adds a value to the distribution.
    pub fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    /// Adds `value` as often as `times`.
    pub(crate) fn add_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.take(times, value as f64, 0.0);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        self.count(value, times);
    }

    /// Adds `number` values with this mean and sum of squared differences: the method of Chan, Golub and LeVeque.
    fn take(&mut self, number: u64, mean: f64, squares: f64) {
        let added = number as f64;
        self.number += number;
        let away = mean - self.mean;
        // Often all values are equal, and a division is the slowest operation here.
        if away != 0.0 {
            self.mean += away * added / self.number as f64;
            self.squares += away * (mean - self.mean) * added;
        }
        self.squares += squares;
    }

    /// Adds all values of another distribution.
    pub(crate) fn merge(&mut self, other: &Distribution) {
        if other.number == 0 {
            return;
        }
        self.take(other.number, other.mean, other.squares);
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        for (value, count) in other.counts() {
            self.count(value, count);
        }
    }

    fn count(&mut self, value: u64, count: u64) {
        match &mut self.values {
            Values::Exact(counts) => {
                *counts.entry(value).or_default() += count;
                if counts.len() > MAX_VALUES {
                    self.values = sketch(counts);
                }
            }
            Values::Sketch(sketch) => record(sketch, value, count),
        }
    }

    /// The number of values in the distribution.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The smallest and the largest value of the distribution; `None` without values.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.number > 0).then_some((self.least, self.most))
    }

    /// The mean of the values; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.number > 0).then_some(self.mean)
    }

    /// The sample standard deviation; `None` for fewer than two values.
    pub fn standard_deviation(&self) -> Option<f64> {
        (self.number > 1).then(|| (self.squares / (self.number - 1) as f64).sqrt())
    }

    /// True if the mode and the median are exact.
    pub fn is_exact(&self) -> bool {
        matches!(self.values, Values::Exact(_))
    }

    /// The most frequent value, the smallest if several are equally frequent; `None` without values.
    pub fn mode(&self) -> Option<u64> {
        self.counts()
            .into_iter()
            .max_by(|(a, many), (b, more)| many.cmp(more).then(b.cmp(a)))
            .map(|(value, _)| value)
    }

    /// The median; `None` without values.
    pub fn median(&self) -> Option<u64> {
        self.percentile(0.5)
    }

    /// The percentile: the smallest value that at least `share` (0 to 1) of the values do not exceed (nearest rank).
    /// `None` without values.
    pub(crate) fn percentile(&self, share: f64) -> Option<u64> {
        let rank = ((self.number as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let mut counts = self.counts().into_iter();
        let at = counts.find(|(_, count)| {
            below += count;
            below >= rank
        });
        at.map(|(value, _)| value)
    }

    /// The values in ascending order with their counts. The values of a sketch are the middles of its cells.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        match &self.values {
            Values::Exact(counts) => {
                let mut counts: Vec<(u64, u64)> = counts
                    .iter()
                    .map(|(value, count)| (*value, *count))
                    .collect();
                counts.sort_unstable();
                counts
            }
            Values::Sketch(sketch) => sketch
                .iter_recorded()
                .map(|cell| {
                    let value = sketch.median_equivalent(cell.value_iterated_to());
                    let value = value.clamp(self.least, self.most);
                    (value, cell.count_at_value())
                })
                .collect(),
        }
    }

    /// A copy of the distribution without the values that are zero.
    pub fn without_zeros(&self) -> Distribution {
        let zeros = self
            .counts()
            .first()
            .map_or(0, |(value, count)| if *value == 0 { *count } else { 0 });
        let number = self.number - zeros;
        if zeros == 0 || number == 0 {
            return if zeros == 0 {
                self.clone()
            } else {
                Distribution::default()
            };
        }
        let mut values = self.values.clone();
        match &mut values {
            Values::Exact(counts) => {
                counts.remove(&0);
            }
            Values::Sketch(sketch) => {
                let _ = sketch.subtract(zeros_of(sketch, zeros));
            }
        }
        // Removes the zeros from mean and squares: the method of Chan, Golub and LeVeque.
        let (all, rest) = (self.number as f64, number as f64);
        let mean = self.mean * all / rest;
        let squares = self.squares - mean * mean * zeros as f64 * rest / all;
        let mut less = Distribution {
            number,
            least: self.least,
            most: self.most,
            mean,
            squares: squares.max(0.0),
            values,
        };
        less.least = less.counts().first().map_or(0, |(value, _)| *value);
        less
    }
}

fn sketch(counts: &FxHashMap<u64, u64>) -> Values {
    // Two digits are always valid, and a histogram that resizes accepts any value.
    match Sketch::new(DIGITS) {
        Ok(mut sketch) => {
            sketch.auto(true);
            for (value, count) in counts {
                record(&mut sketch, *value, *count);
            }
            Values::Sketch(sketch)
        }
        Err(_) => Values::Exact(counts.clone()),
    }
}

/// Adds to a sketch, which grows for the value. A value that is too large for any sketch counts as the largest one.
fn record(sketch: &mut Sketch<u64>, value: u64, count: u64) {
    if sketch.record_n(value, count).is_err() {
        sketch.saturating_record_n(value, count);
    }
}

fn zeros_of(like: &Sketch<u64>, zeros: u64) -> Sketch<u64> {
    let mut only = Sketch::new_from(like);
    only.saturating_record_n(0, zeros);
    only
}

#[cfg(test)]
mod tests {
    use statrs::statistics::{Data, Distribution as _, Max, Median, Min};

    use super::Distribution;

    fn of(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        values.iter().for_each(|value| distribution.add(*value));
        distribution
    }

    #[test]
    fn empty_distribution_has_no_figures() {
        let nothing = Distribution::default();
        assert_eq!((nothing.range(), nothing.mean()), (None, None));
        assert_eq!((nothing.mode(), nothing.median()), (None, None));
        assert_eq!(nothing.standard_deviation(), None);
    }

    /// A value for each number, without a pattern (Knuth's multiplicative hash).
    fn scattered(n: u64) -> u64 {
        (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) * n
    }

    #[test]
    fn few_values_are_exact() {
        let values: Vec<u64> = (0..2001).map(|n| scattered(n) % 97).collect();
        let ours = of(&values);
        let theirs = Data::new(values.iter().map(|v| *v as f64).collect::<Vec<_>>());
        assert!(ours.is_exact());
        assert_eq!(ours.median().map(|m| m as f64), Some(theirs.median()));
        let range = ours.range().map(|(a, b)| (a as f64, b as f64));
        assert_eq!(range, Some((theirs.min(), theirs.max())));
        let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-9;
        assert!(close(ours.mean(), theirs.mean()));
        assert!(close(ours.standard_deviation(), theirs.std_dev()));
    }

    #[test]
    fn median_of_many_values_is_within_a_128th() {
        let values: Vec<u64> = (1..100_001).map(scattered).collect();
        let ours = of(&values);
        assert!(!ours.is_exact());
        let theirs = Data::new(values.iter().map(|v| *v as f64).collect::<Vec<_>>());
        let near = |a: f64, b: f64, within: f64| assert!((a - b).abs() <= within * b, "{a} {b}");
        near(ours.median().unwrap() as f64, theirs.median(), 1.0 / 128.0);
        near(ours.mean().unwrap(), theirs.mean().unwrap(), 1e-9);
        let deviation = ours.standard_deviation().unwrap();
        near(deviation, theirs.std_dev().unwrap(), 1e-9);
        assert_eq!(ours.counts().iter().map(|(_, n)| n).sum::<u64>(), 100_000);
        assert!(ours.counts().len() < 10_000);
    }

    #[test]
    fn zeros_can_be_removed() {
        for many in [100, 20_000] {
            let values: Vec<u64> = (1..=many).map(scattered).collect();
            let mut with = of(&values);
            (0..500).for_each(|_| with.add(0));
            let (without, expected) = (with.without_zeros(), of(&values));
            assert_eq!(without.number(), many);
            assert_eq!(without.median(), expected.median());
            assert_eq!(without.range().map(|r| r.1), expected.range().map(|r| r.1));
            let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-6 * b, "{a} {b}");
            near(without.mean().unwrap(), expected.mean().unwrap());
            near(
                without.standard_deviation().unwrap(),
                expected.standard_deviation().unwrap(),
            );
        }
        assert_eq!(of(&[0, 0]).without_zeros().number(), 0);
    }

    #[test]
    fn merging_equals_the_distribution_of_all_values() {
        for many in [50, 20_000] {
            let values: Vec<u64> = (1..=many).map(scattered).collect();
            let (some, rest) = values.split_at(many as usize / 3);
            let (mut merged, all) = (of(some), of(&values));
            merged.merge(&of(rest));
            assert_eq!(merged.number(), all.number());
            assert_eq!(
                (merged.range(), merged.median()),
                (all.range(), all.median())
            );
            let near = |a: Option<f64>, b: Option<f64>| {
                assert!((a.unwrap() / b.unwrap() - 1.0).abs() < 1e-9, "{a:?} {b:?}");
            };
            near(merged.mean(), all.mean());
            near(merged.standard_deviation(), all.standard_deviation());
        }
    }

    #[test]
    fn mode_is_the_smallest_of_the_most_frequent() {
        assert_eq!(of(&[5, 3, 3, 5, 9]).mode(), Some(3));
    }
}
