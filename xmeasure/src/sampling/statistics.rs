//! The centre of many readings, and the confidence interval of their median by order statistics, without outliers.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The minimum confidence of the interval.
const CONFIDENCE: f64 = 0.95;
/// The modified Z-score above which a sample is an outlier (Iglewicz & Hoaglin, How to Detect and Handle Outliers,
/// 1993).
const OUTLYING: f64 = 3.5;
/// The constant that makes the median absolute deviation comparable to a standard deviation (same source).
const CONSISTENCY: f64 = 0.6745;
/// Times of up to a picosecond, in microseconds, are the residue of a subtraction.
pub(crate) const RESIDUE: f64 = 1e-6;

/// The centre of several readings, and its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// The mean of the middle half of the readings. If readings have one of two values, this mean reflects the
    /// frequency of each value, which a median does not.
    pub(crate) centre: f64,
    /// Half the width of the median's 95 % confidence interval, in the unit of the readings; half the range of the
    /// readings if there are fewer than six. `None` for a single reading.
    pub(crate) half_width: Option<f64>,
}

impl Estimate {
    /// The half width divided by the centre; `None` if the centre is not above zero.
    pub(crate) fn spread(&self) -> Option<f64> {
        self.half_width
            .filter(|_| self.centre > RESIDUE)
            .map(|half| half / self.centre)
    }
}

/// The centre of `samples` and the confidence interval of their median; `None` without samples. The interval needs
/// no assumption about the distribution: its ends are order statistics whose ranks follow from the binomial
/// distribution (Le Boudec, Performance Evaluation of Computer and Communication Systems, Theorem 2.1; David &
/// Nagaraja, Order Statistics, section 7.1).
///
/// Outliers, such as a batch that another process interrupted, are removed first, as long as six samples remain.
pub(crate) fn estimate(samples: &[f64]) -> Option<Estimate> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let kept = without_outliers(&sorted);
    if kept.len() >= LEAST {
        sorted = kept;
    }
    let n = sorted.len();
    let rank = interval_rank(n).or((n > 1).then_some(0));
    let half_width = rank.and_then(|rank| {
        let low = sorted.get(rank)?;
        let high = sorted.get(n - 1 - rank)?;
        Some((high - low) / 2.0)
    });
    Some(Estimate {
        centre: midmean(sorted)?,
        half_width,
    })
}

/// An estimate of a time without disturbance: the mean of the lowest third of `samples`, because other processes only
/// increase times. The half width is half the distance from the smallest sample to the median. `None` without samples.
pub(crate) fn undisturbed(samples: &[f64]) -> Option<Estimate> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let lowest = sorted.get(..sorted.len().div_ceil(3))?;
    let centre = lowest.iter().sum::<f64>() / lowest.len() as f64;
    Some(Estimate {
        centre,
        half_width: Some((median(&sorted)? - sorted.first()?) / 2.0),
    })
}

/// The minimum number of samples for a confidence interval.
pub(crate) const LEAST: usize = 6;

fn median(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    let lower = *sorted.get(n.saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

/// The mean of the middle half of `samples`; `None` without samples. If a time has one of two values, the sum of many
/// depends on the frequency of each value, which a median does not show.
pub(crate) fn midmean(samples: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = samples.into_iter().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let aside = sorted.len() / 4;
    let middle = sorted.get(aside..sorted.len() - aside)?;
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

/// Returns `sorted` without outliers, which have a high modified Z-score. If half of the samples are equal, the median
/// absolute deviation is zero and no sample is removed.
fn without_outliers(sorted: &[f64]) -> Vec<f64> {
    let Some(centre) = median(sorted) else {
        return Vec::new();
    };
    let mut deviations: Vec<f64> = sorted.iter().map(|x| (x - centre).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let typical = median(&deviations).unwrap_or(0.0);
    let fits = |x: &f64| typical == 0.0 || CONSISTENCY * (x - centre).abs() / typical <= OUTLYING;
    sorted.iter().copied().filter(fits).collect()
}

/// The largest 0-based rank r for which the r-th smallest and the r-th largest of `n` samples enclose the median
/// with the required confidence: 1 − 2 P(B ≤ r), B binomial (n, ½).
fn interval_rank(n: usize) -> Option<usize> {
    let binomial = Binomial::new(0.5, n as u64).ok()?;
    (0..n.div_ceil(2))
        .take_while(|&rank| 1.0 - 2.0 * binomial.cdf(rank as u64) >= CONFIDENCE)
        .last()
}

#[cfg(test)]
mod tests {
    use super::{estimate, interval_rank, midmean, undisturbed, without_outliers};

    #[test]
    fn interval_ranks_match_published_tables() {
        // Le Boudec, Table A.1, 95 %: n = 6 → ranks 1 and 6; n = 11 → 2 and 10; n = 20 → 6 and 15.
        assert_eq!(interval_rank(5), None);
        assert_eq!(interval_rank(6), Some(0));
        assert_eq!(interval_rank(11), Some(1));
        assert_eq!(interval_rank(20), Some(5));
    }

    #[test]
    fn outlier_is_excluded() {
        let mut samples: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        samples.push(1e9);
        let estimate = estimate(&samples).unwrap();
        assert_eq!(estimate.centre, 104.5);
        assert_eq!(estimate.half_width, Some(3.5));
        assert_eq!(without_outliers(&[1.0, 1.0, 1.0, 50.0]).len(), 4);
    }

    #[test]
    fn midmean_weights_values_by_frequency() {
        assert_eq!(midmean([1.0, 9.0, 1.0, 9.0]), Some(5.0));
        assert_eq!(midmean([1e9, 3.0, 2.0, -1e9, 1.0, 2.0]), Some(2.0));
        assert_eq!(midmean([7.0]), Some(7.0));
        assert_eq!(midmean([]), None);
    }

    #[test]
    fn disturbed_samples_are_excluded() {
        let low = undisturbed(&[1.0, 1.2, 9.0, 1.4, 5.0, 7.0]).unwrap();
        assert!((low.centre - 1.1).abs() < 1e-9);
        assert_eq!(low.half_width, Some((3.2 - 1.0) / 2.0));
        assert!(undisturbed(&[]).is_none());
    }

    #[test]
    fn few_samples_keep_their_outliers() {
        let samples = [1.0, 1.1, 1.2, 1.3, 1.4, 90.0];
        assert_eq!(estimate(&samples).unwrap().centre, 1.25);
    }

    #[test]
    fn few_samples_give_median_and_range() {
        let two = estimate(&[3.0, 1.0]).unwrap();
        assert_eq!((two.centre, two.half_width), (2.0, Some(1.0)));
        assert_eq!(estimate(&[3.0]).unwrap().half_width, None);
        assert!(estimate(&[]).is_none());
    }
}
