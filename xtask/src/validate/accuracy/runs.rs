//! `cargo xtask validate accuracy runs`: of the recordings that are there, each run of the recorded
//! server beside the prices of what had come for it. What lacks a price shows by what comes when it is due.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use x11prof_analyzer::{Blocking, Profile, RunLine, profile_trace};
use x11prof_cost_model::Substitutions;
use x11prof_trace::Reader;

use super::choice::Choice;
use super::{parameters, read, truth};

/// The kinds of runs shown of each recording: those that are furthest from their prices in all.
const SHOWN: usize = 8;

/// Prints them, recording by recording.
pub(super) fn show(choice: &Choice, folder: &Path) -> Result<(), String> {
    let mut none = true;
    for workload in &choice.workloads {
        for &kind in choice.servers.iter().filter(|&&it| workload.runs_on(it)) {
            let trace = truth::trace(folder, workload, kind);
            if trace.exists() {
                println!("\n{} on {kind}", workload.name);
                runs(&trace, &parameters(kind))?;
                none = false;
            }
        }
    }
    match none {
        true => Err(
            "there are no recordings of these: `cargo xtask validate accuracy` makes them"
                .to_owned(),
        ),
        false => Ok(()),
    }
}

fn runs(trace: &Path, file: &Path) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", trace.display());
    let rules = Substitutions::default();
    let profile = Profile::new(&read(file)?, &rules, Blocking::default()).with_runs();
    let opened = File::open(trace).map_err(|error| told(&error))?;
    let mut reader = Reader::new(BufReader::new(opened)).map_err(|error| told(&error))?;
    let mut profiles = [profile];
    profile_trace(&mut reader, &mut profiles).map_err(|error| told(&error))?;
    let [profile] = &profiles;
    let runs = profile.runs().into_iter().flat_map(|runs| runs.lines());
    let mut lines: Vec<(&str, &RunLine)> = runs.collect();
    lines.sort_by(|(_, one), (_, other)| other.beyond().0.abs().total_cmp(&one.beyond().0.abs()));
    println!("  beyond, ms     runs  took, µs  priced, µs  what had come");
    for (name, line) in lines.iter().take(SHOWN) {
        let each = |time: f64| time / line.runs as f64;
        println!(
            "  {:10.1} {:8} {:9.1} {:11.1}  {name}",
            line.beyond().as_ms(),
            line.runs,
            each(line.took.0),
            each(line.priced.0),
        );
    }
    let all = |of: fn(&RunLine) -> f64| lines.iter().map(|(_, line)| of(line)).sum::<f64>();
    println!(
        "  {:10.1}  of {:.1} ms in all",
        all(|line| line.beyond().as_ms()),
        all(|line| line.took.as_ms()),
    );
    Ok(())
}
