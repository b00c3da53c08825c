//! `cargo xtask validate accuracy`: what x11prof estimates that real programs cost real servers,
//! against the CPU time that the kernel charged those servers.
//!
//! Calibration and the server's start are outside of the time compared. Rows are printed as they
//! come, and the file is written anew with each, so that an interrupted run tells something.

mod choice;
mod document;
mod pace;
mod shared_core;
mod sleeps;
mod table;
mod truth;
mod workloads;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use x11prof_cost_model::ServerParameters;
use x11prof_proxy::ServerKind;

use self::choice::{Choice, Start};
use self::pace::Pace;
use self::table::{Crossed, Rounds};
use self::truth::Stage;
use self::workloads::{PACKAGES, WORKLOADS, Workload};
use crate::packages::{DEMO, TEST, ensure};
use crate::run::{cargo, run, target};

/// What is written, in the folder of the recordings: all figures, and tables of them.
const FILE: &str = "accuracy.json";
const TABLES: &str = "accuracy.md";

/// Runs the validation that `arguments` choose.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let choice = Choice::new(arguments)?;
    ensure(&[DEMO, TEST, PACKAGES])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let ours = ["build", "--release", "--locked", "--example", "shm_painter"];
    run(cargo().args(ours))?;
    let folder = target().join("validate");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for &kind in &choice.servers {
        let parameters = parameters(kind);
        // A whole measurement takes minutes: one that is there is used again.
        if !parameters.exists() {
            let arguments = ["measure", "--server", kind.name(), "-o"];
            run(truth::pinned(&arguments, &folder).arg(&parameters))?;
        }
    }

    let mut rows = match choice.start {
        Start::More | Start::Again => last(&folder)?,
        _ => Vec::new(),
    };
    let mut failed = Vec::new();
    if choice.start == Start::Again {
        again(&choice, &mut rows, &folder)?;
    } else {
        run_rounds(&choice, &mut rows, &mut failed, &folder)?;
    }
    let mut crossed = Vec::new();
    for workload in WORKLOADS {
        for pair in pairs(&rows) {
            if let Some(pair) = cross(workload, pair, &rows, &folder)? {
                pair.print();
                crossed.push(pair);
            }
        }
    }
    if choice.start != Start::Again {
        write(&folder, &rows, &crossed, &failed)?;
    }
    table::summary(&rows, &crossed);
    let even = shared_core::even(&rows, &crossed);
    if let Some((rows, crossed)) = &even {
        println!("with the truths at one pace, the mean of all:");
        table::summary(rows, crossed);
    }
    let minutes = sleeps::minutes(&rows, &folder)?;
    sleeps::summary(&minutes);
    let tables = folder.join(TABLES);
    std::fs::write(
        &tables,
        document::document(&rows, &crossed, even.as_ref(), &minutes),
    )
    .map_err(|error| format!("{}: {error}", tables.display()))?;
    println!("tables: {}", tables.display());
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\n"))
    }
}

/// All rounds; a row is printed, and the file written anew, as each comes.
fn run_rounds(
    choice: &Choice,
    rows: &mut Vec<Rounds>,
    failed: &mut Vec<String>,
    folder: &Path,
) -> Result<(), String> {
    let mut chosen = Vec::new();
    for workload in &choice.workloads {
        for &kind in choice.servers.iter().filter(|&&it| workload.runs_on(it)) {
            let known = rows.iter().position(|row| row.is_of(workload, kind));
            let at = known.unwrap_or_else(|| {
                rows.push(Rounds::new(workload.name, kind.name()));
                rows.len() - 1
            });
            chosen.push((*workload, kind, at));
        }
    }
    let had: Vec<usize> = chosen.iter().map(|it| rows[it.2].runs()).collect();
    let rounds = choice.rounds(had.iter().copied());
    let to_come = chosen.iter().zip(&had).flat_map(|((workload, ..), had)| {
        std::iter::repeat_n(workload.name, rounds.saturating_sub(*had))
    });
    let mut pace = Pace::new(to_come);
    // Every round is of everything, so that the spread over rounds has the machine's drift in it.
    for round in 1..=rounds {
        println!("round {round} of {rounds}");
        table::heading();
        for &(workload, kind, at) in &chosen {
            let row = &mut rows[at];
            if row.runs() >= round {
                continue;
            }
            let start = Instant::now();
            // One that fails is told of and left out; the others are worth having.
            match once(workload, kind, row, folder) {
                Ok(()) => row.print(),
                Err(why) => {
                    let why = format!("{kind}: {why}");
                    println!("{why}");
                    failed.push(why);
                }
            }
            pace.took(workload.name, start.elapsed());
            eprintln!("{}", pace.shown());
            write(folder, rows, &[], failed)?;
        }
    }
    rows.retain(|row| row.runs() > 0);
    Ok(())
}

/// The rows of the last run.
fn last(folder: &Path) -> Result<Vec<Rounds>, String> {
    let file = folder.join(FILE);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let last: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let rows = last["rows"].as_array().into_iter().flatten();
    Ok(rows.filter_map(Rounds::from_json).collect())
}

/// The recordings of the last run priced again, for what has changed in the model.
fn again(choice: &Choice, rows: &mut Vec<Rounds>, folder: &Path) -> Result<(), String> {
    table::heading();
    let mut chosen = Vec::new();
    for workload in &choice.workloads {
        for &kind in &choice.servers {
            if let Some(at) = rows.iter().position(|row| row.is_of(workload, kind)) {
                let mut row = rows.swap_remove(at);
                let trace = truth::trace(folder, workload, kind);
                row.again(truth::price(&trace, &parameters(kind))?);
                row.print();
                chosen.push(row);
            }
        }
    }
    *rows = chosen;
    Ok(())
}

/// One round of a workload on a server: once unrecorded, for the truth, and once recorded.
fn once(
    workload: &Workload,
    kind: ServerKind,
    row: &mut Rounds,
    folder: &Path,
) -> Result<(), String> {
    let stage = Stage { kind };
    let alone = if workload.waits {
        sleeps::beside(kind, || stage.alone(workload, folder))?
    } else {
        stage.alone(workload, folder)?
    };
    let trace = truth::trace(folder, workload, kind);
    stage.record(workload, &trace, folder)?;
    let priced = truth::price(&trace, &parameters(kind))?;
    row.push(alone, priced);
    Ok(())
}

/// The last recording of one server, priced for the other.
fn cross(
    workload: &Workload,
    (from, to): (ServerKind, ServerKind),
    rows: &[Rounds],
    folder: &Path,
) -> Result<Option<Crossed>, String> {
    let row = |kind: ServerKind| rows.iter().find(|row| row.is_of(workload, kind));
    let (Some(recorded), Some(other)) = (row(from), row(to)) else {
        return Ok(None);
    };
    let trace = truth::trace(folder, workload, from);
    let (there, here) = (
        truth::price(&trace, &parameters(to))?,
        truth::price(&trace, &parameters(from))?,
    );
    Ok(Some(Crossed {
        workload: workload.name,
        from: from.name(),
        to: to.name(),
        estimate_ms: there.estimate_ms,
        naive_ms: here.estimate_ms,
        recorded_ms: here.recorded_ms,
        truth_ms: other.truth(),
        from_truth_ms: recorded.truth(),
    }))
}

/// All ordered pairs of servers of one depth.
fn pairs(rows: &[Rounds]) -> Vec<(ServerKind, ServerKind)> {
    let mut servers: Vec<ServerKind> = Vec::new();
    for kind in rows.iter().filter_map(Rounds::kind) {
        if !servers.contains(&kind) {
            servers.push(kind);
        }
    }
    let shallow = |kind: ServerKind| kind == ServerKind::Xvfb8;
    let all = servers
        .iter()
        .flat_map(|&from| servers.iter().map(move |&to| (from, to)));
    all.filter(|&(from, to)| from != to && shallow(from) == shallow(to))
        .collect()
}

fn parameters(kind: ServerKind) -> PathBuf {
    target().join(format!("validate/{kind}.toml"))
}

/// A parameter file.
fn read(file: &Path) -> Result<ServerParameters, String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| told(&error))?;
    ServerParameters::from_toml(&text).map_err(|error| told(&error))
}

fn write(
    folder: &Path,
    rows: &[Rounds],
    crossed: &[Crossed],
    failed: &[String],
) -> Result<(), String> {
    let file = folder.join(FILE);
    let rows = rows.iter().filter(|row| row.runs() > 0);
    let rows: Vec<_> = rows.map(Rounds::json).collect();
    let crossed: Vec<_> = crossed.iter().map(Crossed::json).collect();
    let text =
        json!({ "format": 3, "rows": rows, "across": crossed, "failed": failed }).to_string();
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}
