//! The costs of operations on one server: entries by request and attributes, with cached results.

use x11prof_protocol::Symbol;
use x11prof_session::{Attributes, Effect, Operation};

use crate::interpolate::{Estimate, blend};
use crate::items::ItemCosts;
use crate::substitute::{Entry, Resolution, resolve};
use crate::{
    Caveat, Clock, Cost, CostSource, Micros, OperationCost, ServerParameters, Substitutions,
};
use rustc_hash::FxHashMap;

/// The maximum number of cached sets of attributes for a request. A program uses a few dozen sets. If a trace has more
/// sets, they are looked up again.
const MAX_ATTRIBUTE_SETS: usize = 4096;
/// The costs of operations with more items than this are not cached. Such operations rarely repeat, and the limit
/// bounds the memory.
const REMEMBERED_ITEMS: usize = 1024;
/// The maximum number of cached costs for each set of attributes. A few are enough, because programs draw the same few
/// sizes again and again.
const REMEMBERED_COSTS: usize = 16;
/// Only one cost is cached for each set of attributes if the operation has more items than this.
const FEW_ITEMS: usize = 64;

/// The costs of operations on one server, from its parameters.
#[derive(Debug, Clone)]
pub struct CostTable {
    tables: Vec<RequestTable>,
    /// The index of each request's table.
    places: FxHashMap<Symbol, usize>,
    /// The last requested name and its index: neighbouring requests are often equal.
    last: Option<(Symbol, Option<usize>)>,
    rules: Substitutions,
    /// The result for an operation without cost data.
    no_cost: OperationCost,
}

#[derive(Debug, Clone, Default)]
struct RequestTable {
    /// The entries sorted by attributes, so that ties always have the same result.
    entries: Vec<Entry>,
    found: FxHashMap<Attributes, usize>,
    resolved: Vec<Resolved>,
    /// The index of the last used result: neighbouring requests are often equal.
    last: usize,
}

/// The entries for a set of attributes; `None` if no entry applies.
#[derive(Debug, Clone)]
struct Resolved {
    attributes: Attributes,
    resolution: Option<Resolution>,
    /// The cached cost of an operation that does none of its work, which does not depend on the size.
    fixed: Option<Cost>,
    /// Cached costs. The sizes of an operation determine its index.
    costs: Vec<CachedCost>,
}

/// The sizes of an operation, and its cost.
#[derive(Debug, Clone)]
struct CachedCost {
    items: Vec<f64>,
    op_size: f64,
    effect: Effect,
    cost: OperationCost,
}

impl CachedCost {
    /// A cache entry that matches no operation, because no op-size equals NaN.
    fn none() -> CachedCost {
        CachedCost {
            items: Vec::new(),
            op_size: f64::NAN,
            effect: Effect::Nothing,
            cost: OperationCost::default(),
        }
    }

    /// Stores the cost of `operation`, unless it has too many items.
    fn remember(&mut self, operation: &Operation) {
        self.op_size = f64::NAN;
        if operation.items.len() <= REMEMBERED_ITEMS {
            self.items.clone_from(&operation.items);
            self.op_size = operation.op_size;
            self.effect = operation.effect;
        }
    }

    fn is_of(&self, operation: &Operation) -> bool {
        self.op_size == operation.op_size
            && self.effect == operation.effect
            && self.items == operation.items
    }

    /// The index of the operation in the cache.
    fn place(operation: &Operation) -> usize {
        if operation.items.len() > FEW_ITEMS {
            return 0;
        }
        // Fibonacci hashing: the highest bits depend on all others.
        let hash = operation
            .op_size
            .to_bits()
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> 32) as usize % REMEMBERED_COSTS
    }
}

impl CostTable {
    /// Creates a table of CPU times if the file has them, otherwise of wall-clock times.
    pub fn new(parameters: &ServerParameters, rules: &Substitutions) -> CostTable {
        CostTable::with_clock(parameters, rules, Clock::Cpu)
    }

    /// Creates a table of times by `clock` if the file has them, otherwise by the other clock.
    pub fn with_clock(
        parameters: &ServerParameters,
        rules: &Substitutions,
        clock: Clock,
    ) -> CostTable {
        let mut tables: Vec<RequestTable> = Vec::new();
        let mut places = FxHashMap::default();
        for costs in &parameters.requests {
            if let Some(items) = ItemCosts::new(costs, clock) {
                let place = places.entry(Symbol::new(&costs.name));
                let place = *place.or_insert(tables.len());
                if place == tables.len() {
                    tables.push(RequestTable::default());
                }
                let table = &mut tables[place];
                table.entries.push(Entry {
                    attributes: costs.attribute_set(),
                    costs: items,
                });
            }
        }
        for table in &mut tables {
            table
                .entries
                .sort_by(|one, other| one.attributes.cmp(&other.attributes));
        }
        CostTable {
            tables,
            places,
            last: None,
            rules: rules.clone(),
            no_cost: no_cost(),
        }
    }

    /// The cost of `operation`.
    pub fn cost(&mut self, operation: &Operation) -> OperationCost {
        self.look_up(operation).0.clone()
    }

    /// The estimated cost of `operation`, and its cost if it does none of its work. One look-up returns both costs
    /// without copying, because every request needs both costs.
    pub fn look_up(&mut self, operation: &Operation) -> (&OperationCost, Cost) {
        let Some((table, found)) = self.resolved(operation) else {
            return (&self.no_cost, Cost::default());
        };
        let table = &mut self.tables[table];
        let (entries, found) = (&table.entries, &mut table.resolved[found]);
        let Some(resolution) = &found.resolution else {
            return (&self.no_cost, Cost::default());
        };
        let fixed = *found.fixed.get_or_insert_with(|| {
            let fixed = estimate(entries, resolution, operation, false);
            fixed.map_or_else(Cost::default, |(fixed, _)| fixed.cost)
        });
        if found.costs.is_empty() {
            found.costs.resize_with(REMEMBERED_COSTS, CachedCost::none);
        }
        let kept = &mut found.costs[CachedCost::place(operation)];
        if !kept.is_of(operation) {
            let work = operation.effect != Effect::Nothing;
            evaluate(entries, resolution, operation, work, &mut kept.cost);
            kept.remember(operation);
        }
        (&kept.cost, fixed)
    }

    /// The index of the table of `request`; `None` if the request has no table.
    fn place(&mut self, request: Symbol) -> Option<usize> {
        match self.last {
            Some((known, place)) if known == request => place,
            _ => {
                let place = self.places.get(&request).copied();
                self.last = Some((request, place));
                place
            }
        }
    }

    /// Returns the index of the table of the operation's request, and the index in that table of the result for the
    /// operation's attributes. `None` if the request has no table.
    fn resolved(&mut self, operation: &Operation) -> Option<(usize, usize)> {
        let place = self.place(operation.request)?;
        let table = &mut self.tables[place];
        let attributes = &operation.attributes;
        let alike = |at: usize| {
            let known = table.resolved.get(at);
            known.is_some_and(|known| known.attributes == *attributes)
        };
        if !alike(table.last) {
            table.last = match table.found.get(attributes) {
                Some(at) => *at,
                None => table.resolve(attributes, &self.rules),
            };
        }
        Some((place, table.last))
    }
}

impl RequestTable {
    /// Finds the entries for `attributes`, and caches the result. Returns the index of the result.
    fn resolve(&mut self, attributes: &Attributes, rules: &Substitutions) -> usize {
        if self.found.len() >= MAX_ATTRIBUTE_SETS {
            self.found.clear();
            self.resolved.clear();
        }
        let at = self.resolved.len();
        self.resolved.push(Resolved {
            attributes: attributes.clone(),
            resolution: resolve(&self.entries, attributes, rules),
            fixed: None,
            costs: Vec::new(),
        });
        self.found.insert(attributes.clone(), at);
        at
    }
}

/// Returns the cost of `operation`, and the clock by which it was measured. If `work` is false, returns only the fixed
/// part.
fn estimate(
    entries: &[Entry],
    resolution: &Resolution,
    operation: &Operation,
    work: bool,
) -> Option<(Estimate, Clock)> {
    let of = |index: usize| Some(entries.get(index)?.costs.of(operation, work));
    let entry = entries.get(resolution.entry)?;
    let mut estimate = entry.costs.of(operation, work);
    if let Some((partner, weight)) = resolution.partner
        && let Some(other) = of(partner)
    {
        let cost = blend(estimate.cost, 1.0 - weight, other.cost, weight);
        estimate = Estimate {
            exact: false,
            ..Estimate::of_both(cost, estimate, other)
        };
    }
    // Any of these values could have been substituted, so the bounds include them all.
    let Cost {
        time,
        mut low,
        mut high,
    } = estimate.cost;
    for other in resolution
        .alternatives
        .iter()
        .filter_map(|index| of(*index))
    {
        low = Micros(low.0.min(other.cost.low.0));
        high = Micros(high.0.max(other.cost.high.0));
    }
    estimate.cost = Cost { time, low, high };
    Some((estimate, entry.costs.clock))
}

/// Sets `cost` to the cost of `operation`, or to its fixed part if `work` is false.
fn evaluate(
    entries: &[Entry],
    resolution: &Resolution,
    operation: &Operation,
    work: bool,
    cost: &mut OperationCost,
) {
    let Some((estimate, clock)) = estimate(entries, resolution, operation, work) else {
        return none(cost);
    };
    let doubts = &mut cost.doubts;
    doubts.clear();
    doubts.extend_from_slice(&resolution.substitutions);
    cost.basis = match (doubts.is_empty(), estimate.exact) {
        (false, _) => CostSource::Substituted,
        (true, true) => CostSource::Exact,
        (true, false) => CostSource::Interpolated,
    };
    if estimate.below {
        doubts.push(Caveat::Extrapolated { beyond: false });
    }
    if estimate.beyond {
        doubts.push(Caveat::Extrapolated { beyond: true });
    }
    if estimate.one_item {
        doubts.push(Caveat::OneItem);
    }
    cost.server = estimate.cost;
    cost.clock = Some(clock);
}

fn no_cost() -> OperationCost {
    let mut cost = OperationCost::default();
    none(&mut cost);
    cost
}

/// Sets `cost` to the result for an operation without cost data.
fn none(cost: &mut OperationCost) {
    cost.server = Cost::default();
    cost.clock = None;
    cost.basis = CostSource::NoCost;
    cost.doubts.clear();
    cost.doubts.push(Caveat::NoCost);
}

#[cfg(test)]
mod tests;
