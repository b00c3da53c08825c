//! `cargo xtask validate accuracy`: what x11prof estimates that real programs cost real servers,
//! against the CPU time that the kernel charged those servers.
//!
//! Everything of a run (server, recorder, client) is pinned to one processor, as the parameters
//! were measured. Calibration and the server's start are outside of the time compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::workloads::{PACKAGES, WORKLOADS, Workload};
use crate::packages::{DEMO, TEST, ensure};
use crate::run::{cargo, run, target};

/// The processor that everything runs on.
const CPU: &str = "1";

/// One recording, priced.
struct Run {
    estimate_ms: f64,
    low_ms: f64,
    high_ms: f64,
    truth_ms: f64,
    priced: f64,
}

/// Runs the validation; `arguments` are the number of rounds and the kinds of server.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let rounds: usize = match arguments.first() {
        Some(number) => number
            .parse()
            .map_err(|_| format!("{number} is no number of rounds"))?,
        None => 3,
    };
    let servers: Vec<&str> = match arguments.get(1..) {
        Some(named) if !named.is_empty() => named.iter().map(String::as_str).collect(),
        _ => vec!["xvfb", "xvfb-8"],
    };
    ensure(&[DEMO, TEST, PACKAGES])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = target().join("validate");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;

    let mut rows = Vec::new();
    println!(
        "{:<24} {:<10} {:>12} {:>12} {:>7} {:>8} {:>9} {:>8}",
        "workload", "server", "estimate ms", "kernel ms", "ratio", "spread", "in bounds", "priced"
    );
    for server in &servers {
        let parameters = folder.join(format!("{server}.toml"));
        // A whole measurement takes minutes: one that is there is used again.
        if !parameters.exists() {
            run(pinned(&["measure", "--server", server, "-o"], &folder).arg(&parameters))?;
        }
        for workload in WORKLOADS {
            let runs = (0..rounds)
                .map(|_| measure(workload, server, &parameters, &folder))
                .collect::<Result<Vec<Run>, String>>()?;
            rows.push(row(workload, server, &runs));
        }
    }
    summary(&rows);
    let file = folder.join("accuracy.json");
    let text = json!({ "format": 1, "rows": rows }).to_string();
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("written: {}", file.display());
    Ok(())
}

/// x11prof on the one processor.
fn pinned(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", CPU])
        .arg(target().join("release/x11prof"))
        .args(arguments)
        .current_dir(folder);
    command
}

/// Records `workload` once and prices it.
fn measure(
    workload: &Workload,
    server: &str,
    parameters: &Path,
    folder: &Path,
) -> Result<Run, String> {
    let trace: PathBuf = folder.join("run.mcap");
    let status = pinned(&["record", "--server", server, "-o"], folder)
        .arg(&trace)
        .args(["--", "sh", "-c", workload.shell])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| error.to_string())?;
    // A program that was ended on purpose leaves its own status; a trace is what counts.
    let output = Command::new(target().join("release/x11prof"))
        .args(["report", "--format", "json", "--params"])
        .arg(parameters)
        .arg(&trace)
        .output()
        .map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!(
            "{} on {server} (record: {status}): no report: {error}: {}",
            workload.name,
            String::from_utf8_lossy(&output.stderr)
        )
    })?;
    let total = &report["total"];
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let count = number(&total["count"]);
    Ok(Run {
        estimate_ms: number(&total["server_ms"]),
        low_ms: number(&total["low_ms"]),
        high_ms: number(&total["high_ms"]),
        truth_ms: number(&total["server_cpu_ms"]),
        priced: (count - number(&total["unpriced"])) / count,
    })
}

/// Prints and keeps the row of a workload on a server.
fn row(workload: &Workload, server: &str, runs: &[Run]) -> Value {
    let ratios: Vec<f64> = runs
        .iter()
        .map(|run| run.estimate_ms / run.truth_ms)
        .collect();
    let truths: Vec<f64> = runs.iter().map(|run| run.truth_ms).collect();
    let (ratio, truth) = (median(&ratios), median(&truths));
    let spread = half_range(&ratios) / ratio;
    let estimate = median(&runs.iter().map(|run| run.estimate_ms).collect::<Vec<_>>());
    let inside = runs
        .iter()
        .filter(|run| (run.low_ms..=run.high_ms).contains(&run.truth_ms))
        .count();
    let priced = median(&runs.iter().map(|run| run.priced).collect::<Vec<_>>());
    println!(
        "{:<24} {server:<10} {estimate:>12.1} {truth:>12.1} {ratio:>7.3} {:>7.1}% {:>9} {:>7.2}%",
        workload.name,
        100.0 * spread,
        format!("{inside}/{}", runs.len()),
        100.0 * priced
    );
    json!({
        "workload": workload.name, "server": server, "ratio": ratio, "spread": spread,
        "estimate_ms": estimate, "truth_ms": truth, "truth_spread": half_range(&truths) / truth,
        "inside_bounds": inside, "runs": runs.len(), "priced": priced,
    })
}

fn summary(rows: &[Value]) {
    let errors: Vec<f64> = rows
        .iter()
        .filter_map(|row| row["ratio"].as_f64())
        .map(|ratio| (ratio - 1.0).abs())
        .collect();
    let mut sorted = errors.clone();
    sorted.sort_by(f64::total_cmp);
    let p95 = sorted
        .get((sorted.len() * 95).div_ceil(100).saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN);
    println!(
        "same server: median |error| {:.1} %, 95th percentile {:.1} %, over {} pairs",
        100.0 * median(&errors),
        100.0 * p95,
        rows.len()
    );
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn half_range(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most - least) / 2.0
}
