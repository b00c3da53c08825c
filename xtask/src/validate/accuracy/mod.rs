//! `cargo xtask validate accuracy`: what x11prof estimates that real programs cost real servers,
//! against the CPU time that the kernel charged those servers.
//!
//! Calibration and the server's start are outside of the time compared. Rows are printed as they
//! come, and the file is written anew with each, so that an interrupted run tells something.

mod table;
mod truth;
mod workloads;

use std::path::{Path, PathBuf};

use serde_json::json;
use x11prof_proxy::ServerKind;

use self::table::{Crossed, Rounds};
use self::workloads::{PACKAGES, WORKLOADS, Workload};
use crate::packages::{DEMO, TEST, ensure};
use crate::run::{cargo, run, target};

/// What to run.
struct Choice {
    rounds: usize,
    servers: Vec<ServerKind>,
    workloads: Vec<&'static Workload>,
}

impl Choice {
    /// From arguments in any order: a number of rounds, kinds of server, parts of workloads' names.
    fn new(arguments: &[String]) -> Result<Choice, String> {
        let mut choice = Choice {
            rounds: 3,
            servers: Vec::new(),
            workloads: Vec::new(),
        };
        for argument in arguments {
            if let Ok(rounds) = argument.parse::<usize>() {
                choice.rounds = rounds.max(1);
            } else if let Some(kind) = ServerKind::from_name(argument) {
                choice.servers.push(kind);
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
}

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
        let parameters = parameters(&folder, kind);
        // A whole measurement takes minutes: one that is there is used again.
        if !parameters.exists() {
            let arguments = ["measure", "--server", kind.name(), "-o"];
            run(truth::pinned(&arguments, &folder).arg(&parameters))?;
        }
    }

    let (mut rows, mut crossed, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    table::heading();
    for workload in &choice.workloads {
        let first = rows.len();
        for &kind in &choice.servers {
            // One that fails is told of and left out; the others are worth having.
            match rounds(workload, kind, choice.rounds, &folder) {
                Ok(rounds) => {
                    rounds.print();
                    rows.push(rounds);
                }
                Err(why) => {
                    let why = format!("{kind}: {why}");
                    println!("{why}");
                    failed.push(why);
                }
            }
            write(&folder, &rows, &crossed, &failed)?;
        }
        let of_workload = rows.get(first..).unwrap_or_default();
        for pair in pairs(&choice.servers) {
            let pair = cross(workload, pair, of_workload, &folder)?;
            if let Some(pair) = pair {
                pair.print();
                crossed.push(pair);
            }
        }
        write(&folder, &rows, &crossed, &failed)?;
    }
    table::summary(&rows, &crossed);
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\n"))
    }
}

/// All rounds of one workload on one server.
fn rounds(
    workload: &'static Workload,
    kind: ServerKind,
    count: usize,
    folder: &Path,
) -> Result<Rounds, String> {
    let mut rounds = Rounds {
        workload: workload.name,
        server: kind.name(),
        alone: Vec::new(),
        priced: Vec::new(),
    };
    let trace = truth::trace(folder, workload, kind);
    for _ in 0..count {
        rounds.alone.push(truth::alone(workload, kind, folder)?);
        truth::record(workload, kind, &trace, folder)?;
        rounds
            .priced
            .push(truth::price(&trace, &parameters(folder, kind))?);
    }
    Ok(rounds)
}

/// The last recording of one server, priced for the other.
fn cross(
    workload: &'static Workload,
    (from, to): (ServerKind, ServerKind),
    rows: &[Rounds],
    folder: &Path,
) -> Result<Option<Crossed>, String> {
    let row = |kind: ServerKind| rows.iter().find(|row| row.server == kind.name());
    let (Some(recorded), Some(other)) = (row(from), row(to)) else {
        return Ok(None);
    };
    let trace = truth::trace(folder, workload, from);
    let estimate =
        |kind| Ok::<_, String>(truth::price(&trace, &parameters(folder, kind))?.estimate_ms);
    Ok(Some(Crossed {
        workload: workload.name,
        from: from.name(),
        to: to.name(),
        estimate_ms: estimate(to)?,
        naive_ms: estimate(from)?,
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

fn parameters(folder: &Path, kind: ServerKind) -> PathBuf {
    folder.join(format!("{kind}.toml"))
}

fn write(
    folder: &Path,
    rows: &[Rounds],
    crossed: &[Crossed],
    failed: &[String],
) -> Result<(), String> {
    let file = folder.join("accuracy.json");
    let rows: Vec<_> = rows.iter().map(Rounds::json).collect();
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
        let arguments = ["2", "xvfb", "text", "xterm"].map(str::to_owned);
        let choice = Choice::new(&arguments).expect("all of them mean something");
        assert_eq!((choice.rounds, choice.servers.len()), (2, 1));
        let named: Vec<_> = choice.workloads.iter().map(|it| it.name).collect();
        assert_eq!(
            named,
            ["x11perf text", "xterm long text", "xterm jump scroll off"]
        );
        assert!(Choice::new(&["nonsense".to_owned()]).is_err());
    }
}
