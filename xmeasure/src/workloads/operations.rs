//! Determines the operations of a load's requests with the code that also looks up costs.

use x11prof_session::Operation;

use crate::server::tracker::Tracker;
use crate::workloads::workload::{Phase, Workload};

impl Tracker {
    /// The operations of the requests of `load`, by phase and kind. All requests are tracked as the server will receive
    /// them, because the cost of a request may depend on resources of earlier requests.
    pub(crate) fn describe(&mut self, load: &Workload) -> Vec<Vec<Operation>> {
        let phases = load.phases.iter();
        phases
            .map(|phase| by_kind(phase, &self.sent(&phase.unit)))
            .collect()
    }
}

/// The typical operation of each kind of request in a phase.
fn by_kind(phase: &Phase, all: &[Operation]) -> Vec<Operation> {
    let step = phase.kinds.max(1) as usize;
    (0..step)
        .filter_map(|kind| typical(all.iter().skip(kind).step_by(step)))
        .collect()
}

/// Returns the operation that represents `operations`: the last one, with the mean size if the sizes differ. The first
/// operation may depend on an earlier state (a window that has not been moved yet).
fn typical<'a>(operations: impl Iterator<Item = &'a Operation> + Clone) -> Option<Operation> {
    let mut typical = operations.clone().last()?.clone();
    let items = typical.items.len();
    let alike = |operation: &&Operation| {
        operation.items.len() == items
            && operation.effect == typical.effect
            && operation.attributes == typical.attributes
    };
    let alike: Vec<&Operation> = operations.filter(alike).collect();
    let size = |at: usize| {
        mean(
            alike
                .iter()
                .filter_map(|operation| operation.items.get(at).copied()),
        )
    };
    typical.items = (0..items).map(size).collect();
    typical.op_size = mean(alike.iter().map(|operation| operation.op_size));
    Some(typical)
}

/// Returns the mean of `values`. If all values are equal, the mean is exactly this value, because sizes are compared
/// for equality.
fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let first = values.clone().next().unwrap_or(0.0);
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| {
        (sum + (value - first), count + 1.0_f64)
    });
    first + sum / count.max(1.0)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::mean;

    #[test]
    fn mean_of_equal_values_is_exact() {
        assert_eq!(mean(std::iter::repeat_n(25.0 * PI, 511)), 25.0 * PI);
        assert_eq!(mean([1.0, 2.0, 6.0].into_iter()), 3.0);
        assert_eq!(mean(std::iter::empty()), 0.0);
    }
}
