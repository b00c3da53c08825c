//! `record --tables-only`: writes a session's tables without a trace, and reports its overhead.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::sessions::{PROGRAMS, Session, ready, source, xdotool};
use crate::harness::{Place, Recording, Server, needs, wait};

fn session(program: &'static str, actions: usize) -> Session {
    Session {
        program,
        version: "2",
        user: "ann".to_owned(),
        number: 0,
        actions,
    }
}

/// The bytes of all files in a folder.
fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("a file");
            match about.is_dir() {
                true => bytes(&entry.path()),
                false => about.len(),
            }
        })
        .sum()
}

#[test]
fn issues_need_only_episode_tables() {
    let place = Place::new();
    let tables = place.path("tables");
    session("notes", 3).record_as(&tables, &["--tables-only"], |_| {});
    let report = place.json(["issues", "tables", "--format", "json"]);
    assert_eq!(
        (&report["sessions"], &report["users"]),
        (&1.into(), &1.into())
    );
    assert_eq!(report["versions"], serde_json::json!(["2"]));
    let issues = report["issues"].as_array().expect("a list");
    let slept = issues
        .iter()
        .find(|issue| issue["blame"] == "sleep or timer");
    let slept = slept.unwrap_or_else(|| panic!("{report:#}"));
    assert!(
        slept["max_ms"].as_f64().is_some_and(|worst| worst > 250.0),
        "{slept:#}"
    );
    assert_eq!(slept["example"]["trace"], "");
    // Episodes below the threshold are counted.
    let over: u64 = issues
        .iter()
        .filter_map(|issue| issue["occurrences"].as_u64())
        .sum();
    assert!(
        report["episodes"]
            .as_u64()
            .is_some_and(|all| all > over + 5),
        "{report:#}"
    );
    // No trace is written, and the tables are small.
    assert!(!place.path("x11prof.mcap").exists());
    assert!(bytes(&tables) < 40_000);
}

/// A running program is recorded without a restart. xdotool is recorded as well and has no issue.
#[test]
fn attach_writes_episode_tables_of_a_running_program() {
    needs("xdotool", "xdotool");
    needs("wish", "tk");
    let (server, place) = (Server::xvfb(&["-screen", "0", "800x600x24"]), Place::new());
    let mut wish = server.client("wish");
    let wish = wish
        .arg(source("session.tcl"))
        .args(["notes", "2", "300", "-name", "notes"])
        .env("HOME", place.path("."));
    let mut program = ready(wish);
    let mut record = place.x11prof(["record", "--attach", "--tables-only", "-o", "tables"]);
    let record = record
        .args(["--label", "version=2", "--label", "user=ann"])
        .args(["--display", &server.display])
        .stderr(Stdio::piped());
    let mut recorder = record.spawn().expect("x11prof starts");
    let mut said = BufReader::new(recorder.stderr.take().expect("a pipe")).lines();
    let mut next = || said.next().expect("a line").expect("a line");
    while !next().contains("recording the ") {}
    let save = "mousemove 80 30 sleep 0.2 click 1 sleep 0.8";
    let words = [save, save, "key F12"].join(" ");
    xdotool(&server, &words.split(' ').collect::<Vec<_>>());
    assert!(wait(&mut program, "notes").success());
    kill_process(Pid::from_child(&recorder), Signal::INT).expect("a signal is sent");
    assert!(wait(&mut recorder, "x11prof record --attach").success());
    let end = next();
    assert!(end.contains("over their threshold; tables in"), "{end}");
    let report = place.json(["issues", "tables", "--format", "json"]);
    assert_eq!(report["versions"], serde_json::json!(["2"]), "{report:#}");
    let issues = report["issues"].as_array().expect("a list");
    let of = |issue: &serde_json::Value| {
        let program = issue["program"].as_str().unwrap_or_default();
        (program.to_owned(), issue["max_ms"].as_f64().expect("ms"))
    };
    let found: Vec<_> = issues.iter().map(of).collect();
    // RECORD may deliver messages too late to determine the cause, so only program and latency are checked.
    assert!(
        found
            .iter()
            .any(|(program, worst)| program == "wish" && *worst > 250.0),
        "{report:#}"
    );
    assert!(
        found.iter().all(|(program, _)| program != "xdotool"),
        "{report:#}"
    );
}

/// CPU time of the recorder so far, in seconds.
fn cpu_s(recording: &Recording) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", recording.child.id()));
    let stat = stat.expect("it runs");
    let (_, rest) = stat.rsplit_once(") ").expect("its name ends");
    let fields: Vec<u64> = rest
        .split(' ')
        .filter_map(|field| field.parse().ok())
        .collect();
    // utime and stime (proc(5)), in ticks of 10 ms. The state is no number, so the indices are one lower.
    (fields[10] + fields[11]) as f64 / 100.0
}

#[test]
#[ignore = "some minutes: cargo xtask validate issues cost"]
fn tables_only_overhead_is_printed() {
    for program in PROGRAMS {
        for words in [&["--tables-only"][..], &[]] {
            let place = Place::new();
            let output = place.path("out");
            let begin = Instant::now();
            let mut cost = 0.0;
            session(program, 50).record_as(&output, words, |recording| cost = cpu_s(recording));
            let seconds = begin.elapsed().as_secs_f64();
            let size = match output.is_dir() {
                true => bytes(&output),
                false => std::fs::metadata(&output).expect("a trace").len(),
            };
            println!(
                "{program} {}: {seconds:.0} s, {size} bytes, {:.0} kB an hour, {:.2} % of a core",
                words.first().unwrap_or(&"as a trace"),
                size as f64 / seconds * 3.6,
                100.0 * cost / seconds
            );
        }
    }
}
