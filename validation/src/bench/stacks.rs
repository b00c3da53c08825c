//! `cargo xtask bench stacks`: the client CPU overhead of `record --stacks`. Runs programs alternately without stacks,
//! with stacks of waits, of requests and of samples. The CPU time comes from the kernel.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{cargo, run, target};

use super::timed::{PROGRAMS, SECONDS, XFIG};
use super::way::median;

/// Rounds of each program.
const ROUNDS: usize = 5;
/// The recording modes, the default one first.
const WAYS: [Option<&str>; 4] = [
    None,
    Some("--stacks=waits"),
    Some("--stacks=requests"),
    Some("--stacks=cpu"),
];

/// Measures the programs that `arguments` name, or all, and prints a row for each.
pub(super) fn bench(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS, XFIG])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!(
        "| program | clients' ms, without stacks | more with those of waits, median (quarters) | of requests | of samples | requests without a stack |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let mut all = Vec::new();
    for (name, shell) in PROGRAMS {
        if !(arguments.is_empty() || arguments.iter().any(|one| one == name)) {
            continue;
        }
        let (mut plain, mut more) = (Vec::new(), [const { Vec::new() }; 3]);
        let mut without = 0.0;
        for round in 0..=ROUNDS {
            let mut times = [0.0; WAYS.len()];
            for turn in 0..WAYS.len() {
                let way = (round + turn) % WAYS.len();
                (times[way], without) = client_ms(shell, WAYS[way], folder.path(), without)?;
            }
            // The first round only loads the program's files into memory.
            if round > 0 {
                plain.push(times[0]);
                for (more, time) in more.iter_mut().zip(&times[1..]) {
                    more.push(100.0 * (time / times[0] - 1.0));
                }
            }
        }
        let mut shown = Vec::new();
        for more in &mut more {
            let middle = median(more);
            let (low, high) = (more[more.len() / 4], more[more.len() * 3 / 4]);
            shown.push(format!("{middle:+.1} % ({low:+.1} to {high:+.1})"));
        }
        all.push(median(&mut more[1]));
        println!(
            "| {name} | {:.0} | {} | {without:.2} % |",
            median(&mut plain),
            shown.join(" | ")
        );
    }
    println!("median of all, requests: {:+.1} %", median(&mut all));
    Ok(())
}

/// The CPU time of the clients in milliseconds, and the share of requests without a stack in percent if stacks of
/// requests were recorded; otherwise `without`.
fn client_ms(
    shell: &str,
    way: Option<&str>,
    folder: &Path,
    without: f64,
) -> Result<(f64, f64), String> {
    let x11prof = target().join("release/x11prof");
    let trace = folder.join("bench.mcap");
    let mut record = Command::new(&x11prof);
    record
        .args(["record", "--server", "xvfb", "--seconds", SECONDS])
        .args(way);
    record.arg("-o").arg(&trace).args(["--", "sh", "-c", shell]);
    record.current_dir(folder).env("HOME", folder);
    let output = record.stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let mut report = Command::new(&x11prof);
    report.args(["report", "--format", "json"]).arg(&trace);
    if way == WAYS[2] {
        report.args(["--by", "stack"]);
    }
    let report = report.output();
    let report = report.map_err(|error| error.to_string())?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&report.stdout).map_err(|_| said())?;
    let total = &report["total"];
    let ms = total["client_cpu_ms"].as_f64().ok_or_else(said)?;
    let of_requests = way == WAYS[2];
    let lines = report["groups"]["lines"].as_array().into_iter().flatten();
    let unknown: u64 = lines
        .filter(|one| one["name"] == "(no stack)")
        .filter_map(|one| one["count"].as_u64())
        .sum();
    let count = total["count"].as_u64().unwrap_or(0).max(1);
    let share = 100.0 * unknown as f64 / count as f64;
    Ok((ms, if of_requests { share } else { without }))
}
