//! Median, and the confidence interval of a median by order statistics.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The confidence that the interval has at least.
const CONFIDENCE: f64 = 0.95;

/// A median with the bounds of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// The median.
    pub(crate) median: f64,
    /// Half the width of its confidence interval, in the median's unit. `None` where there are
    /// too few samples for an interval (fewer than six).
    pub(crate) half_width: Option<f64>,
}

impl Estimate {
    /// The half width relative to the median, where the median is positive.
    pub(crate) fn spread(&self) -> Option<f64> {
        self.half_width
            .filter(|_| self.median > 0.0)
            .map(|half| half / self.median)
    }
}

/// The median of `samples` and its confidence interval; `None` without samples. The interval
/// needs no assumption about the distribution: its ends are order statistics, whose ranks follow
/// from the binomial distribution (Le Boudec, Performance Evaluation of Computer and
/// Communication Systems, Theorem 2.1; David & Nagaraja, Order Statistics, section 7.1).
pub(crate) fn estimate(samples: &[f64]) -> Option<Estimate> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    let lower = *sorted.get(n.saturating_sub(1) / 2)?;
    let half_width = interval_rank(n).and_then(|rank| {
        let low = sorted.get(rank)?;
        let high = sorted.get(n - 1 - rank)?;
        Some((high - low) / 2.0)
    });
    Some(Estimate {
        median: (lower + upper) / 2.0,
        half_width,
    })
}

/// The largest 0-based rank r for which the r-th smallest and the r-th largest of `n` samples
/// enclose the median with the confidence asked for: 1 − 2 P(B ≤ r), B binomial (n, ½).
fn interval_rank(n: usize) -> Option<usize> {
    let binomial = Binomial::new(0.5, n as u64).ok()?;
    (0..n.div_ceil(2))
        .take_while(|&rank| 1.0 - 2.0 * binomial.cdf(rank as u64) >= CONFIDENCE)
        .last()
}

#[cfg(test)]
mod tests {
    use super::{estimate, interval_rank};

    #[test]
    fn ranks_agree_with_published_tables() {
        // Le Boudec, Table A.1, 95 %: n = 6 → ranks 1 and 6; n = 11 → 2 and 10; n = 20 → 6 and 15.
        assert_eq!(interval_rank(5), None);
        assert_eq!(interval_rank(6), Some(0));
        assert_eq!(interval_rank(11), Some(1));
        assert_eq!(interval_rank(20), Some(5));
    }

    #[test]
    fn one_outlier_does_not_move_the_interval_of_eleven() {
        let mut samples: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        samples.push(1e9);
        let estimate = estimate(&samples).unwrap();
        assert_eq!(estimate.median, 105.0);
        assert_eq!(estimate.half_width, Some(4.0));
    }

    #[test]
    fn few_samples_have_a_median_and_no_interval() {
        let two = estimate(&[3.0, 1.0]).unwrap();
        assert_eq!((two.median, two.half_width), (2.0, None));
        assert!(estimate(&[]).is_none());
    }
}
