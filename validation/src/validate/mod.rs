//! `cargo xtask validate …`: checks results against independent measurements that take too long for a test.

mod ablate;
mod attach;
mod audit;
mod calibration;
mod carried;
mod desktop;
mod diff;
mod diverge;
mod division;
mod driven;
mod episodes;
mod exports;
mod figures;
mod forecast;
mod guest;
mod issues;
mod large;
mod long_trace;
mod measure;
mod memory;
mod page;
mod pairs;
mod play;
mod programs;
mod rates;
mod refit;
mod replay;
mod replay_same;
mod ring;
mod roundtrips;
mod suites;
mod timed;
mod tunnel;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use xtask::packages::{COVERAGE, DEMO, MORE_PROGRAMS, NESTING, TEST, ensure};
use xtask::run::{cargo, output, run, target};

/// Runs the validation that `arguments` names.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    match arguments.first().map(String::as_str) {
        Some("ablate") => ablate::validate(),
        Some("attach") => attach::validate(&arguments[1..]),
        Some("audit") => audit::validate(&arguments[1..]),
        Some("carried") => carried::validate(&arguments[1..]),
        Some("diff") => diff::validate(&arguments[1..]),
        Some("diverge") => diverge::validate(&arguments[1..]),
        Some("division") => division::validate(&arguments[1..]),
        Some("episodes") => episodes::validate(&arguments[1..]),
        Some("exports") => exports::validate(),
        Some("figures") => figures::validate(&arguments[1..]),
        Some("guest") => guest::validate(&arguments[1..]),
        Some("issues") => issues::validate(&arguments[1..]),
        Some("calibration") => measure::validate(&arguments[1..]),
        Some("memory") => memory::validate(&arguments[1..]),
        Some("page") => page::validate(&arguments[1..]),
        Some("drive") => play::validate(&arguments[1..]),
        Some("programs") => large::validate(&arguments[1..]),
        Some("replay") => replay::validate(&arguments[1..]),
        Some("ring") => ring::validate(&arguments[1..]),
        Some("network") => network(&arguments[1..]),
        Some("suites") => suites::validate(&arguments[1..]),
        Some("timed") => timed::validate(&arguments[1..]),
        Some(tests @ ("coverage" | "killed" | "nesting" | "resources")) => end_to_end(tests),
        _ => Err("usage: cargo xtask validate ablate\n       \
             cargo xtask validate attach [LOAD…|user]\n       \
             cargo xtask validate audit [TRACE|FOLDER…]\n       \
             cargo xtask validate carried [half] [PROGRAM…]\n       \
             cargo xtask validate coverage\n       \
             cargo xtask validate diff [N]\n       \
             cargo xtask validate diverge [PROGRAM…]\n       \
             cargo xtask validate division [again] [FILE.toml] [PROGRAM…]\n       \
             cargo xtask validate episodes [truth [BENCHMARK…]|toolkits [TOOLKIT…]|programs [PROGRAM…]|idle]\n       \
             cargo xtask validate exports\n       \
             cargo xtask validate figures [TRACE…]\n       \
             cargo xtask validate guest [desktop] [SECONDS] [KIND…]\n       \
             cargo xtask validate issues [again|cost]\n       \
             cargo xtask validate killed\n       \
             cargo xtask validate calibration [[both] KIND…|between|x11perf]\n       \
             cargo xtask validate memory [MB [WORD…]]\n       \
             cargo xtask validate page [MB]\n       \
             cargo xtask validate nesting\n       \
             cargo xtask validate drive [plays|delays|screen|quiet|same]\n       \
             cargo xtask validate programs [PROGRAM…]\n       \
             cargo xtask validate replay [same|PROGRAM…]\n       \
             cargo xtask validate resources\n       \
             cargo xtask validate ring [SECONDS]\n       \
             cargo xtask validate network [forecast|driven|pairs|ssh|trips [PROGRAM…]]\n       \
             cargo xtask validate suites [NAME…]\n       \
             cargo xtask validate timed [KIND…]"
            .to_owned()),
    }
}

/// Runs the end-to-end tests of a module, including those that take long or have a time limit. They print their figures.
fn end_to_end(module: &str) -> Result<(), String> {
    ensure(&[DEMO, TEST, COVERAGE, MORE_PROGRAMS, NESTING])?;
    run(cargo()
        .args(["test", "--release", "--locked", "--test", "e2e", "--"])
        .arg(format!("{module}::"))
        .args(["--include-ignored", "--nocapture", "--test-threads=1"]))
}

/// Runs the long end-to-end tests with `tests` in their names, with these environment variables. Fails if there is no such
/// test.
fn long_tests(tests: &str, variables: &[(&str, &OsStr)]) -> Result<(), String> {
    let test = |more: &[&str]| {
        let mut command = cargo();
        let release = ["test", "--release", "--locked", "--test", "e2e"];
        command
            .args(release)
            .args(["--", "--ignored", tests])
            .args(more)
            .envs(variables.iter().copied());
        command
    };
    let found = output(&mut test(&["--list", "--format=terse"]))?;
    if found.is_empty() {
        return Err(format!("no end-to-end test has {tests} in its name"));
    }
    run(&mut test(&["--nocapture", "--test-threads=1"]))
}

/// The parts of `network`, or the part that the first of `arguments` names.
fn network(arguments: &[String]) -> Result<(), String> {
    type Validate = fn(&[String]) -> Result<(), String>;
    let parts: [(&str, Validate); 5] = [
        ("forecast", forecast::validate),
        ("driven", driven::validate),
        ("pairs", pairs::validate),
        ("ssh", tunnel::validate),
        ("trips", roundtrips::validate),
    ];
    let named = arguments.first().map(String::as_str);
    if named.is_some_and(|named| parts.iter().all(|(name, _)| *name != named)) {
        return Err("the parts are forecast, driven, pairs, ssh and trips".to_owned());
    }
    for (name, validate) in parts {
        if named.is_none_or(|named| named == name) {
            println!("\n## {name}\n");
            validate(arguments.get(1..).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// The report on a trace, with these cost tables or the default ones.
fn report(trace: &Path, parameters: Option<&str>) -> Result<Value, String> {
    report_on("auto", trace, parameters)
}

/// The report on a trace with a time source.
fn report_on(basis: &str, trace: &Path, parameters: Option<&str>) -> Result<Value, String> {
    let output = Command::new(target().join("release/x11prof"))
        .args(["report", "--format", "json", "--time-source", basis])
        .args(parameters.into_iter().flat_map(|name| ["--params", name]))
        .arg(trace)
        .output()
        .map_err(reported)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn reported(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    quantile(&values.collect::<Vec<_>>(), 0.5)
}

/// The value below which this share of `values` lies; NaN without values.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part * sorted.len().saturating_sub(1) as f64;
    let at = |place: f64| sorted.get(place as usize).copied().unwrap_or(f64::NAN);
    let (low, high) = (at(place.floor()), at(place.ceil()));
    low + (high - low) * place.fract()
}
