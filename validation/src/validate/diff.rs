//! `cargo xtask validate diff [N]`: the number of false differences in N comparisons of a program with itself, five
//! recordings on each side. One in twenty is expected.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::reported;
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// Recordings on each side.
const RUNS: usize = 5;

/// Compares each of two programs with itself `arguments[0]` times.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let times = match arguments.first() {
        None => 20,
        Some(word) => word
            .parse()
            .map_err(|_| format!("{word}: expected a number"))?,
    };
    ensure(&[DEMO, TEST])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = target().join("validate-diff");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let programs: [&[&str]; 2] = [&["xterm", "-e", "seq 1 3000"], &["xlsfonts", "-l"]];
    for program in programs {
        let mut found = 0;
        for comparison in 0..times {
            let traces = (0..2 * RUNS)
                .map(|run| record(&folder, run, program))
                .collect::<Result<Vec<_>, _>>()?;
            // Recordings alternate, so that changes of the machine affect both sides equally.
            let side = |odd| traces.iter().skip(odd).step_by(2);
            let real = compare(side(0), side(1))?;
            if !real.is_empty() {
                found += 1;
                println!(
                    "{} comparison {comparison}: {}",
                    program[0],
                    real.join(", ")
                );
            }
        }
        println!(
            "{}: something real was found in {found} of {times}",
            program[0]
        );
        // Two standard deviations above one in twenty.
        let expected = 0.05 * times as f64;
        if f64::from(found) > expected + 2.0 * (0.95 * expected).sqrt() {
            return Err(format!("{}: more than chance allows", program[0]));
        }
    }
    Ok(())
}

fn record(folder: &Path, run: usize, program: &[&str]) -> Result<PathBuf, String> {
    let trace = folder.join(format!("{run}.mcap"));
    let status = Command::new(target().join("release/x11prof"))
        .args(["record", "--server", "xvfb", "-o"])
        .arg(&trace)
        .arg("--")
        .args(program)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(reported)?;
    match status.success() {
        true => Ok(trace),
        false => Err(format!("recording {} failed: {status}", program[0])),
    }
}

/// The significant differences between recordings, as text.
fn compare<'a>(
    old: impl Iterator<Item = &'a PathBuf>,
    new: impl Iterator<Item = &'a PathBuf>,
) -> Result<Vec<String>, String> {
    let output = Command::new(target().join("release/x11prof"))
        .args(["diff", "--params", "xvfb-24", "--format", "json"])
        .args(old)
        .arg("--")
        .args(new)
        .output()
        .map_err(reported)?;
    let difference: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let rows = difference["rows"].as_array().ok_or("no rows")?;
    let real = rows.iter().filter(|row| row["significant"] == true);
    Ok(real
        .map(|row| {
            format!(
                "{} {} {:.1} %",
                row["quantity"],
                row["name"],
                row["percent"].as_f64().unwrap_or(0.0)
            )
        })
        .collect())
}
