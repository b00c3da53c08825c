//! `cargo xtask validate network forecast`: compares forecasts of start-ups over a link with recordings of the same
//! programs over that link (`record --net`).

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{median, quantile, told};
use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The programs.
const PROGRAMS: [(&str, &[&str]); 6] = [
    ("xterm", &["xterm"]),
    ("xcalc", &["xcalc"]),
    ("xclock", &["xclock"]),
    ("featherpad", &["featherpad"]),
    ("mousepad", &["mousepad"]),
    ("gtk3-widget-factory", &["gtk3-widget-factory"]),
];
/// The links, as `--net` names them.
const LINKS: [&str; 3] = ["dsl", "lte", "10Mbit/s,20ms"];
/// Seconds that a program runs here and over a link.
const SECONDS: [&str; 2] = ["6", "30"];

/// A start-up, forecast and measured, in milliseconds.
struct Pair {
    forecast: f64,
    measured: f64,
}

/// Runs the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate/forecast");
    std::fs::create_dir_all(&folder).map_err(told)?;
    let (here, there) = (folder.join("here.mcap"), folder.join("there.mcap"));
    let mut pairs = Vec::new();
    for (name, command) in PROGRAMS {
        if !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        record(command, None, &here)?;
        for link in LINKS {
            record(command, Some(link), &there)?;
            let forecast = start_up(&here, link, "forecast_ms")?;
            let measured = start_up(&there, link, "recorded_ms")?;
            let Some((forecast, measured)) = forecast.zip(measured) else {
                println!("{name} {link}: no first frame");
                continue;
            };
            let error = 100.0 * (forecast / measured - 1.0);
            println!(
                "{name} {link}: forecast {forecast:.0} ms, measured {measured:.0} ms, {error:+.1} %"
            );
            pairs.push(Pair { forecast, measured });
        }
    }
    let error = |pair: &Pair| 100.0 * (pair.forecast / pair.measured - 1.0).abs();
    let errors: Vec<f64> = pairs.iter().map(error).collect();
    println!(
        "{} start-ups: median error {:.1} %, 95 % within {:.1} %, Spearman {:.3}",
        pairs.len(),
        median(errors.iter().copied()),
        quantile(&errors, 0.95),
        spearman(&pairs)
    );
    Ok(())
}

fn record(command: &[&str], link: Option<&str>, trace: &Path) -> Result<(), String> {
    let seconds = SECONDS[usize::from(link.is_some())];
    // The programs run until timeout ends them: the status does not matter.
    Command::new(target().join("release/x11prof"))
        .args(["record", "--server", "xvfb", "-o"])
        .arg(trace)
        .args(link.into_iter().flat_map(|link| ["--net", link]))
        .args(["--", "timeout", "-k", "1", seconds])
        .args(command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
        .map_err(told)
}

/// A figure of the slowest start-up in a trace.
fn start_up(trace: &Path, link: &str, figure: &str) -> Result<Option<f64>, String> {
    let output = Command::new(target().join("release/x11prof"))
        .args(["network", "--format", "json", "--net", link])
        .arg(trace)
        .output()
        .map_err(told)?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let start_ups = report["forecast"]["start_ups"]
        .as_array()
        .into_iter()
        .flatten();
    let recorded = |one: &&Value| one["recorded_ms"].as_f64().unwrap_or(0.0);
    let slowest = start_ups.max_by(|a, b| recorded(a).total_cmp(&recorded(b)));
    Ok(slowest.and_then(|one| one[figure].as_f64()))
}

/// Spearman's rank correlation.
fn spearman(pairs: &[Pair]) -> f64 {
    let ranks = |of: fn(&Pair) -> f64| -> Vec<f64> {
        let rank = |one: &Pair| pairs.iter().filter(|other| of(other) < of(one)).count() as f64;
        pairs.iter().map(rank).collect()
    };
    let (forecast, measured) = (ranks(|one| one.forecast), ranks(|one| one.measured));
    let apart: f64 = forecast
        .iter()
        .zip(&measured)
        .map(|(a, b)| (a - b).powi(2))
        .sum();
    let n = pairs.len() as f64;
    1.0 - 6.0 * apart / (n * (n * n - 1.0))
}
