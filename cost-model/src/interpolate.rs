//! Estimates costs at sizes that were not measured, by linear interpolation between measured op-sizes.

use crate::{Cost, Micros};

/// A cost that was computed from measured points, with its caveats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) cost: Cost,
    /// True if every size of the operation was measured.
    pub(crate) exact: bool,
    /// True if a size is below the smallest measured size.
    pub(crate) below: bool,
    /// True if a size is above the largest measured size.
    pub(crate) beyond: bool,
    /// True if several items were estimated as one.
    pub(crate) one_item: bool,
}

impl Estimate {
    /// The estimate for a size that was measured: its cost, without caveats.
    pub(crate) fn measured(cost: Cost) -> Estimate {
        Estimate {
            cost,
            exact: true,
            below: false,
            beyond: false,
            one_item: false,
        }
    }

    /// Creates an estimate with the cost `cost`, and with the caveats of both `one` and `other`.
    pub(crate) fn of_both(cost: Cost, one: Estimate, other: Estimate) -> Estimate {
        Estimate {
            cost,
            exact: one.exact && other.exact,
            below: one.below || other.below,
            beyond: one.beyond || other.beyond,
            one_item: one.one_item || other.one_item,
        }
    }
}

/// The measured points of one entry on one clock. Sizes ascend, and there is at least one point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    smallest: (f64, Cost),
    /// The points, the smallest first.
    points: Vec<(f64, Cost)>,
}

impl Curve {
    /// The curve through `points`, each with its op-size and cost; `None` without points.
    pub(crate) fn new(mut points: Vec<(f64, Cost)>) -> Option<Curve> {
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        points.dedup_by(|(one, _), (other, _)| one == other);
        Some(Curve {
            smallest: *points.first()?,
            points,
        })
    }

    /// The cost of a request with one item of op-size `size`, including the fixed part.
    pub(crate) fn at(&self, size: f64) -> Estimate {
        let size = size.max(0.0);
        let after = self.points.partition_point(|(known, _)| *known < size);
        if let Some((known, cost)) = self.points.get(after)
            && *known == size
        {
            return Estimate::measured(*cost);
        }
        let (below, beyond) = (after == 0, after == self.points.len());
        // The neighbours on both sides, or the two nearest points if all points are on one side.
        let left = after
            .saturating_sub(1)
            .min(self.points.len().saturating_sub(2));
        let cost = match (self.points.get(left), self.points.get(left + 1)) {
            (Some(&(from, low)), Some(&(to, high))) => {
                let along = (size - from) / (to - from);
                blend(low, 1.0 - along, high, along)
            }
            _ => return self.single(below),
        };
        Estimate {
            cost,
            exact: false,
            below,
            beyond,
            one_item: false,
        }
    }

    /// The estimate from a single measured point, for any size. A point at size 0 means that the size does not matter.
    fn single(&self, below: bool) -> Estimate {
        let (size, cost) = self.smallest;
        if size == 0.0 {
            Estimate::measured(cost)
        } else {
            Estimate {
                cost,
                exact: false,
                below,
                beyond: !below,
                one_item: false,
            }
        }
    }

    /// The cost of a request that does none of its work, if the fixed part is unknown. The smallest measured cost is
    /// the upper bound, and zero is the lower bound.
    pub(crate) fn idle(&self) -> Estimate {
        let (_, cost) = self.smallest;
        Estimate {
            cost: Cost {
                low: Micros::ZERO,
                ..cost
            },
            exact: false,
            below: true,
            beyond: false,
            one_item: false,
        }
    }
}

/// The weighted sum `one * weight + other * other_weight`, at least zero. A negative weight, for extrapolation, swaps
/// the bounds.
pub(crate) fn blend(one: Cost, weight: f64, other: Cost, other_weight: f64) -> Cost {
    let bounds = |cost: Cost, weight: f64| {
        if weight < 0.0 {
            (cost.high, cost.low)
        } else {
            (cost.low, cost.high)
        }
    };
    let (one_low, one_high) = bounds(one, weight);
    let (other_low, other_high) = bounds(other, other_weight);
    let sum = |one: Micros, other: Micros| {
        let Micros(sum) = one * weight + other * other_weight;
        Micros(sum.max(0.0))
    };
    Cost {
        time: sum(one.time, other.time),
        low: sum(one_low, other_low),
        high: sum(one_high, other_high),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Curve;
    use crate::{Cost, Micros};

    fn curve(points: &[(f64, f64)]) -> Curve {
        let exact = |&(size, time)| (size, Cost::exact(Micros(time)));
        Curve::new(points.iter().map(exact).collect()).unwrap()
    }

    #[test]
    fn time_is_linear_between_points() {
        let curve = curve(&[(100.0, 52.0), (300.0, 96.0)]);
        let middle = curve.at(200.0);
        assert_eq!(middle.cost, Cost::exact(Micros(74.0)));
        assert!(!middle.exact && !middle.below && !middle.beyond);
        assert!(curve.at(100.0).exact && curve.at(300.0).exact);
    }

    #[test]
    fn extrapolation_uses_nearest_two_points_and_stops_at_zero() {
        let curve = curve(&[(10.0, 4.0), (20.0, 14.0), (30.0, 20.0)]);
        assert_eq!(curve.at(40.0).cost.time, Micros(26.0));
        assert!(curve.at(40.0).beyond && !curve.at(40.0).below);
        assert_eq!(curve.at(7.5).cost.time, Micros(1.5));
        assert_eq!(curve.at(0.0).cost, Cost::exact(Micros::ZERO));
        assert!(curve.at(0.0).below && !curve.at(0.0).beyond);
    }

    #[test]
    fn single_point_applies_to_all_sizes() {
        let only = curve(&[(8.0, 3.0)]);
        assert!(only.at(8.0).exact);
        assert_eq!(only.at(9.0).cost.time, Micros(3.0));
        assert!(only.at(9.0).beyond && only.at(7.0).below);
        let sizeless = curve(&[(0.0, 3.0)]);
        assert!(sizeless.at(1e6).exact && !sizeless.at(1e6).beyond);
    }

    #[test]
    fn bounds_widen_beyond_the_points() {
        let spread = |time| Cost::with_spread(Micros(time), 0.1);
        let curve = Curve::new(vec![(1.0, spread(10.0)), (2.0, spread(20.0))]).unwrap();
        let far = curve.at(3.0).cost;
        // Twice the second minus the first: 2·18−11 and 2·22−9.
        assert_eq!(far.time, Micros(30.0));
        assert!((far.low.0 - 25.0).abs() < 1e-9 && (far.high.0 - 35.0).abs() < 1e-9);
    }

    #[test]
    fn nan_size_is_treated_as_zero() {
        assert_eq!(
            curve(&[(0.0, 1.0), (1.0, 2.0)]).at(f64::NAN).cost.time,
            Micros(1.0)
        );
    }

    /// Ascending sizes with ascending times.
    fn monotone() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((0.1..1e4_f64, 0.0..1e4_f64), 1..12).prop_map(|steps| {
            let (mut size, mut time) = (0.0, 0.0);
            let step = |(wider, longer)| {
                size += wider;
                time += longer;
                (size, time)
            };
            steps.into_iter().map(step).collect()
        })
    }

    proptest! {
        #[test]
        fn monotone_points_interpolate_between_neighbours(
            points in monotone(), at in 0.0..1.0_f64, pick in any::<prop::sample::Index>()
        ) {
            let curve = curve(&points);
            let left = pick.index(points.len());
            prop_assert_eq!(curve.at(points[left].0).cost.time, Micros(points[left].1));
            prop_assert!(curve.at(points[left].0).exact);
            if let Some(&(to, high)) = points.get(left + 1) {
                let (from, low) = points[left];
                let Micros(time) = curve.at(from + (to - from) * at).cost.time;
                let slack = 1e-9 * high;
                prop_assert!(low - slack <= time && time <= high + slack);
            }
        }

        #[test]
        fn bounds_contain_the_time_at_every_size(
            points in prop::collection::vec((0.0..1e5_f64, 0.0..1e5_f64, 0.0..2.0_f64), 1..8),
            size in 0.0..2e5_f64
        ) {
            let spread = |(size, time, spread)| (size, Cost::with_spread(Micros(time), spread));
            let Cost { time, low, high } =
                Curve::new(points.into_iter().map(spread).collect()).unwrap().at(size).cost;
            let slack = 1e-9 * (1.0 + high.0);
            prop_assert!(low.0 >= 0.0 && low.0 <= time.0 + slack && time.0 <= high.0 + slack);
        }
    }
}
