//! `cargo xtask validate exports`: opens the exports with common readers: Go's pprof, Perfetto's published definitions
//! (PyPI), and the Firefox Profiler's code (npm).

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{report, reported};
use xtask::packages::{EXPORTS, ensure};
use xtask::run::{cargo, root, run, target};

/// Exports the recordings in `tests/data` and reads the exports.
pub(crate) fn validate() -> Result<(), String> {
    ensure(&[EXPORTS])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let place = target().join("validate/exports");
    std::fs::create_dir_all(&place).map_err(reported)?;
    for recording in ["xterm", "gtk3-widget-factory"] {
        let trace = root().join(format!("tests/data/{recording}.mcap"));
        let report = report(&trace, None)?;
        pprof(&exported(&trace, &place, "pprof")?, &report)?;
        let round_trips = perfetto(&exported(&trace, &place, "perfetto")?, &place)?;
        firefox(&exported(&trace, &place, "firefox")?, &place, round_trips)?;
    }
    println!("pprof, Perfetto and Firefox's profiler read them");
    Ok(())
}

fn exported(trace: &Path, place: &Path, format: &str) -> Result<PathBuf, String> {
    let file = place.join(format);
    let mut x11prof = Command::new(target().join("release/x11prof"));
    run(x11prof
        .arg("export")
        .arg(trace)
        .args(["--to", format, "-o"])
        .arg(&file))?;
    Ok(file)
}

/// Compares the total of Go's pprof with the report.
fn pprof(file: &Path, report: &Value) -> Result<(), String> {
    let top = output(
        Command::new("go")
            .args(["tool", "pprof", "-symbolize=none", "-unit=ns", "-top"])
            .arg(file),
    )?;
    let total = top
        .split_once("% of ")
        .and_then(|(_, rest)| rest.split_once("ns total"))
        .and_then(|(total, _)| total.parse::<f64>().ok())
        .ok_or_else(|| format!("pprof tells no total:\n{top}"))?;
    let ours = report["total"]["server_ms"].as_f64().unwrap_or(f64::NAN);
    println!("  pprof: {total} ns; report: {ours} ms");
    // Each stack is rounded to a nanosecond, and so is the report's total.
    if (total / 1e6 - ours).abs() > 0.001 {
        return Err("pprof's total is not the report's".to_owned());
    }
    Ok(())
}

/// Reads a trace with Perfetto's published definitions. Returns the number of its round trips.
fn perfetto(file: &Path, place: &Path) -> Result<u64, String> {
    let python = place.join("python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
        run(Command::new(python.join("bin/pip"))
            .args(["install", "--quiet", "perfetto", "protobuf"]))?;
    }
    let said = output(
        Command::new(python.join("bin/python"))
            .arg(root().join("validation/src/validate/exports/read_perfetto.py"))
            .arg(file),
    )?;
    print!("{said}");
    let count = |line: &str| {
        let count = line.trim().strip_prefix("round trips: ")?;
        count.strip_suffix(" TYPE_SLICE_BEGIN")?.parse().ok()
    };
    let found = said.lines().find_map(count);
    found.ok_or_else(|| "it has no round trips".to_owned())
}

/// Reads a profile with the Firefox Profiler's code.
fn firefox(file: &Path, place: &Path, round_trips: u64) -> Result<(), String> {
    let folder = place.join("node");
    let programs = folder.join("node_modules/.bin");
    if !programs.exists() {
        std::fs::create_dir_all(&folder).map_err(reported)?;
        // The tool needs a newer Node.js than Debian provides.
        run(Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&folder)
            .args(["node@24", "@firefox-devtools/profiler-cli"]))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [programs.clone()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).map_err(reported)?;
    let profiler = |words: &[&str]| {
        let mut profiler = Command::new(programs.join("profiler-cli"));
        profiler
            .args(words)
            // Its sessions are stored there.
            .env("HOME", &folder)
            .env("PATH", &path);
        output(&mut profiler)
    };
    profiler(&["load", &file.to_string_lossy()])?;
    let read = (|| {
        let info = profiler(&["profile", "info"])?;
        let threads = info
            .lines()
            .filter_map(|line| line.trim().strip_prefix("t-")?.split_once(':'));
        let mut found = 0;
        for (thread, _) in threads {
            let thread = format!("t-{thread}");
            let markers = profiler(&["thread", "markers", "--thread", &thread])?;
            let count = markers
                .lines()
                .filter_map(|line| line.trim().strip_prefix("Round trips "))
                .filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
            found += count.sum::<u64>();
        }
        println!("{info}  {found} round trips");
        match found == round_trips {
            true => Ok(()),
            false => Err(format!("Firefox's profiler shows {found} round trips")),
        }
    })();
    profiler(&["stop"])?;
    read
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!(
            "{command:?}:\n{said}{}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
