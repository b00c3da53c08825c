//! Circles in a graph of imports.

use std::collections::{BTreeMap, BTreeSet};

/// The imports of each file, or folder.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// The circles: the largest sets in which each imports each of the others, directly or not. Each
/// is in order.
pub(crate) fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = imports
        .keys()
        .map(|from| (from, reached(imports, from)))
        .collect();
    let mut left: BTreeSet<&String> = imports.keys().collect();
    let mut circles = Vec::new();
    while let Some(first) = left.pop_first() {
        let both = |other: &&&String| {
            reach[first].contains(*other) && reach.get(*other).is_some_and(|of| of.contains(first))
        };
        let others: Vec<&String> = left.iter().filter(both).copied().collect();
        for other in &others {
            left.remove(other);
        }
        if !others.is_empty() {
            let all = std::iter::once(first).chain(others);
            circles.push(all.cloned().collect());
        }
    }
    circles
}

fn reached<'a>(imports: &'a Imports, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![from];
    while let Some(at) = pending.pop() {
        for next in imports.get(at).into_iter().flatten() {
            if reached.insert(next) {
                pending.push(next);
            }
        }
    }
    reached
}

#[test]
fn cycles_are_found_and_chains_are_not() {
    let graph = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "a")];
    let mut imports = Imports::new();
    for (from, to) in graph {
        imports.entry(from.into()).or_default().insert(to.into());
    }
    assert_eq!(circles(&imports), [["b", "c"]]);
}
