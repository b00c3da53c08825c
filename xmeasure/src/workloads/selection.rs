//! Selects the loads that serve a purpose: one for each set of attributes, and for a recording those with the
//! attributes of its operations, at its sizes.

use x11prof_session::Operation;

use crate::plan::Plan;
use crate::server::tracker::Tracker;
use crate::workloads::loads::{Loads, Series};
use crate::workloads::workload::Workload;

/// Keeps the series and combinations with attributes that `plan` wants, at the sizes that it wants. If no load has the
/// attributes that a request needs, all of its loads stay.
pub(crate) fn narrow(loads: &mut Loads, plan: &Plan, tracker: &mut Tracker) {
    let mut first = |load: &Workload| tracker.describe(load).into_iter().flatten().next();
    let mut described = Vec::new();
    for series in loads.series.drain(..) {
        let operation = series.sizes.first().map(|size| (series.load)(*size));
        described.push((operation.and_then(|load| first(&load)), series, None));
    }
    for candidate in loads.candidates.drain(..) {
        let operation = first(&candidate.probe);
        described.push((operation, candidate.series, Some(candidate.single)));
    }
    let all: Vec<Operation> = described
        .iter()
        .filter_map(|described| described.0.clone())
        .collect();
    let needs = Needs::new(plan, all.iter());
    for (operation, mut series, single) in described {
        let Some(operation) = operation.filter(|operation| needs.include(operation)) else {
            continue;
        };
        if let Some(sizes) = needs.sizes(&operation) {
            series = at_sizes(series, sizes, &mut |load| {
                first(load).and_then(|operation| operation.items.first().copied())
            });
        }
        loads.single.extend(single.into_iter().flatten());
        loads.series.push(series);
    }
}

/// Leaves out the series and combinations that the session does not tell from an earlier one: an
/// entry's points are to be of one kind of load, whatever sizes are chosen.
pub(crate) fn tell_apart(loads: &mut Loads, tracker: &mut Tracker) {
    let mut seen: Vec<Operation> = Vec::new();
    let mut is_new = |load: Option<Workload>| {
        let operation = load.and_then(|load| tracker.describe(&load).into_iter().flatten().next());
        operation.is_some_and(|operation| {
            let new = seen.iter().all(|known| !is_alike(known, &operation));
            seen.push(operation);
            new
        })
    };
    loads.series.retain(|series| {
        let first = series.sizes.first();
        is_new(first.map(|size| (series.load)(*size)))
    });
    loads
        .candidates
        .retain(|candidate| is_new(Some(candidate.probe.clone())));
}

/// The series at these op-sizes only, or as near to them as possible; it is not refined.
fn at_sizes(
    series: Series,
    sizes: &[f64],
    size_of: &mut dyn FnMut(&Workload) -> Option<f64>,
) -> Series {
    let (least, most) = match (series.sizes.first(), series.sizes.last()) {
        (Some(least), Some(most)) => (*least, *most),
        _ => return series,
    };
    let mut found: Vec<u16> = sizes
        .iter()
        .map(|needed| {
            // The smallest size that is as large as needed; op-sizes grow with the size given.
            let (mut low, mut high) = (least, most);
            while low < high {
                let middle = low + (high - low) / 2;
                if size_of(&(series.load)(middle)).is_some_and(|size| size < *needed) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        })
        .collect();
    // Also one below the smallest needed: a price is best between two measured sizes.
    if let (Some(first), Some(needed)) = (found.first().copied(), sizes.first())
        && first > least
        && size_of(&(series.load)(first)).is_some_and(|size| size > *needed)
    {
        found.push(first - 1);
    }
    found.sort_unstable();
    found.dedup();
    Series {
        sizes: found,
        deepest: 0,
        load: series.load,
    }
}

/// The operations that a plan needs, of those that have loads.
pub(crate) struct Needs<'a> {
    plan: &'a Plan,
    /// The needed operations that no load has the attributes of: all of their request are taken.
    out_of_reach: Vec<&'a Operation>,
}

impl<'a> Needs<'a> {
    pub(crate) fn new<'b>(plan: &'a Plan, all: impl Iterator<Item = &'b Operation>) -> Needs<'a> {
        let mut out_of_reach: Vec<&Operation> = plan.needed.iter().collect();
        for operation in all {
            out_of_reach.retain(|needed| !is_alike(needed, operation));
        }
        Needs { plan, out_of_reach }
    }

    /// The needed sizes of an operation with these attributes, if the operation is needed.
    fn sizes(&self, operation: &Operation) -> Option<&[f64]> {
        let mut needed = self.plan.needed.iter();
        let needed = needed.find(|needed| is_alike(needed, operation))?;
        (!needed.items.is_empty()).then_some(needed.items.as_slice())
    }

    pub(crate) fn include(&self, operation: &Operation) -> bool {
        let plan = self.plan;
        if plan.needed.is_empty() {
            return plan.wants(operation.request.as_str());
        }
        let name = operation.request.as_str();
        plan.only.iter().any(|only| only.eq_ignore_ascii_case(name))
            || plan.needed.iter().any(|needed| is_alike(needed, operation))
            || self
                .out_of_reach
                .iter()
                .any(|needed| needed.request == operation.request)
    }
}

fn is_alike(one: &Operation, other: &Operation) -> bool {
    one.request == other.request && one.attributes == other.attributes
}

#[cfg(test)]
mod tests {
    use super::at_sizes;
    use crate::workloads::loads::Series;
    use crate::workloads::workload::{Sync, Workload};

    #[test]
    fn a_series_is_made_to_measure() {
        // The cost grows with the square of the size.
        let load = |side: u16| Workload::repeated(&side.to_ne_bytes(), Sync::RoundTrip);
        let series = Series::new([1, 500], load);
        let made = at_sizes(series, &[99.0, 101.0, 2500.0, 1e9], &mut |load| {
            let side = f64::from(u16::from_ne_bytes([
                load.phases[0].unit[0],
                load.phases[0].unit[1],
            ]));
            Some(side * side)
        });
        assert_eq!((made.sizes, made.deepest), (vec![9, 10, 11, 50, 500], 0));
    }
}
