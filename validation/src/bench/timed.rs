//! `cargo xtask bench timed`: the server CPU overhead of handler times. Runs programs alternately on a server that
//! `record --server` started and times, and on a server that it did not start. The CPU time comes from the kernel.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use xtask::packages::{DEMO, MORE_PROGRAMS, Needed, TEST, ensure};
use xtask::run::{cargo, run, target};

use super::way::median;
use super::x_server::XServer;

/// Pairs of runs of each program.
const ROUNDS: usize = 5;
/// A program that uses Xaw.
pub(super) const XFIG: &[Needed] = &[Needed {
    program: "xfig",
    package: "xfig",
}];
/// The processors of the server.
const ANY_CPU: &str = "0-1";

/// The time limit of a recording in seconds. Daemons that some programs start stay connected.
pub(super) const SECONDS: &str = "5";
/// The programs.
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    ("noop", "x11perf -repeat 1 -time 1 -reps 1000000 -noop"),
    ("rect10", "x11perf -repeat 1 -time 1 -reps 10000 -rect10"),
    ("ftext", "x11perf -repeat 1 -time 1 -reps 10000 -ftext"),
    ("prop", "x11perf -repeat 1 -time 1 -reps 5000 -prop"),
    (
        "putimage10",
        "x11perf -repeat 1 -time 1 -reps 20000 -putimage10",
    ),
    ("xterm", "xterm -e seq 20000"),
    ("emacs", "emacs -Q"),
    ("gtk3-widget-factory", "timeout 3 gtk3-widget-factory"),
    ("mousepad", "timeout 3 mousepad"),
    ("featherpad", "timeout 3 featherpad"),
    ("xfig", "timeout 3 xfig"),
    ("wish", "timeout 3 wish /dev/null"),
];

/// Measures the programs that `arguments` name, or all, and prints a row for each.
pub(super) fn bench(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS, XFIG])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    println!("| program | requests | server's ms, untimed | timed | more, median (quarters) |");
    println!("|---|---:|---:|---:|---:|");
    let mut all = Vec::new();
    for (name, shell) in PROGRAMS {
        if !(arguments.is_empty() || arguments.iter().any(|one| one == name)) {
            continue;
        }
        let (mut plain, mut timed, mut more, mut requests) = (vec![], vec![], vec![], 0);
        for round in 0..=ROUNDS {
            let mut pair = [0.0; 2];
            for place in [round % 2, 1 - round % 2] {
                (pair[place], requests) = server_ms(shell, place == 1, folder.path())?;
            }
            // The first round only loads the program's files into memory.
            if round > 0 {
                plain.push(pair[0]);
                timed.push(pair[1]);
                more.push(100.0 * (pair[1] / pair[0] - 1.0));
            }
        }
        let middle = median(&mut more);
        all.push(middle);
        println!(
            "| {name} | {requests} | {:.1} | {:.1} | {middle:+.1} % ({:+.1} to {:+.1}) |",
            median(&mut plain),
            median(&mut timed),
            more[more.len() / 4],
            more[more.len() * 3 / 4],
        );
    }
    println!("median of all: {:+.1} %", median(&mut all));
    Ok(())
}

/// The server's CPU time in milliseconds while the program ran, and the number of requests.
fn server_ms(shell: &str, timed: bool, folder: &Path) -> Result<(f64, u64), String> {
    let x11prof = target().join("release/x11prof");
    let trace = folder.join("bench.mcap");
    let mut record = Command::new(&x11prof);
    record
        .args(["record", "--seconds", SECONDS, "-o"])
        .arg(&trace);
    let other = match timed {
        true => {
            record.args(["--server", "xvfb"]);
            None
        }
        false => {
            let other = XServer::start(ANY_CPU)?;
            record.args(["--display", &other.display()]);
            Some(other)
        }
    };
    record.args(["--", "sh", "-c", shell]).current_dir(folder);
    record.env("HOME", folder);
    let output = record.stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    drop(other);
    let mut report = Command::new(&x11prof);
    report.args(["report", "--format", "json"]).arg(&trace);
    let report = report.output().map_err(|error| error.to_string())?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&report.stdout).map_err(|_| said())?;
    let basis = report["server"]["time_source"].as_str();
    if timed != (basis == Some("timed")) {
        return Err(format!("{shell}: the basis is {basis:?}: {}", said()));
    }
    let total = &report["total"];
    let ms = total["server_cpu_ms"].as_f64().ok_or_else(said)?;
    Ok((ms, total["count"].as_u64().unwrap_or(0)))
}
