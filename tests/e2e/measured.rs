//! Measured server time equals the kernel's CPU time, whatever the program and the cost table.

use std::path::Path;

use crate::harness::{Place, needs};
use serde_json::Value;
use x11prof_analyzer::{
    FRAME_MS, LiveProfile, NowOptions, Profile, ProfileReport, TimeSource, TimeSourceOption,
    profile_trace,
};
use x11prof_cost_model::{Network, ServerParameters, Substitutions};
use x11prof_trace::Reader;

/// Records `shell` on a private Xvfb. Returns the report with timed handlers and the report with attributed time.
fn recorded(shell: &str) -> [Value; 2] {
    let place = Place::new();
    let words = ["record", "--server", "xvfb", "-o", "it.mcap", "--"];
    // A program that is killed on purpose has its own exit status.
    place.run(words.into_iter().chain(["sh", "-c", shell]));
    let report = ["report", "--format", "json", "--params", "xvfb-24"];
    ["timed", "attributed"].map(|basis| {
        place.json(
            report
                .into_iter()
                .chain(["--time-source", basis, "it.mcap"]),
        )
    })
}

/// Asserts that the total is the kernel's CPU time and that the rows add up to it.
fn measured(shell: &str) {
    let [timed, measured] = recorded(shell);
    assert_eq!(timed["server"]["time_source"], "timed", "{timed:#}");
    assert_eq!(
        measured["server"]["time_source"], "attributed",
        "{measured:#}"
    );
    // Timed handlers need no cost table.
    let doubts = timed["warnings"].as_array().expect("warnings").iter();
    let of_costs = ["substituted", "extrapolated", "no_cost_data"];
    let mut of_costs = doubts.filter(|doubt| of_costs.iter().any(|kind| doubt["kind"] == *kind));
    assert_eq!(of_costs.next(), None);
    adds_up(&timed);
    adds_up(&measured);
}

fn adds_up(report: &Value) {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let total = &report["total"];
    let (server, kernel) = (number(&total["server_ms"]), number(&total["server_cpu_ms"]));
    let ratio = server / kernel;
    assert!((0.97..1.03).contains(&ratio), "{ratio}: {report:#}");
    let requests = report["requests"].as_array().expect("requests");
    let lines: f64 = requests.iter().map(|line| number(&line["server_ms"])).sum();
    let sum = lines + number(&report["transport"]["server_ms"]);
    assert!((sum / server - 1.0).abs() < 1e-6, "{sum} of {server}");
    // Unattributed time is small: no viewer is connected, and no timer runs.
    let own = number(&report["transport"]["unattributed"]["ms"]);
    assert!(own < 0.2 * server, "{own} of {server}: {report:#}");
}

#[test]
fn xterm_measured_times_add_up() {
    needs("xterm", "xterm");
    measured("timeout 20 xterm -e 'ls -laR /usr/share/doc | head -3000'");
}

#[test]
fn gtk_measured_times_add_up() {
    needs("gtk3-widget-factory", "gtk-3-examples");
    measured("timeout 4 gtk3-widget-factory");
}

#[test]
fn qt_measured_times_add_up() {
    needs("featherpad", "featherpad");
    needs("xdotool", "xdotool");
    // On a busy machine the start-up time is unpredictable, so wait for the window.
    let shown = "until xdotool search --onlyvisible --class featherpad; do sleep 0.2; done";
    measured(&format!(
        "timeout 60 featherpad & {shown}; sleep 2; kill $!; wait"
    ));
}

fn xvfb() -> ServerParameters {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("server-params/xvfb-24.toml");
    let text = std::fs::read_to_string(file).expect("a parameter file");
    ServerParameters::from_toml(&text).expect("parameters")
}

const XTERM: &[u8] = include_bytes!("../data/xterm.mcap");

#[test]
fn live_profile_matches_the_offline_report() {
    let (parameters, rules) = (xvfb(), Substitutions::default());
    let options = NowOptions {
        seconds: 5.0,
        frame_ms: FRAME_MS,
        basis: TimeSourceOption::Auto,
    };
    let mut live = LiveProfile::new(&parameters, &rules, &options);
    let mut reader = Reader::new(XTERM).expect("a trace");
    while let Some(record) = reader.next().expect("a record") {
        live.feed(record);
    }
    // A provisional report does not change the profile and uses the same time source.
    let before = live.report("it", &Network::NONE, false);
    assert_eq!(before.server.basis, TimeSource::Attributed);
    assert!(before.total.server_ms > 0.0, "{:?}", before.total);
    live.end();
    let mut profiles = [Profile::new(&parameters, &rules)];
    let mut reader = Reader::new(XTERM).expect("a trace");
    let summary = profile_trace(&mut reader, &mut profiles).expect("a profile");
    let offline = ProfileReport::new("it", &summary, &profiles[0], &Network::NONE);
    assert_eq!(live.report("it", &Network::NONE, false), offline);
}

#[test]
fn time_source_can_be_chosen() {
    let place = Place::new();
    let trace = place.write("xterm.mcap", XTERM);
    let trace = trace.to_string_lossy();
    let basis = |basis: &str, parameters: &str| {
        let words = [
            "report",
            "--format",
            "json",
            "--time-source",
            basis,
            "--params",
        ];
        place.json(words.into_iter().chain([parameters, &trace]))["server"]["time_source"].clone()
    };
    assert_eq!(basis("auto", "xvfb-24"), "attributed");
    assert_eq!(basis("modelled", "xvfb-24"), "modelled");
    assert_eq!(basis("attributed", "sun4-ipc"), "attributed");
}
