//! `cargo xtask validate audit [TRACE|FOLDER…]`: no page of a recording contradicts another one. Audits the
//! kept recordings and those given, what is left of each when it is scrubbed or cut off, and fresh ones of
//! the programs that are installed, on this machine and over a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::programs::PROGRAMS;
use super::told;
use xtask::run::{cargo, root, run, target};

/// The parts of a file that are left of it, in hundredths.
const CUTS: [usize; 3] = [30, 60, 95];
/// The options of fresh recordings, by name.
const WAYS: [(&str, &[&str]); 2] = [("", &[]), ("-net", &["--net", "1MB/s,20ms"])];

/// Audits all of them; a line for each.
pub(crate) fn validate(given: &[String]) -> Result<(), String> {
    run(cargo().args(["build", "--release", "--locked"]))?;
    let place = target().join("validate/audit");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(told)?;
    }
    fs::create_dir_all(&place).map_err(told)?;
    let mut traces = recordings(&root().join("tests/data"))?;
    for path in given.iter().map(PathBuf::from) {
        match path.is_dir() {
            true => traces.extend(recordings(&path)?),
            false => traces.push(path),
        }
    }
    if given.is_empty() {
        traces.extend(fresh(&place));
    }
    let (mut audited, mut wrong) = (0, 0);
    for (number, trace) in traces.iter().enumerate() {
        let made = derived(trace, &place.join(number.to_string()))?;
        for (what, file) in std::iter::once(("", trace.clone())).chain(made) {
            let said = audit(&file)?;
            audited += 1;
            wrong += usize::from(!said.starts_with("all "));
            println!("{} {what}: {said}", trace.display());
        }
    }
    match wrong {
        0 => {
            println!("{audited} recordings contradict nothing");
            Ok(())
        }
        some => Err(format!(
            "{some} of {audited} recordings contradict themselves"
        )),
    }
}

/// The traces of a folder.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    let mut traces: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|is| is == "mcap"))
        .collect();
    traces.sort();
    Ok(traces)
}

/// Recordings of programs on private servers. A program that is not installed has none.
fn fresh(place: &Path) -> Vec<PathBuf> {
    let mut made = Vec::new();
    for program in PROGRAMS {
        for (way, options) in WAYS {
            let name: String = program.name.split(' ').take(1).chain([way]).collect();
            let folder = place.join(format!("work-{name}"));
            let trace = place.join(format!("{name}.mcap"));
            if fs::create_dir_all(&folder).is_err() {
                continue;
            }
            // What it writes and how it ends say nothing about the recording.
            Command::new(target().join("release/x11prof"))
                .args(["record", "--server", "xvfb", "-o"])
                .arg(&trace)
                .args(options)
                .args(["--", "sh", "-c", program.shell])
                .current_dir(&folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .ok();
            made.extend(trace.exists().then_some(trace));
        }
    }
    made
}

/// The trace scrubbed, and cut off.
fn derived(trace: &Path, place: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    fs::create_dir_all(place).map_err(told)?;
    let scrubbed = place.join("scrubbed.mcap");
    let mut made = Vec::new();
    let scrub = Command::new(target().join("release/x11prof"))
        .arg("scrub")
        .arg(trace)
        .arg("-o")
        .arg(&scrubbed)
        .stderr(Stdio::null())
        .status();
    if scrub.is_ok_and(|status| status.success()) {
        made.push(("scrubbed", scrubbed));
    }
    let bytes = fs::read(trace).map_err(|error| format!("{}: {error}", trace.display()))?;
    for part in CUTS {
        let cut = place.join(format!("cut-{part}.mcap"));
        fs::write(&cut, &bytes[..bytes.len() * part / 100]).map_err(told)?;
        made.push(("cut off", cut));
    }
    Ok(made)
}

/// What the audit says: its count where all holds, else what does not, or why it cannot.
fn audit(trace: &Path) -> Result<String, String> {
    let output = Command::new(target().join("release/x11prof"))
        .arg("audit")
        .arg(trace)
        .output()
        .map_err(told)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said.lines().filter(|line| !line.starts_with("not in this"));
    let said = lines.collect::<Vec<_>>().join("; ");
    let why = String::from_utf8_lossy(&output.stderr);
    // Of a file cut off within its beginning there is nothing to tell.
    match said.is_empty() {
        true => Ok(format!("all of nothing: {}", why.trim())),
        false => Ok(said),
    }
}
