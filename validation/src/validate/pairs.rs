//! `cargo xtask validate network pairs`: promised and measured savings. A promise is a suggestion's saving in a local
//! recording, over a link. The measured saving is the difference of two recordings over that link, with and without
//! the fault: small clients (`network_pairs.c`), and real programs with the remedies of `record --try` and with
//! options.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::forecast::{SECONDS, build, over_link, page, record, start_up};
use super::{median, reported};
use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{root, run, target};

/// The link of the small clients and of programs.
const LINK: &str = "1MB/s,50ms";
const OF_PROGRAMS: &str = "10Mbit/s,20ms";
/// Recordings over the link of each version; the median counts.
const RUNS: usize = 3;
/// A promise may differ from the measured saving by this share, or by these milliseconds.
const WITHIN: (f64, f64) = (0.1, 5.0);
/// The small clients, the kind of the suggestion, and its request.
const CLIENTS: [(&str, &str, &str); 16] = [
    ("colours", "duplicates", "QueryColors"),
    ("atoms", "serial", ""),
    ("property", "duplicates", "GetProperty"),
    ("pieces", "pieces", "GetProperty"),
    ("extensions", "serial", "QueryExtension"),
    ("sync", "synchronisation", "GetInputFocus"),
    ("image", "images", "PutImage"),
    ("outside", "images", "PutImage"),
    ("value", "properties", "ChangeProperty"),
    ("fonts", "fonts", "QueryFont"),
    ("allocate", "colours", "AllocColor"),
    // The remedy does nothing.
    ("selection", "synchronisation", "GetInputFocus"),
    ("pipelined", "duplicates", "GetProperty"),
    ("image-pause", "images", "PutImage"),
    ("outside-pause", "images", "PutImage"),
    ("value-pause", "properties", "ChangeProperty"),
];
/// Programs that are tried with two remedies.
const PROGRAMS: [(&str, &[&str]); 8] = [
    ("xterm", &["xterm"]),
    ("xcalc", &["xcalc"]),
    ("xclock", &["xclock"]),
    ("featherpad", &["featherpad"]),
    ("mousepad", &["mousepad"]),
    ("emacs", &["emacs", "-Q"]),
    ("pcmanfm", &["pcmanfm"]),
    ("xedit", &["xedit"]),
];
const REMEDIES: [&str; 2] = ["answer-queries", "answer-atoms"];

/// Runs the pairs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS])?;
    build()?;
    let folder = target().join("validate/pairs");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let client = folder.join("network_pairs");
    let source = root().join("validation/src/validate/network_pairs.c");
    run(Command::new("cc")
        .args(["-O1", "-Wall", "-o"])
        .args([&client, &source])
        .args(["-lX11", "-l:libX11-xcb.so.1", "-lxcb"]))?;
    let client = client.to_string_lossy().into_owned();
    let chosen = |name: &str| {
        arguments.is_empty() || arguments.iter().any(|word| name.contains(word.as_str()))
    };
    let trace = folder.join("trace.mcap");
    println!(
        "| pair | promised, ms | measured, ms | spread, ms | within 10 % or 5 ms |\n|---|---|---|---|---|"
    );
    let mut right = Vec::new();
    for (name, kind, request) in CLIENTS.into_iter().filter(|(name, ..)| chosen(name)) {
        let is_it =
            |one: &Value| one["kind"] == kind && (request.is_empty() || one["request"] == request);
        let (mut lengths, mut promises) = (Vec::new(), Vec::new());
        for version in ["faulty", "fixed"] {
            let command = [client.as_str(), name, version];
            record(&command, &[], SECONDS, &trace)?;
            promises.push(promised(&page(&trace, &["--net", LINK])?, is_it));
            lengths.push(runs(|| {
                record(&command, &["--net", LINK], 30.0, &trace)?;
                Ok(page(&trace, &["--net", LINK])?["forecast"]["recorded_ms"].as_f64())
            })?);
        }
        // The advice may also concern requests that both versions make.
        right.push(row(name, promises[0] - promises[1], &lengths));
    }
    for (name, command) in PROGRAMS.into_iter().filter(|(name, _)| chosen(name)) {
        let here: PathBuf = folder.join("here.mcap");
        record(command, &[], SECONDS, &here)?;
        record(command, &[], SECONDS, &here)?;
        let Some(local) = start_up(&here, OF_PROGRAMS)? else {
            println!("{name}: no first frame");
            continue;
        };
        let report = page(&here, &["--start-up", "--net", OF_PROGRAMS])?;
        let measure = |options: &[&str]| {
            let options = [&["--net", OF_PROGRAMS], options].concat();
            runs(|| {
                record(command, &options, over_link(&local), &trace)?;
                let found = start_up(&trace, OF_PROGRAMS)?;
                Ok(found.map(|found| found.recorded_ms))
            })
        };
        let before = measure(&[])?;
        for remedy in REMEDIES {
            let promised = promised(&report, |one| one["experiment"] == remedy);
            let after = measure(&["--try", remedy])?;
            right.push(row(
                &format!("{name} --try {remedy}"),
                promised,
                &[before.clone(), after],
            ));
        }
    }
    let passed = right.iter().filter(|right| **right).count();
    println!("\n{passed} of {} pairs", right.len());
    Ok(())
}

/// The savings of some suggestions, in milliseconds.
fn promised(report: &Value, is_it: impl Fn(&Value) -> bool) -> f64 {
    let suggestions = report["suggestions"].as_array().into_iter().flatten();
    let found = suggestions.filter(|one| is_it(one));
    found.filter_map(|one| one["saves_ms"].as_f64()).sum()
}

/// The lengths of the runs that have one.
fn runs(mut run: impl FnMut() -> Result<Option<f64>, String>) -> Result<Vec<f64>, String> {
    let all: Result<Vec<_>, String> = (0..RUNS).map(|_| run()).collect();
    Ok(all?.into_iter().flatten().collect())
}

/// Prints a pair. Returns true if the promise is kept.
fn row(name: &str, promised: f64, lengths: &[Vec<f64>]) -> bool {
    let [faulty, fixed] = lengths else {
        return false;
    };
    let middle = |of: &[f64]| median(of.iter().copied());
    let spread = |of: &[f64]| {
        of.iter().copied().fold(f64::MIN, f64::max) - of.iter().copied().fold(f64::MAX, f64::min)
    };
    let measured = middle(faulty) - middle(fixed);
    let spread = spread(faulty).max(spread(fixed));
    let is_right = (promised - measured).abs() <= (WITHIN.0 * measured.abs()).max(WITHIN.1);
    let word = if is_right { "yes" } else { "no" };
    println!("| {name} | {promised:.0} | {measured:.0} | {spread:.0} | {word} |");
    is_right
}
