//! The costs of requests with several items. A request costs a fixed part plus the sum of g(size) over its items. A
//! measured point is a request with one item: fixed part + g(size).

use x11prof_session::Operation;

use crate::interpolate::{Curve, Estimate};
use crate::{Clock, Cost, Micros, RequestCosts};

/// The costs of a request with one set of attributes, by one clock.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ItemCosts {
    pub(crate) clock: Clock,
    fixed: Option<Cost>,
    curve: Curve,
}

impl ItemCosts {
    /// The costs of `entry` by the clock `preferred`, otherwise by the other clock; `None` if neither clock has all
    /// times.
    pub(crate) fn new(entry: &RequestCosts, preferred: Clock) -> Option<ItemCosts> {
        let clock = entry.clock(preferred)?;
        let point = |point: &crate::Point| Some((point.size, point.cost(clock)?));
        let fixed = entry.fixed.as_ref().and_then(|fixed| fixed.cost(clock));
        let mut points: Vec<(f64, Cost)> = entry.points.iter().filter_map(point).collect();
        // One item of size zero costs the fixed part, if that was measured.
        if let (Some(fixed), Some((size, cost))) = (fixed, points.first())
            && *size > 0.0
            && fixed.time <= cost.time
        {
            points.insert(0, (0.0, fixed));
        }
        Some(ItemCosts {
            clock,
            fixed,
            curve: Curve::new(points)?,
        })
    }

    /// The cost of `operation`; only its fixed part if `work` is false.
    pub(crate) fn of(&self, operation: &Operation, work: bool) -> Estimate {
        let items = if work {
            operation.items.as_slice()
        } else {
            &[]
        };
        match (self.fixed, items) {
            (Some(fixed), []) => Estimate::measured(fixed),
            (None, []) => self.curve.idle(),
            (Some(_), [size]) => self.curve.at(*size),
            (Some(fixed), sizes) => self.sum(fixed, sizes),
            // Without a fixed part a request is one item of the whole op-size, as in the paper.
            (None, [_]) => self.curve.at(operation.op_size),
            (None, _) => {
                let whole = self.curve.at(operation.op_size);
                Estimate {
                    exact: false,
                    one_item: true,
                    ..whole
                }
            }
        }
    }

    fn sum(&self, fixed: Cost, sizes: &[f64]) -> Estimate {
        let mut total = Estimate::measured(fixed);
        // Neighbouring items often have the same size: rectangles of a grid, cells of a terminal.
        let mut last: Option<(f64, Estimate)> = None;
        for &size in sizes {
            let item = match last {
                Some((known, item)) if known == size => item,
                _ => {
                    let one = self.curve.at(size);
                    Estimate {
                        cost: beside(one.cost, fixed),
                        ..one
                    }
                }
            };
            total = Estimate::of_both(total.cost + item.cost, total, item);
            last = Some((size, item));
        }
        total
    }
}

/// Returns g(size), which is the cost of one item without the fixed part, and at least zero.
fn beside(one: Cost, fixed: Cost) -> Cost {
    let less = |one: Micros, fixed: Micros| Micros((one - fixed).0.max(0.0));
    Cost {
        time: less(one.time, fixed.time),
        low: less(one.low, fixed.high),
        high: less(one.high, fixed.low),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_session::Operation;

    use super::ItemCosts;
    use crate::{Clock, Cost, Measured, Micros, Point, RequestCosts};

    fn costs(fixed: Option<f64>, points: &[(f64, f64)]) -> ItemCosts {
        let point = |&(size, time)| Point {
            size,
            cpu_us: Some(Micros(time)),
            ..Point::default()
        };
        let fixed = fixed.map(|time| Measured {
            cpu_us: Some(Micros(time)),
            ..Measured::default()
        });
        let points = points.iter().map(point).collect();
        let entry = RequestCosts {
            fixed,
            points,
            ..RequestCosts::default()
        };
        ItemCosts::new(&entry, Clock::Wall).unwrap()
    }

    fn operation(items: &[f64]) -> Operation {
        let mut operation = Operation::new("PolyFillRectangle".into());
        operation.items = items.to_vec();
        operation.op_size = items.iter().sum();
        operation
    }

    #[test]
    fn item_costs_add_to_the_fixed_cost() {
        let costs = costs(Some(2.0), &[(0.0, 2.5), (10.0, 4.5)]);
        assert_eq!(costs.clock, Clock::Cpu);
        let three = costs.of(&operation(&[0.0, 10.0, 10.0]), true);
        assert_eq!(three.cost, Cost::exact(Micros(2.0 + 0.5 + 2.5 + 2.5)));
        assert!(three.exact);
        let between = costs.of(&operation(&[5.0, 10.0]), true);
        assert_eq!(between.cost.time, Micros(2.0 + 1.5 + 2.5));
        assert!(!between.exact && !between.beyond);
        assert!(costs.of(&operation(&[10.0, 11.0]), true).beyond);
    }

    #[test]
    fn single_item_cost_equals_its_point() {
        let costs = costs(Some(2.0), &[(0.0, 1.5), (10.0, 4.5)]);
        assert_eq!(costs.of(&operation(&[0.0]), true).cost.time, Micros(1.5));
    }

    #[test]
    fn request_without_work_has_only_the_fixed_cost() {
        let costs = costs(Some(2.0), &[(10.0, 4.5)]);
        for idle in [
            costs.of(&operation(&[10.0]), false),
            costs.of(&operation(&[]), true),
        ] {
            assert_eq!(idle.cost, Cost::exact(Micros(2.0)));
            assert!(idle.exact);
        }
    }

    #[test]
    fn unknown_fixed_cost_is_at_most_the_smallest_point() {
        let costs = costs(None, &[(10.0, 4.0), (20.0, 5.0)]);
        let idle = costs.of(&operation(&[10.0]), false);
        assert_eq!(
            idle.cost,
            Cost {
                time: Micros(4.0),
                low: Micros::ZERO,
                high: Micros(4.0)
            }
        );
        assert!(idle.below && !idle.exact);
    }

    #[test]
    fn request_without_fixed_cost_is_one_item() {
        let costs = costs(None, &[(10.0, 4.0), (20.0, 5.0)]);
        let two = costs.of(&operation(&[4.0, 6.0]), true);
        assert_eq!(two.cost.time, Micros(4.0));
        assert!(two.one_item && !two.exact);
        let one = costs.of(&operation(&[20.0]), true);
        assert!(!one.one_item && one.exact);
    }

    #[test]
    fn bounds_combine_fixed_and_point_spreads() {
        let spread = |time| Measured {
            cpu_us: Some(Micros(time)),
            spread: Some(0.1),
            wall_us: None,
        };
        let point = Point {
            size: 1.0,
            cpu_us: Some(Micros(20.0)),
            spread: Some(0.1),
            ..Point::default()
        };
        let entry = RequestCosts {
            fixed: Some(spread(10.0)),
            points: vec![point],
            ..Default::default()
        };
        let costs = ItemCosts::new(&entry, Clock::Cpu).unwrap();
        let Cost { time, low, high } = costs.of(&operation(&[1.0, 1.0]), true).cost;
        // 9 + 2·(18−11) and 11 + 2·(22−9).
        assert_eq!(
            (time, low, high),
            (Micros(30.0), Micros(23.0), Micros(37.0))
        );
    }
}
