//! `params`: the paper's arithmetic.

use crate::harness::Place;

const SOLID: &str = "PolyLine gxmode=GXcopy linestyle=LineSolid fillstyle=FillSolid linewidth=0";

#[test]
fn cost_tables_of_the_1991_machines_are_built_in() {
    let list = Place::new().ok(["params", "list"]);
    for name in ["sun4-ipc", "decstation-3100", "hp9000-350"] {
        assert!(list.contains(name), "{list}");
    }
    assert!(
        Place::new()
            .ok(["params", "show", "sun4-ipc"])
            .contains("19161.61")
    );
}

#[test]
fn measured_op_size_has_the_exact_cost() {
    let cost = Place::new().run(["params", "cost", "sun4-ipc", SOLID, "100"]);
    assert!(cost.succeeded().contains("0.0522 ms"), "{cost}");
    assert!(!cost.stderr().contains("warning"), "{cost}");
}

#[test]
fn cost_is_linear_between_op_sizes() {
    // The paper prints 0.07385; its own rule yields 0.0740.
    let cost = Place::new().run(["params", "cost", "sun4-ipc", SOLID, "200"]);
    assert!(cost.succeeded().contains("0.0740 ms"), "{cost}");
}

#[test]
fn missing_attribute_is_substituted_with_a_warning() {
    let request =
        "PolyLine gxmode=GXxor linestyle=LineDoubleDash fillstyle=FillStippled linewidth=10";
    let cost = Place::new().run(["params", "cost", "sun4-ipc", request, "100"]);
    assert!(cost.succeeded().contains("22.0702 ms"), "{cost}");
    let warning = cost.stderr();
    assert!(
        warning.contains("FillStippled") && warning.contains("FillOpaqueStippled"),
        "{cost}"
    );
}

#[test]
fn request_without_cost_data_is_an_error() {
    let cost = Place::new().run(["params", "cost", "sun4-ipc", "RENDER:Composite", "100"]);
    cost.failed_with_one_line(1);
}

/// The paper's Table 1, plus the cost of a request that is not in it.
#[test]
fn params_table_has_requests_sizes_and_servers() {
    let place = Place::new();
    let machines = "params table sun4-ipc decstation-3100 hp9000-350";
    let text = place.ok(machines.split(' '));
    let row = |name: &str| text.lines().find(|line| line.starts_with(name));
    let words: Vec<&str> = row("PutImage").expect("a row").split_whitespace().collect();
    assert_eq!(words, ["PutImage", "100", "0.2900", "0.8400", "1.46"]);
    let all = "params table sun4-ipc xvfb-24 xvfb-8 xephyr xvnc xorg-dummy --request PolyLine \
               --request RENDER:Composite";
    let wide = place.ok(all.split_whitespace());
    for text in [&text, &wide] {
        let fits = text.lines().all(|line| line.chars().count() <= 80);
        assert!(fits, "{text}");
    }
    // The sentence may be in two lines.
    let words = wide.replace('\n', " ");
    assert!(
        words.contains("xorg-dummy") && words.contains("no cost data"),
        "{wide}"
    );
    let words: Vec<&str> = machines.split(' ').collect();
    let json = place.json([&words[..], &["--format", "json"]].concat());
    assert_eq!(json["requests"][0]["servers"][0]["ms"], 0.29);
    let csv = place.ok([&words[..], &["--format", "csv"]].concat());
    assert_eq!(csv.lines().count(), 1 + 17 * 3, "{csv}");
    let wrong = place.run("params table sun4-ipc --request PolyLin".split(' '));
    assert!(wrong.failed_with_one_line(2).contains("PolyLine"));
    let none = place.run("params table sun4-ipc --request RENDER:Composite".split(' '));
    none.failed_with_one_line(1);
}
