//! The prices of operations on one server: entries by request and attributes, and what was
//! found out about the attributes met so far.

use x11prof_protocol::Symbol;
use x11prof_session::{Attributes, Effect, Operation};

use crate::hashing::FastMap;
use crate::interpolate::{Estimate, blend};
use crate::items::ItemCosts;
use crate::substitute::{Entry, Resolution, resolve};
use crate::{Basis, Clock, Cost, Doubt, Micros, Price, ServerParameters, Substitutions};

/// Sets of attributes remembered for a request. A program uses a few dozen; a trace that has more
/// than this pays for finding them again.
const MOST_REMEMBERED: usize = 4096;

/// Prices operations by a server's parameters.
#[derive(Debug, Clone)]
pub struct CostTable {
    requests: FastMap<Symbol, RequestTable>,
    rules: Substitutions,
}

#[derive(Debug, Clone, Default)]
struct RequestTable {
    /// In the order of their attributes, so that ties are always decided alike.
    entries: Vec<Entry>,
    found: FastMap<Attributes, usize>,
    resolved: Vec<Resolved>,
    /// The last of these that was asked for: neighbouring requests are often alike.
    last: usize,
}

/// What was found out about a set of attributes; `None`: nothing prices them.
#[derive(Debug, Clone)]
struct Resolved {
    attributes: Attributes,
    resolution: Option<Resolution>,
}

impl CostTable {
    /// Prices on the server's processor clock where the file has it, else on the wall's.
    pub fn new(parameters: &ServerParameters, rules: &Substitutions) -> CostTable {
        CostTable::with_clock(parameters, rules, Clock::Cpu)
    }

    /// Prices on `clock` where the file has it, else on the other.
    pub fn with_clock(
        parameters: &ServerParameters,
        rules: &Substitutions,
        clock: Clock,
    ) -> CostTable {
        let mut requests: FastMap<Symbol, RequestTable> = FastMap::default();
        for costs in &parameters.requests {
            if let Some(items) = ItemCosts::new(costs, clock) {
                let table = requests.entry(Symbol::new(&costs.name)).or_default();
                table.entries.push(Entry {
                    attributes: costs.attribute_set(),
                    costs: items,
                });
            }
        }
        for table in requests.values_mut() {
            table
                .entries
                .sort_by(|one, other| one.attributes.cmp(&other.attributes));
        }
        CostTable {
            requests,
            rules: rules.clone(),
        }
    }

    /// The price of `operation`.
    pub fn price(&mut self, operation: &Operation) -> Price {
        let mut price = unpriced();
        self.price_into(operation, &mut price);
        price
    }

    /// The price of `operation` where it did none of its work, because it failed.
    pub fn fixed(&mut self, operation: &Operation) -> Price {
        let mut price = unpriced();
        if let Some((entries, resolution)) = self.resolution(operation) {
            evaluate(entries, resolution, operation, false, &mut price);
        }
        price
    }

    /// Makes `price` that of `operation`, and gives the cost of it where it does none of its
    /// work. One look-up for both, and storage that is used again: this is done for every request.
    pub fn price_into(&mut self, operation: &Operation, price: &mut Price) -> Cost {
        let Some((entries, resolution)) = self.resolution(operation) else {
            none(price);
            return Cost::default();
        };
        let work = operation.effect != Effect::Nothing;
        evaluate(entries, resolution, operation, work, price);
        match estimate(entries, resolution, operation, false) {
            Some((fixed, _)) if work => fixed.cost,
            _ => price.server,
        }
    }

    /// The entries of an operation's request, and which of them price it.
    fn resolution(&mut self, operation: &Operation) -> Option<(&[Entry], &Resolution)> {
        let table = self.requests.get_mut(&operation.request)?;
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
        let found = table.resolved.get(table.last)?;
        Some((&table.entries, found.resolution.as_ref()?))
    }
}

impl RequestTable {
    /// Finds out which entries price `attributes`, and where that is remembered.
    fn resolve(&mut self, attributes: &Attributes, rules: &Substitutions) -> usize {
        if self.found.len() >= MOST_REMEMBERED {
            self.found.clear();
            self.resolved.clear();
        }
        let at = self.resolved.len();
        self.resolved.push(Resolved {
            attributes: attributes.clone(),
            resolution: resolve(&self.entries, attributes, rules),
        });
        self.found.insert(attributes.clone(), at);
        at
    }
}

/// What `operation` costs, and on which clock.
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
    // What stood in could have been any of them.
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

/// Makes `price` what `operation` costs.
fn evaluate(
    entries: &[Entry],
    resolution: &Resolution,
    operation: &Operation,
    work: bool,
    price: &mut Price,
) {
    let Some((estimate, clock)) = estimate(entries, resolution, operation, work) else {
        return none(price);
    };
    let doubts = &mut price.doubts;
    doubts.clear();
    doubts.extend_from_slice(&resolution.substitutions);
    price.basis = match (doubts.is_empty(), estimate.exact) {
        (false, _) => Basis::Substituted,
        (true, true) => Basis::Exact,
        (true, false) => Basis::Interpolated,
    };
    if estimate.below {
        doubts.push(Doubt::Extrapolated { beyond: false });
    }
    if estimate.beyond {
        doubts.push(Doubt::Extrapolated { beyond: true });
    }
    if estimate.one_item {
        doubts.push(Doubt::OneItem);
    }
    price.server = estimate.cost;
    price.clock = Some(clock);
}

fn unpriced() -> Price {
    let mut price = Price::default();
    none(&mut price);
    price
}

/// Makes `price` that of an operation which has none.
fn none(price: &mut Price) {
    price.server = Cost::default();
    price.clock = None;
    price.basis = Basis::Unpriced;
    price.doubts.clear();
    price.doubts.push(Doubt::Unpriced);
}

#[cfg(test)]
mod tests {
    use x11prof_session::{Effect, Operation, Value};

    use super::{CostTable, MOST_REMEMBERED};
    use crate::{
        Basis, Clock, Cost, Doubt, Micros, Price, ServerParameters, Substitutions, built_in,
    };

    fn operation(text: &str, size: f64) -> Operation {
        let mut words = text.split_whitespace();
        let mut operation = Operation::new(words.next().unwrap().into());
        for (name, value) in words.map(|word| word.split_once('=').unwrap()) {
            operation.attributes.set(name.into(), Value::parse(value));
        }
        operation.items = vec![size];
        operation.op_size = size;
        operation
    }

    fn table(server: &str) -> CostTable {
        let file = built_in().iter().find(|file| file.name == server).unwrap();
        CostTable::new(&file.parameters().unwrap(), &Substitutions::default())
    }

    fn ms(price: &Price, decimals: usize) -> String {
        format!("{:.decimals$}", price.server.time.as_ms())
    }

    const SOLID: &str =
        "PolyLine gxmode=GXcopy linestyle=LineSolid fillstyle=FillSolid linewidth=0";

    /// The three examples of the paper, section "Profiler details".
    #[test]
    fn the_papers_examples_come_out() {
        let mut sun = table("sun4-ipc");
        let exact = sun.price(&operation(SOLID, 100.0));
        assert_eq!(
            (ms(&exact, 4).as_str(), exact.basis),
            ("0.0522", Basis::Exact)
        );
        assert_eq!(exact.clock, Some(Clock::Wall));
        assert_eq!(exact.doubts, []);
        assert_eq!(exact.server, Cost::exact(exact.server.time));

        // The paper prints 0.07385, which its own rule does not give.
        let between = sun.price(&operation(SOLID, 200.0));
        assert_eq!(
            (ms(&between, 4).as_str(), between.basis),
            ("0.0740", Basis::Interpolated)
        );
        assert_eq!(between.doubts, []);

        let stippled = sun.price(&operation(
            "PolyLine gxmode=GXxor linestyle=LineDoubleDash fillstyle=FillStippled linewidth=10",
            100.0,
        ));
        assert_eq!(
            (ms(&stippled, 2).as_str(), stippled.basis),
            ("22.07", Basis::Substituted)
        );
        let doubt = Doubt::Substituted {
            attribute: "fillstyle".into(),
            from: Some(Value::Name("FillStippled".into())),
            to: Value::Name("FillOpaqueStippled".into()),
        };
        assert_eq!(stippled.doubts, [doubt]);
    }

    #[test]
    fn the_figures_of_table_1_come_out() {
        let cases = [
            ("PutImage depth=8", 90000.0, [89.45, 96.25, 537.63]),
            (SOLID, 10.0, [0.035, 0.046, 0.105]),
            ("ClearArea depth=8", 10000.0, [1.69, 1.48, 3.37]),
            ("CopyArea depth=8", 10000.0, [1.86, 1.84, 4.81]),
            (
                "PolyFillRectangle fillstyle=FillSolid",
                100.0,
                [0.049, 0.055, 0.189],
            ),
        ];
        for (index, server) in ["sun4-ipc", "decstation-3100", "hp9000-350"]
            .iter()
            .enumerate()
        {
            let mut table = table(server);
            for (text, size, expected) in cases {
                let price = table.price(&operation(text, size));
                assert_eq!(price.basis, Basis::Exact, "{server} {text}");
                assert!(
                    (price.server.time.as_ms() - expected[index]).abs() < 1e-9,
                    "{server} {text}"
                );
            }
        }
        let text = table("sun4-ipc").price(&operation("PolyText8 fontname=6x13", 32.0));
        assert_eq!(ms(&text, 5), "1.06994"); // Figure 6's rate, not Table 1's 1.07 ms
    }

    #[test]
    fn what_has_no_cost_is_unpriced() {
        let price = table("sun4-ipc").price(&operation("PolyArc", 1.0));
        assert_eq!((price.basis, price.clock), (Basis::Unpriced, None));
        assert_eq!(
            (price.server, price.doubts),
            (Cost::default(), vec![Doubt::Unpriced])
        );
    }

    #[test]
    fn rules_that_allow_nothing_leave_an_operation_unpriced() {
        let parameters = built_in()[2].parameters().unwrap();
        let rules = Substitutions::parse("format = 1\n[attribute]\n").unwrap();
        let mut table = CostTable::new(&parameters, &rules);
        let price = table.price(&operation("PolyText8 fontname=9x15", 8.0));
        assert_eq!(price.basis, Basis::Unpriced);
        assert_eq!(
            table
                .price(&operation("PolyText8 fontname=6x13", 8.0))
                .basis,
            Basis::Exact
        );
    }

    fn measured() -> ServerParameters {
        ServerParameters::from_toml(
            r#"format = 1
            [server]
            name = "test"
            [[request]]
            name = "PolyLine"
            attributes = { gxmode = "GXcopy", linewidth = 0 }
            fixed = { cpu_us = 1, wall_us = 2 }
            points = [ { size = 10, cpu_us = 3, wall_us = 4, spread = 0.1 } ]
            [[request]]
            name = "PolyLine"
            attributes = { gxmode = "GXcopy", linewidth = 10 }
            fixed = { cpu_us = 1, wall_us = 2 }
            points = [ { size = 10, cpu_us = 13, wall_us = 14, spread = 0.1 } ]
            [[request]]
            name = "PolyLine"
            attributes = { gxmode = "GXxor", linewidth = 0 }
            points = [ { size = 10, cpu_us = 6, wall_us = 7 } ]
            [[request]]
            name = "NoOperation"
            points = [ { size = 0, wall_us = 9 } ]
            "#,
        )
        .unwrap()
    }

    #[test]
    fn the_processor_clock_is_preferred_and_the_wall_can_be_asked_for() {
        let line = operation("PolyLine gxmode=GXcopy linewidth=0", 10.0);
        let noop = operation("NoOperation", 0.0);
        let mut cpu = CostTable::new(&measured(), &Substitutions::default());
        let price = cpu.price(&line);
        assert_eq!(
            (price.server.time, price.clock),
            (Micros(3.0), Some(Clock::Cpu))
        );
        assert_eq!(cpu.price(&noop).clock, Some(Clock::Wall));
        let mut wall = CostTable::with_clock(&measured(), &Substitutions::default(), Clock::Wall);
        let price = wall.price(&line);
        assert_eq!(
            (price.server.time, price.clock),
            (Micros(4.0), Some(Clock::Wall))
        );
    }

    #[test]
    fn widths_between_measured_ones_are_interpolated() {
        let mut table = CostTable::new(&measured(), &Substitutions::default());
        let price = table.price(&operation("PolyLine gxmode=GXcopy linewidth=5", 10.0));
        assert_eq!(
            (price.server.time, price.basis),
            (Micros(8.0), Basis::Interpolated)
        );
        assert!(
            (price.server.low.0 - 7.2).abs() < 1e-9 && (price.server.high.0 - 8.8).abs() < 1e-9
        );
        assert_eq!(price.doubts, []);
    }

    #[test]
    fn a_substitution_is_bounded_by_all_values_that_were_measured() {
        let mut table = CostTable::new(&measured(), &Substitutions::default());
        let price = table.price(&operation("PolyLine gxmode=GXand linewidth=0", 10.0));
        assert_eq!(
            (price.server.time, price.basis),
            (Micros(6.0), Basis::Substituted)
        );
        assert!((price.server.low.0 - 2.7).abs() < 1e-9);
        assert_eq!(price.server.high, Micros(6.0));
    }

    #[test]
    fn a_request_without_effect_costs_its_fixed_part() {
        let mut table = CostTable::new(&measured(), &Substitutions::default());
        let mut line = operation("PolyLine gxmode=GXcopy linewidth=0", 10.0);
        assert_eq!(table.fixed(&line).server.time, Micros(1.0));
        line.effect = Effect::Unknown;
        assert_eq!(table.price(&line).server.time, Micros(3.0));
        line.effect = Effect::Nothing;
        let price = table.price(&line);
        assert_eq!(
            (price.server.time, price.basis),
            (Micros(1.0), Basis::Exact)
        );
    }

    #[test]
    fn several_items_without_a_fixed_part_are_one_item() {
        let mut table = table("sun4-ipc");
        let mut line = operation(SOLID, 100.0);
        line.items = vec![50.0, 50.0];
        let price = table.price(&line);
        assert_eq!(
            (ms(&price, 4).as_str(), price.doubts),
            ("0.0522", vec![Doubt::OneItem])
        );
    }

    #[test]
    fn what_is_remembered_is_bounded_and_changes_no_price() {
        let mut table = table("sun4-ipc");
        let first = table.price(&operation("PolyText8 fontname=6x13 depth=0", 8.0));
        for depth in 1..=MOST_REMEMBERED + 10 {
            let text = format!("PolyText8 fontname=6x13 depth={depth}");
            assert_eq!(table.price(&operation(&text, 8.0)), first);
        }
        assert!(table.requests[&"PolyText8".into()].found.len() <= MOST_REMEMBERED);
    }
}
