//! Costs of the paper's machines, and of synthetic entries.

use x11prof_session::{Effect, Operation, Value};

use super::{CostTable, MAX_ATTRIBUTE_SETS, REMEMBERED_ITEMS};
use crate::{
    Caveat, Clock, Cost, CostSource, Micros, OperationCost, ServerParameters, Substitutions,
    built_in,
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

fn ms(cost: &OperationCost, decimals: usize) -> String {
    format!("{:.decimals$}", cost.server.time.as_ms())
}

const SOLID: &str = "PolyLine gxmode=GXcopy linestyle=LineSolid fillstyle=FillSolid linewidth=0";

/// The three examples of the paper, section "Profiler details".
#[test]
fn paper_examples_are_reproduced() {
    let mut sun = table("sun4-ipc");
    let exact = sun.cost(&operation(SOLID, 100.0));
    assert_eq!(
        (ms(&exact, 4).as_str(), exact.basis),
        ("0.0522", CostSource::Exact)
    );
    assert_eq!(exact.clock, Some(Clock::Wall));
    assert_eq!(exact.doubts, []);
    assert_eq!(exact.server, Cost::exact(exact.server.time));

    // The paper prints 0.07385, which does not follow from its own rule.
    let between = sun.cost(&operation(SOLID, 200.0));
    assert_eq!(
        (ms(&between, 4).as_str(), between.basis),
        ("0.0740", CostSource::Interpolated)
    );
    assert_eq!(between.doubts, []);

    let stippled = sun.cost(&operation(
        "PolyLine gxmode=GXxor linestyle=LineDoubleDash fillstyle=FillStippled linewidth=10",
        100.0,
    ));
    assert_eq!(
        (ms(&stippled, 2).as_str(), stippled.basis),
        ("22.07", CostSource::Substituted)
    );
    let doubt = Caveat::Substituted {
        attribute: "fillstyle".into(),
        from: Some(Value::Name("FillStippled".into())),
        to: Value::Name("FillOpaqueStippled".into()),
    };
    assert_eq!(stippled.doubts, [doubt]);
}

#[test]
fn paper_table_1_is_reproduced() {
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
            let cost = table.cost(&operation(text, size));
            assert_eq!(cost.basis, CostSource::Exact, "{server} {text}");
            assert!(
                (cost.server.time.as_ms() - expected[index]).abs() < 1e-9,
                "{server} {text}"
            );
        }
    }
    let text = table("sun4-ipc").cost(&operation("PolyText8 fontname=6x13", 32.0));
    assert_eq!(ms(&text, 5), "1.06994"); // Figure 6's rate, not Table 1's 1.07 ms
}

#[test]
fn unmeasured_operation_has_no_cost_data() {
    let cost = table("sun4-ipc").cost(&operation("PolyArc", 1.0));
    assert_eq!((cost.basis, cost.clock), (CostSource::NoCost, None));
    assert_eq!(
        (cost.server, cost.doubts),
        (Cost::default(), vec![Caveat::NoCost])
    );
}

#[test]
fn empty_rules_leave_unmatched_operations_without_cost() {
    let parameters = built_in()[2].parameters().unwrap();
    let rules = Substitutions::parse("format = 1\n[attribute]\n").unwrap();
    let mut table = CostTable::new(&parameters, &rules);
    let cost = table.cost(&operation("PolyText8 fontname=9x15", 8.0));
    assert_eq!(cost.basis, CostSource::NoCost);
    assert_eq!(
        table.cost(&operation("PolyText8 fontname=6x13", 8.0)).basis,
        CostSource::Exact
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
fn cpu_clock_is_preferred_and_wall_clock_selectable() {
    let line = operation("PolyLine gxmode=GXcopy linewidth=0", 10.0);
    let noop = operation("NoOperation", 0.0);
    let mut cpu = CostTable::new(&measured(), &Substitutions::default());
    let cost = cpu.cost(&line);
    assert_eq!(
        (cost.server.time, cost.clock),
        (Micros(3.0), Some(Clock::Cpu))
    );
    assert_eq!(cpu.cost(&noop).clock, Some(Clock::Wall));
    let mut wall = CostTable::with_clock(&measured(), &Substitutions::default(), Clock::Wall);
    let cost = wall.cost(&line);
    assert_eq!(
        (cost.server.time, cost.clock),
        (Micros(4.0), Some(Clock::Wall))
    );
}

#[test]
fn costs_between_measured_widths_are_interpolated() {
    let mut table = CostTable::new(&measured(), &Substitutions::default());
    let cost = table.cost(&operation("PolyLine gxmode=GXcopy linewidth=5", 10.0));
    assert_eq!(
        (cost.server.time, cost.basis),
        (Micros(8.0), CostSource::Interpolated)
    );
    assert!((cost.server.low.0 - 7.2).abs() < 1e-9 && (cost.server.high.0 - 8.8).abs() < 1e-9);
    assert_eq!(cost.doubts, []);
}

#[test]
fn substitution_bounds_span_all_measured_values() {
    let mut table = CostTable::new(&measured(), &Substitutions::default());
    let cost = table.cost(&operation("PolyLine gxmode=GXand linewidth=0", 10.0));
    assert_eq!(
        (cost.server.time, cost.basis),
        (Micros(6.0), CostSource::Substituted)
    );
    assert!((cost.server.low.0 - 2.7).abs() < 1e-9);
    assert_eq!(cost.server.high, Micros(6.0));
}

#[test]
fn request_without_effect_has_only_its_fixed_cost() {
    let mut table = CostTable::new(&measured(), &Substitutions::default());
    let mut line = operation("PolyLine gxmode=GXcopy linewidth=0", 10.0);
    assert_eq!(table.look_up(&line).1.time, Micros(1.0));
    line.effect = Effect::Unknown;
    assert_eq!(table.cost(&line).server.time, Micros(3.0));
    line.effect = Effect::Nothing;
    let cost = table.cost(&line);
    assert_eq!(
        (cost.server.time, cost.basis),
        (Micros(1.0), CostSource::Exact)
    );
}

#[test]
fn items_without_a_fixed_cost_count_as_one() {
    let mut table = table("sun4-ipc");
    let mut line = operation(SOLID, 100.0);
    line.items = vec![50.0, 50.0];
    let cost = table.cost(&line);
    assert_eq!(
        (ms(&cost, 4).as_str(), cost.doubts),
        ("0.0522", vec![Caveat::OneItem])
    );
}

#[test]
fn cost_cache_is_bounded_and_changes_no_cost() {
    let mut table = table("sun4-ipc");
    let first = table.cost(&operation("PolyText8 fontname=6x13 depth=0", 8.0));
    for depth in 1..=MAX_ATTRIBUTE_SETS + 10 {
        let text = format!("PolyText8 fontname=6x13 depth={depth}");
        assert_eq!(table.cost(&operation(&text, 8.0)), first);
    }
    let text = &table.tables[table.places[&"PolyText8".into()]];
    assert!(text.found.len() <= MAX_ATTRIBUTE_SETS);
}

#[test]
fn cached_cost_is_reused_only_for_equal_sizes() {
    let mut remembers = table("sun4-ipc");
    let long = vec![10.0; REMEMBERED_ITEMS + 1];
    let sizes = [
        vec![50.0],
        vec![50.0],
        vec![50.0, 60.0],
        vec![],
        long,
        vec![50.0],
    ];
    for items in sizes {
        for effect in [Effect::Full, Effect::Nothing] {
            let mut line = operation(SOLID, 0.0);
            line.op_size = items.iter().sum();
            (line.items, line.effect) = (items.clone(), effect);
            assert_eq!(remembers.cost(&line), table("sun4-ipc").cost(&line));
        }
    }
    let line = &remembers.tables[remembers.places[&"PolyLine".into()]];
    let kept = line.resolved.iter().flat_map(|found| &found.costs);
    assert!(kept.filter(|kept| kept.op_size == 50.0).count() == 1 && line.resolved.len() == 1);
}
