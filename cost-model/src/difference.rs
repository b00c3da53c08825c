//! The differences between two servers: the costs that were measured on both, the largest ratio first.

use std::collections::BTreeMap;

use crate::{AttributeValue, Clock, Micros, ServerParameters};

/// Costs that differ by a smaller factor were rounded differently.
const ROUNDED: f64 = 1.000_001;

/// The costs of one kind of request of one size on two servers.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The name of the request.
    pub request: String,
    /// The attributes of the request, such as `gxmode=GXcopy linewidth=0`.
    pub attributes: String,
    /// The op-size of the request.
    pub size: f64,
    /// The clock by which both times were measured.
    pub clock: Clock,
    /// The cost on the first server, in microseconds.
    pub first: Micros,
    /// The cost on the second server, in microseconds.
    pub second: Micros,
    /// True if the costs differ by more than the spreads of their calibrations.
    pub is_beyond_spread: bool,
}

impl Difference {
    /// The cost on the second server divided by the cost on the first server.
    pub fn ratio(&self) -> f64 {
        self.second.0 / self.first.0
    }
}

/// The costs that both files have, the largest ratio first. Differences within the calibrations' spreads come last.
/// Points with zero time have no ratio and are left out.
pub fn differences(first: &ServerParameters, second: &ServerParameters) -> Vec<Difference> {
    let others: BTreeMap<(&str, &BTreeMap<String, AttributeValue>), _> = second
        .requests
        .iter()
        .map(|costs| ((costs.name.as_str(), &costs.attributes), costs))
        .collect();
    let mut all = Vec::new();
    for costs in &first.requests {
        let Some(other) = others.get(&(costs.name.as_str(), &costs.attributes)) else {
            continue;
        };
        let both = [Clock::Cpu, Clock::Wall].into_iter();
        let mut both = both.filter(|clock| {
            costs.clock(*clock) == Some(*clock) && other.clock(*clock) == Some(*clock)
        });
        let Some(clock) = both.next() else {
            continue;
        };
        for point in &costs.points {
            let same = other.points.iter().find(|second| second.size == point.size);
            let costs_of_both = point
                .cost(clock)
                .zip(same.and_then(|point| point.cost(clock)));
            if let Some((one, two)) = costs_of_both
                && let (first, second) = (one.time, two.time)
                && first.0 > 0.0
                && second.0 > 0.0
            {
                all.push(Difference {
                    request: costs.name.clone(),
                    attributes: costs.attribute_set().to_string(),
                    size: point.size,
                    clock,
                    first,
                    second,
                    is_beyond_spread: (one.high.0 * ROUNDED < two.low.0)
                        || (two.high.0 * ROUNDED < one.low.0),
                });
            }
        }
    }
    let size = |of: &Difference| of.ratio().ln().abs();
    all.sort_by(|one, other| {
        let first = other.is_beyond_spread.cmp(&one.is_beyond_spread);
        first.then_with(|| size(other).total_cmp(&size(one)))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::differences;
    use crate::built_in;

    #[test]
    fn differences_are_sorted_by_magnitude() {
        let named = |name: &str| {
            let file = built_in().iter().find(|file| file.name == name);
            file.unwrap().parameters().unwrap()
        };
        let (sun, hp) = (named("sun4-ipc"), named("hp9000-350"));
        let all = differences(&sun, &hp);
        assert!(!all.is_empty());
        let far = |difference: &super::Difference| difference.ratio().ln().abs();
        assert!(all.windows(2).all(|pair| far(&pair[0]) >= far(&pair[1])));
        assert!(
            differences(&sun, &sun)
                .iter()
                .all(|difference| difference.ratio() == 1.0)
        );
    }
}
