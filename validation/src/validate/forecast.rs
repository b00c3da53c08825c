//! `cargo xtask validate network forecast`: compares forecasts of start-ups over a link with recordings of the same
//! programs over that link (`record --net`), with the paper's equation 7 for comparison.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{median, quantile, reported};
use xtask::packages::{DEMO, FORECAST, MORE_PROGRAMS, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The programs.
const PROGRAMS: [(&str, &[&str]); 12] = [
    ("xterm", &["xterm"]),
    ("xcalc", &["xcalc"]),
    ("xclock", &["xclock"]),
    ("featherpad", &["featherpad"]),
    ("mousepad", &["mousepad"]),
    ("gtk3-widget-factory", &["gtk3-widget-factory"]),
    ("emacs", &["emacs", "-Q"]),
    ("feh", &["feh", "image.ppm"]),
    ("gtkwave", &["gtkwave"]),
    ("xedit", &["xedit"]),
    ("pcmanfm", &["pcmanfm"]),
    ("xfig", &["xfig"]),
];
/// The links: as `--net` names them, and bytes a second and milliseconds of a round trip.
pub(super) const LINKS: [(&str, f64, f64); 5] = [
    ("dsl", 187_500.0, 50.0),
    ("lte", 1.5e6, 70.0),
    ("wifi", 3.75e6, 2.0),
    ("10Mbit/s,20ms", 1.25e6, 20.0),
    ("1MB/s,200ms", 1e6, 200.0),
];
/// How long a program runs locally, in seconds.
pub(super) const SECONDS: f64 = 4.0;
/// A program runs over a link for its forecast start-up with this factor, and these seconds more.
const LONGER: (f64, f64) = (1.4, 3.0);
/// The longest start-up that is recorded over a link, in milliseconds.
pub(super) const LONGEST: f64 = 30e3;

/// A time over a link, forecast and measured, in milliseconds.
pub(super) struct Pair {
    pub(super) forecast: f64,
    pub(super) equation_7: f64,
    pub(super) measured: f64,
}

/// Runs the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS, FORECAST])?;
    build()?;
    let folder = target().join("validate/forecast");
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let image = [b"P6 1200 800 255\n".as_slice(), &[90; 3 * 1200 * 800]].concat();
    std::fs::write(folder.join("image.ppm"), image).map_err(reported)?;
    let (here, there) = (folder.join("here.mcap"), folder.join("there.mcap"));
    let mut pairs = Vec::new();
    for (name, command) in PROGRAMS {
        if !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        // The first run reads the program's files from the disk.
        record(command, &[], SECONDS, &here)?;
        record(command, &[], SECONDS, &here)?;
        for (link, speed, rtt) in LINKS {
            let Some(local) = start_up(&here, link)? else {
                println!("{name}: no first frame");
                break;
            };
            if local.forecast_ms > LONGEST {
                println!(
                    "{name} {link}: forecast {:.0} ms, not recorded",
                    local.forecast_ms
                );
                continue;
            }
            record(command, &["--net", link], over_link(&local), &there)?;
            let Some(measured) = start_up(&there, link)? else {
                println!(
                    "{name} {link}: no first frame in {:.0} s",
                    over_link(&local)
                );
                continue;
            };
            let pair = Pair {
                forecast: local.forecast_ms,
                equation_7: local.recorded_ms + local.bytes / speed * 1e3 + local.round_trips * rtt,
                measured: measured.recorded_ms,
            };
            println!(
                "{name} {link}: forecast {:.0} ms, measured {:.0} ms, {:+.1} %; equation 7 {:.0} ms",
                pair.forecast,
                pair.measured,
                100.0 * (pair.forecast / pair.measured - 1.0),
                pair.equation_7
            );
            pairs.push(pair);
        }
    }
    summary("simulated", &pairs, |pair| pair.forecast);
    summary("equation 7", &pairs, |pair| pair.equation_7);
    Ok(())
}

/// Prints the errors of a model.
pub(super) fn summary(model: &str, pairs: &[Pair], of: fn(&Pair) -> f64) {
    let error = |pair: &Pair| 100.0 * (of(pair) / pair.measured - 1.0).abs();
    let errors: Vec<f64> = pairs.iter().map(error).collect();
    println!(
        "{model}: {} times, median error {:.1} %, 95 % within {:.1} %, Spearman {:.3}",
        pairs.len(),
        median(errors.iter().copied()),
        quantile(&errors, 0.95),
        spearman(pairs, of)
    );
}

/// The recorder: a release build, or the program in `X11PROF`.
pub(super) fn program() -> PathBuf {
    let given = std::env::var_os("X11PROF").map(PathBuf::from);
    given.unwrap_or_else(|| target().join("release/x11prof"))
}

/// Builds the recorder, unless `X11PROF` names one.
pub(super) fn build() -> Result<(), String> {
    match std::env::var_os("X11PROF") {
        Some(_) => Ok(()),
        None => run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"])),
    }
}

/// How long a program runs over a link, in seconds.
pub(super) fn over_link(local: &StartUp) -> f64 {
    local.forecast_ms / 1e3 * LONGER.0 + LONGER.1
}

/// Records a program on a private Xvfb for some seconds, with other options.
pub(super) fn record(
    command: &[&str],
    options: &[&str],
    seconds: f64,
    trace: &Path,
) -> Result<(), String> {
    let folder = trace.parent().unwrap_or(Path::new("."));
    // If nothing is recorded, the trace of an earlier run would be read.
    match std::fs::remove_file(trace) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(reported(error)),
        _ => {}
    }
    // The programs run until timeout ends them, so the status does not matter.
    Command::new(program())
        .args(["record", "--server", "xvfb", "-o"])
        .arg(trace)
        .args(options)
        .args(["--", "timeout", "-k", "1", &seconds.to_string()])
        .args(command)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
        .map_err(reported)
}

/// The page `network` of a trace, over a link.
pub(super) fn page(trace: &Path, options: &[&str]) -> Result<Value, String> {
    let output = Command::new(program())
        .args(["network", "--format", "json"])
        .args(options)
        .arg(trace)
        .output()
        .map_err(reported)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// A start-up in a trace.
pub(super) struct StartUp {
    pub(super) recorded_ms: f64,
    pub(super) forecast_ms: f64,
    bytes: f64,
    round_trips: f64,
    /// The largest cause of the difference between links.
    pub(super) cause: String,
    /// The share of the server in the start-up, in percent.
    pub(super) server: f64,
}

/// The slowest start-up in a trace.
pub(super) fn start_up(trace: &Path, link: &str) -> Result<Option<StartUp>, String> {
    let report = page(trace, &["--start-up", "--net", link])?;
    let list = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let number = |one: &Value, name: &str| one[name].as_f64().unwrap_or(0.0);
    let forecasts = list(&report["forecast"]["start_ups"]);
    let recorded = |one: &Value| number(one, "recorded_ms");
    let slowest = forecasts
        .into_iter()
        .max_by(|a, b| recorded(a).total_cmp(&recorded(b)));
    Ok(slowest.map(|slowest| {
        let start_ups = list(&report["start_ups"]);
        let is_it = |one: &&Value| one["connection"] == slowest["connection"];
        let counts = start_ups.iter().find(is_it).cloned().unwrap_or_default();
        StartUp {
            recorded_ms: recorded(&slowest),
            forecast_ms: number(&slowest, "forecast_ms"),
            bytes: number(&counts, "bytes") + number(&counts, "received_bytes"),
            round_trips: number(&counts, "round_trips"),
            cause: report["forecast"]["causes"][0]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            server: 100.0 * of_server(&counts) / number(&counts, "latency_ms"),
        }
    }))
}

/// The server's part of a start-up, in milliseconds: waits for replies and the last drawing, without the link.
fn of_server(start_up: &Value) -> f64 {
    let number = |one: &Value, name: &str| one[name].as_f64().unwrap_or(0.0);
    let parts = &start_up["parts"];
    let waits = ["setup_ms", "waited_ms", "server_ms"].map(|name| number(parts, name));
    let network = number(start_up, "network_ms") - number(start_up, "held_ms");
    let others = network + number(start_up, "run_queue_ms");
    (waits.iter().sum::<f64>() - others).max(0.0)
}

/// Spearman's rank correlation.
fn spearman(pairs: &[Pair], of: fn(&Pair) -> f64) -> f64 {
    let ranks = |of: fn(&Pair) -> f64| -> Vec<f64> {
        let rank = |one: &Pair| pairs.iter().filter(|other| of(other) < of(one)).count() as f64;
        pairs.iter().map(rank).collect()
    };
    let (forecast, measured) = (ranks(of), ranks(|one| one.measured));
    let apart: f64 = forecast
        .iter()
        .zip(&measured)
        .map(|(a, b)| (a - b).powi(2))
        .sum();
    let n = pairs.len() as f64;
    1.0 - 6.0 * apart / (n * (n * n - 1.0))
}
