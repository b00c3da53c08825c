//! `cargo xtask validate accuracy`: what x11prof estimates that real programs cost real servers,
//! against the CPU time that the kernel charged those servers.
//!
//! Calibration and the server's start are outside of the time compared. Rows are printed as they
//! come, and the file is written anew with each, so that an interrupted run tells something.

mod table;
mod truth;
mod viewer;
mod workloads;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use x11prof_proxy::ServerKind;

use self::table::{Crossed, Rounds};
use self::truth::Stage;
use self::workloads::{PACKAGES, WORKLOADS, Workload};
use crate::packages::{DEMO, TEST, ensure};
use crate::run::{cargo, run, target};

/// What is written, in the folder of the recordings.
const FILE: &str = "accuracy.json";

/// What to run.
struct Choice {
    rounds: usize,
    servers: Vec<ServerKind>,
    workloads: Vec<&'static Workload>,
    /// Whether servers that can be viewed have a viewer.
    viewed: bool,
    /// Whether kept recordings are priced again beside the truths of their run, instead of
    /// running anything.
    again: bool,
}

impl Choice {
    /// From arguments in any order: a number of rounds, kinds of server, parts of workloads' names,
    /// `viewed`, `again`.
    fn new(arguments: &[String]) -> Result<Choice, String> {
        let mut choice = Choice {
            rounds: 3,
            servers: Vec::new(),
            workloads: Vec::new(),
            viewed: false,
            again: false,
        };
        for argument in arguments {
            if let Ok(rounds) = argument.parse::<usize>() {
                choice.rounds = rounds.max(1);
            } else if let Some(kind) = ServerKind::from_name(argument) {
                choice.servers.push(kind);
            } else if argument == "viewed" {
                choice.viewed = true;
            } else if argument == "again" {
                choice.again = true;
            } else {
                let mut none = true;
                for named in WORKLOADS.iter().filter(|it| it.name.contains(argument)) {
                    none = false;
                    // Two arguments may mean one workload.
                    if choice.workloads.iter().all(|it| it.name != named.name) {
                        choice.workloads.push(named);
                    }
                }
                if none {
                    return Err(format!(
                        "{argument} is neither a number of rounds, nor a kind of server, nor in the name of a workload"
                    ));
                }
            }
        }
        if choice.servers.is_empty() {
            choice.servers = vec![ServerKind::Xvfb, ServerKind::Xephyr];
        }
        if choice.workloads.is_empty() {
            choice.workloads = WORKLOADS.iter().collect();
        }
        Ok(choice)
    }

    fn stage(&self, kind: ServerKind) -> Stage {
        Stage {
            kind,
            viewed: self.viewed,
        }
    }
}

/// Runs the validation that `arguments` choose.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let choice = Choice::new(arguments)?;
    ensure(&[DEMO, TEST, PACKAGES])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let ours = ["build", "--release", "--locked", "--example", "shm_painter"];
    run(cargo().args(ours))?;
    // What viewed servers spent is no truth for the others.
    let folder = match choice.viewed {
        true => target().join("validate/viewed"),
        false => target().join("validate"),
    };
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for &kind in &choice.servers {
        let parameters = parameters(kind);
        // A whole measurement takes minutes: one that is there is used again.
        if !parameters.exists() {
            let arguments = ["measure", "--server", kind.name(), "-o"];
            run(truth::pinned(&arguments, &folder).arg(&parameters))?;
        }
    }

    let mut rows: Vec<Rounds> = Vec::new();
    for workload in &choice.workloads {
        let of = |kind: &ServerKind| Rounds::new(workload.name, kind.name());
        rows.extend(choice.servers.iter().map(of));
    }
    let (mut crossed, mut failed) = (Vec::new(), Vec::new());
    if choice.again {
        again(&choice, &mut rows, &folder)?;
    } else {
        run_rounds(&choice, &mut rows, &mut failed, &folder)?;
    }
    for workload in &choice.workloads {
        for pair in pairs(&choice.servers) {
            if let Some(pair) = cross(workload, pair, &rows, &folder)? {
                pair.print();
                crossed.push(pair);
            }
        }
    }
    if !choice.again {
        write(&folder, &rows, &crossed, &failed)?;
    }
    rows.retain(|row| !row.is_empty());
    table::summary(&rows, &crossed);
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\n"))
    }
}

/// All rounds; a row is printed, and the file written anew, as each comes.
fn run_rounds(
    choice: &Choice,
    rows: &mut [Rounds],
    failed: &mut Vec<String>,
    folder: &Path,
) -> Result<(), String> {
    // Every round is of everything, so that the spread over rounds has the machine's drift in it.
    for round in 1..=choice.rounds {
        println!("round {round} of {}", choice.rounds);
        table::heading();
        for (at, workload) in choice.workloads.iter().enumerate() {
            let of_workload = rows.iter_mut().skip(at * choice.servers.len());
            for (row, &kind) in of_workload.zip(&choice.servers) {
                // One that fails is told of and left out; the others are worth having.
                match once(workload, choice.stage(kind), row, folder) {
                    Ok(()) => row.print(),
                    Err(why) => {
                        let why = format!("{kind}: {why}");
                        println!("{why}");
                        failed.push(why);
                    }
                }
            }
            write(folder, rows, &[], failed)?;
        }
    }
    Ok(())
}

/// The recordings of the last run priced again, for what has changed in the model.
fn again(choice: &Choice, rows: &mut [Rounds], folder: &Path) -> Result<(), String> {
    let file = folder.join(FILE);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let last: Value =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    table::heading();
    for (at, workload) in choice.workloads.iter().enumerate() {
        let of_workload = rows.iter_mut().skip(at * choice.servers.len());
        for (row, &kind) in of_workload.zip(&choice.servers) {
            let mut all = last["rows"].as_array().into_iter().flatten();
            let same = |it: &&Value| it["workload"] == row.workload && it["server"] == row.server;
            if let Some(old) = all.find(same) {
                let trace = truth::trace(folder, workload, kind);
                row.again(old, truth::price(&trace, &parameters(kind))?);
                row.print();
            }
        }
    }
    Ok(())
}

/// One round of a workload on a server: once unrecorded, for the truth, and once recorded.
fn once(workload: &Workload, stage: Stage, row: &mut Rounds, folder: &Path) -> Result<(), String> {
    let alone = stage.alone(workload, folder)?;
    let trace = truth::trace(folder, workload, stage.kind);
    stage.record(workload, &trace, folder)?;
    let priced = truth::price(&trace, &parameters(stage.kind))?;
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
    let row = |kind: ServerKind| {
        let mut measured = rows.iter().filter(|row| !row.is_empty());
        measured.find(|row| row.workload == workload.name && row.server == kind.name())
    };
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
fn pairs(servers: &[ServerKind]) -> Vec<(ServerKind, ServerKind)> {
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

fn write(
    folder: &Path,
    rows: &[Rounds],
    crossed: &[Crossed],
    failed: &[String],
) -> Result<(), String> {
    let file = folder.join(FILE);
    let rows = rows.iter().filter(|row| !row.is_empty());
    let rows: Vec<_> = rows.map(Rounds::json).collect();
    let crossed: Vec<_> = crossed.iter().map(Crossed::json).collect();
    let text =
        json!({ "format": 2, "rows": rows, "across": crossed, "failed": failed }).to_string();
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::Choice;

    #[test]
    fn arguments_name_rounds_servers_and_each_workload_once() {
        let arguments = ["2", "xvfb", "text", "viewed", "xterm"].map(str::to_owned);
        let choice = Choice::new(&arguments).expect("all of them mean something");
        assert_eq!((choice.rounds, choice.servers.len()), (2, 1));
        assert!(choice.viewed);
        let named: Vec<_> = choice.workloads.iter().map(|it| it.name).collect();
        assert_eq!(
            named,
            ["x11perf text", "xterm long text", "xterm jump scroll off"]
        );
        assert!(Choice::new(&["nonsense".to_owned()]).is_err());
    }
}
