//! `cargo xtask bench analyze --check`: requests per second and instructions per request of each stage of the analysis,
//! and instructions per request of the relay, on recordings in tests/data. valgrind counts the instructions, so the
//! load of the machine has no effect. `instructions.tsv` contains the accepted figures. A stage that uses over a tenth
//! more instructions is an error; `--write` accepts the new figures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::packages::{Needed, ensure};
use crate::run::{cargo, root, run, target};
use crate::stages::{Stage, stages};

/// Streams of small requests, and the mixtures of programs.
const RECORDINGS: [&str; 6] = [
    "x11perf",
    "xterm",
    "gtk3-widget-factory",
    "xclock",
    "emacs",
    "featherpad",
];
/// Counts instructions.
const VALGRIND: &[Needed] = &[Needed {
    program: "valgrind",
    package: "valgrind",
}];
/// A cost table, so that look-ups find costs.
const PARAMETERS: &str = "xvfb-24";
/// The stage that all other stages include. Its instructions are subtracted.
const BEFORE: &str = "reading";
/// The relay's own work on messages, without its system calls.
const RELAY: &str = "relay";
/// The factor by which a stage's instructions may grow without an error.
const MARGIN: f64 = 1.1;

/// Instructions per request, by recording and stage.
type Counts = BTreeMap<(String, String), f64>;

/// Counts instructions and compares them with the accepted figures, or accepts the new figures if `write` is true.
pub(crate) fn check(write: bool) -> Result<(), String> {
    ensure(&[VALGRIND])?;
    run(cargo()
        .args(["build", "--release", "--locked", "-p", "x11prof-analyzer"])
        .args(["--example", "stages"])
        .args(["-p", "x11prof-proxy", "--example", "relayed"])
        .args(["--features", "x11prof-proxy/testing"]))?;
    let accepted = accepted()?;
    let counted = thread::scope(|scope| {
        let counts = RECORDINGS.map(|recording| scope.spawn(move || of(recording)));
        let joined = counts.map(|count| count.join().map_err(|_| "a count broke off".to_owned()));
        joined.into_iter().collect::<Result<Vec<_>, String>>()
    })?;
    let (mut counts, mut grown) = (Counts::new(), Vec::new());
    for (recording, stages) in RECORDINGS.into_iter().zip(counted) {
        println!("{recording}");
        for (stage, each) in stages? {
            let key = (recording.to_owned(), stage.name.clone());
            let was = accepted.get(&key).copied();
            let rate = match stage.seconds.is_finite() {
                true => format!("{:.0} requests/s", stage.requests / stage.seconds),
                false => String::new(),
            };
            println!(
                "  {:<12} {rate:>23} {each:>8.0} instructions a request ({} accepted)",
                stage.name,
                was.map_or("none".to_owned(), |was| format!("{was:.0}")),
            );
            if was.is_none_or(|was| each > was * MARGIN) {
                grown.push(format!("{recording}, {}", stage.name));
            }
            counts.insert(key, each);
        }
    }
    if write {
        return std::fs::write(path(), text(&counts)).map_err(|error| error.to_string());
    }
    match grown.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "over a tenth more instructions than {} accepts (--write changes that): {}",
            path().display(),
            grown.join("; ")
        )),
    }
}

fn path() -> PathBuf {
    root().join("validation/instructions.tsv")
}

fn text(counts: &Counts) -> String {
    let mut text = String::new();
    for ((recording, stage), each) in counts {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{recording}\t{stage}\t{each:.0}");
    }
    text
}

fn accepted() -> Result<Counts, String> {
    let text = std::fs::read_to_string(path()).map_err(|error| error.to_string())?;
    let count = |line: &str| {
        let mut words = line.split('\t');
        let key = (words.next()?.to_owned(), words.next()?.to_owned());
        Some((key, words.next()?.parse().ok()?))
    };
    let counts = text.lines().map(|line| {
        count(line).ok_or_else(|| format!("{}: not a count: {line}", path().display()))
    });
    counts.collect()
}

/// The stages of a recording, with their instructions per request.
fn of(recording: &str) -> Result<Vec<(Stage, f64)>, String> {
    let trace = root().join(format!("tests/data/{recording}.mcap"));
    let mut timed = stages(&trace, "memory", PARAMETERS.as_ref())?.stages;
    let requests = timed.first().map_or(0.0, |stage| stage.requests);
    timed.push(Stage {
        name: RELAY.to_owned(),
        requests,
        seconds: f64::INFINITY,
    });
    let of = |stage: &str| match stage {
        RELAY => instructions("relayed", &trace, &[]),
        stage => instructions("stages", &trace, &[stage, PARAMETERS]),
    };
    let before = of(BEFORE)?;
    let before_relay = instructions("relayed", &trace, &[BEFORE])?;
    let counted = timed.into_iter().map(|stage| {
        let before = if stage.name == RELAY {
            before_relay
        } else {
            before
        };
        let each = (of(&stage.name)? - before) / stage.requests;
        Ok((stage, each))
    });
    counted.collect()
}

/// The instructions of an example that processes a trace.
fn instructions(example: &str, trace: &Path, words: &[&str]) -> Result<f64, String> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(target().join("release/examples").join(example))
        .arg(trace)
        .args(words)
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // ==PID== Collected : 123456
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let count = collected.and_then(|(_, number)| number.trim().parse().ok());
    count
        .filter(|_| output.status.success())
        .ok_or_else(|| format!("{example} {} {}: {said}", trace.display(), words.join(" ")))
}
