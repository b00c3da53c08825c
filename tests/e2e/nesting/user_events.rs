//! The example files of user-defined events, applied to the programs that they describe.

use serde_json::Value;

use super::session::{Session, number, text};
use crate::harness::needs;

const XTERM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/docs/examples/xterm-events.toml"
);
const MOUSEPAD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/docs/examples/mousepad-events.toml"
);

/// The event types of a report, in the order of the file.
fn types(report: &Value) -> Vec<&Value> {
    report["events"].as_array().into_iter().flatten().collect()
}

fn count(types: &[&Value], name: &str) -> f64 {
    let of = types.iter().find(|of| text(of, "name") == name);
    of.map_or(f64::NAN, |of| number(of, "count"))
}

#[test]
fn xterm_user_events_are_found() -> Result<(), String> {
    needs("xterm", "xterm");
    let mut session = Session::new(&[]);
    session.start("xterm", &["-geometry", "80x24+0+0", "-e", "cat"]);
    session.until_seen("xterm");
    session.look(400);
    session.person("mousemove 60 60");
    for key in ["a", "b", "c", "Return"] {
        session.person(&format!("key {key}"));
        session.look(200);
    }
    session.person("mousedown 1");
    session.look(150);
    session.person("mousemove 120 60");
    session.look(150);
    session.person("mouseup 1");
    session.look(300);
    let report = session.end();
    let json: Value =
        serde_json::from_str(&report.with(&["--format", "json", "--events", XTERM])).expect("JSON");
    let types = types(&json);
    let counts: Vec<f64> = ["Typing", "Command", "Selecting", "Redraw"]
        .iter()
        .map(|name| count(&types, name))
        .collect();
    if counts != [4.0, 1.0, 1.0, 1.0] {
        return Err(format!("{counts:?}: {types:#?}"));
    }
    // The button was held for at least 300 ms.
    let selecting = &types[2]["time_ms"];
    if number(selecting, "mean") < 290.0 {
        return Err(format!("{selecting:#}"));
    }
    let typing = types[0];
    let sums = [
        "time_ms",
        "client_ms",
        "requests",
        "bytes",
        "round_trips",
        "unfreed",
    ];
    for name in sums {
        let of = &typing[name];
        let mean = number(of, "total") / 4.0;
        assert!((number(of, "mean") - mean).abs() < 1e-6, "{name}: {of:#}");
        assert!(of["standard_deviation"].is_number(), "{name}: {of:#}");
    }
    let xml = report.with(&["--format", "xml", "--events", XTERM]);
    assert_eq!(xml.matches("<EVENT START='").count(), 4, "{xml}");
    assert!(
        xml.contains("NAME='Typing' TYPE='input'>\n  <STATS CALLS='4'"),
        "{xml}"
    );
    let shown = report.with(&["--events", XTERM]);
    assert!(shown.contains("Selecting"), "{shown}");
    Ok(())
}

#[test]
fn mousepad_user_events_are_found() -> Result<(), String> {
    needs("mousepad", "mousepad");
    let mut session = Session::new(&[]);
    session.start("mousepad", &["--disable-server"]);
    session.until_seen("mousepad");
    session.look(1000);
    session.person("mousemove 200 200");
    session.person("click 1");
    session.look(400);
    for key in ["a", "b", "c"] {
        session.person(&format!("key {key}"));
        session.look(300);
    }
    let report = session.end();
    let json: Value =
        serde_json::from_str(&report.with(&["--format", "json", "--events", MOUSEPAD]))
            .expect("JSON");
    let types = types(&json);
    let of = |name| count(&types, name);
    let right = of("Typing") == 3.0 && of("Click") == 1.0 && of("Title") >= 1.0;
    match right && of("Window shown") >= 1.0 {
        true => Ok(()),
        false => Err(format!("{types:#?}")),
    }
}

#[test]
fn events_file_error_has_a_line_number() {
    let place = crate::harness::Place::new();
    let file = place.write(
        "events.toml",
        b"format = 1\n[[event]]\nname = \"A\"\nstart = 5\n",
    );
    let trace = crate::harness::xterm_trace();
    let mut words = vec!["episodes", "--events"];
    let (file, trace) = (file.to_string_lossy(), trace.to_string_lossy());
    words.extend([&*file, &*trace]);
    let said = place.run(&words).failed_with_one_line(1);
    assert!(
        said.contains("line 4: ") && said.contains("expected"),
        "{said}"
    );
    let said = place
        .run(["episodes", "--format", "xml", &*trace])
        .failed_with_one_line(2);
    assert!(said.contains("--events"), "{said}");
}
