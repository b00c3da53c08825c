//! The operations of a trace that a parameter file lacks: it has their costs only by substitution or
//! extrapolation, or not at all.

use std::collections::BTreeMap;
use std::path::Path;

use x11prof_analyzer::{Observation, Pipeline};
use x11prof_cost_model::{Basis, CostTable, Doubt, Price, ServerParameters, Substitutions};
use x11prof_session::{Attributes, Effect, Operation};

use crate::error::CommandError;
use crate::input;

/// Sizes of one operation that are measured: the extremes, and some between.
const MAX_SIZES: usize = 5;
/// Maximum number of distinct sizes of one operation. Further sizes are similar.
const REMEMBERED: usize = 4096;

/// The operations of the trace at `path` for which `known` has no good costs; all operations if `known` is `None`.
/// Each has one item for each size to measure.
pub(crate) fn operations(
    path: &Path,
    known: Option<&ServerParameters>,
) -> Result<Vec<Operation>, CommandError> {
    let none = ServerParameters::default();
    let mut table = CostTable::new(known.unwrap_or(&none), &Substitutions::default());
    let mut needed: BTreeMap<(&'static str, Attributes), Vec<f64>> = BTreeMap::new();
    let mut reader = input::trace(path)?;
    let mut pipeline = Pipeline::new();
    let read = pipeline.run(&mut reader, |observation| {
        let Observation::Message(seen) = observation else {
            return;
        };
        let Some(operation) = seen.operation else {
            return;
        };
        if operation.effect == Effect::Nothing || !is_doubtful(&table.price(operation)) {
            return;
        }
        let key = (operation.request.as_str(), operation.attributes.clone());
        let sizes = needed.entry(key).or_default();
        for size in operation.items.iter().copied() {
            if sizes.len() < REMEMBERED
                && let Err(at) = sizes.binary_search_by(|known| known.total_cmp(&size))
            {
                sizes.insert(at, size);
            }
        }
    });
    read.map_err(|error| CommandError::file(path, error))?;
    let needed = needed.into_iter().map(|((request, attributes), sizes)| {
        let mut operation = Operation::new(request.into());
        operation.attributes = attributes;
        operation.items = spread(&sizes);
        operation
    });
    Ok(needed.collect())
}

/// Prints which requests of the trace at `path` still have no good costs.
pub(crate) fn tell(path: &Path, parameters: &ServerParameters) -> Result<(), CommandError> {
    let left = operations(path, Some(parameters))?;
    let mut names: Vec<&str> = left
        .iter()
        .map(|operation| operation.request.as_str())
        .collect();
    names.dedup();
    match names.as_slice() {
        [] => say!("the file has all costs that the trace needs"),
        names => say!(
            "these requests of the trace still use costs of other attributes or extrapolated sizes: {}",
            names.join(", ")
        ),
    }
    Ok(())
}

fn is_doubtful(price: &Price) -> bool {
    matches!(price.basis, Basis::Substituted | Basis::Unpriced)
        || price
            .doubts
            .iter()
            .any(|doubt| matches!(doubt, Doubt::Extrapolated { .. }))
}

/// The first, the last, and evenly many between.
fn spread(sizes: &[f64]) -> Vec<f64> {
    if sizes.len() <= MAX_SIZES {
        return sizes.to_vec();
    }
    let last = sizes.len() - 1;
    let at = |index| sizes.get(index * last / (MAX_SIZES - 1)).copied();
    (0..MAX_SIZES).filter_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn the_extremes_are_kept() {
        assert_eq!(spread(&[1.0, 2.0]), [1.0, 2.0]);
        let many: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(spread(&many), [0.0, 25.0, 50.0, 75.0, 100.0]);
    }
}
