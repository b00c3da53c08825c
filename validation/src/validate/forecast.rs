//! `cargo xtask validate network forecast`: compares forecasts of start-ups over a link with recordings of the same
//! programs over that link (`record --net`), with the paper's equation 7 beside.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{median, quantile, told};
use xtask::packages::{DEMO, MORE_PROGRAMS, TEST, ensure};
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
const LINKS: [(&str, f64, f64); 5] = [
    ("dsl", 187_500.0, 50.0),
    ("lte", 1.5e6, 70.0),
    ("wifi", 3.75e6, 2.0),
    ("10Mbit/s,20ms", 1.25e6, 20.0),
    ("1MB/s,200ms", 1e6, 200.0),
];
/// How long a program runs locally and over a network, in seconds.
const SECONDS: [&str; 2] = ["6", "60"];

/// A start-up, forecast and measured, in milliseconds.
struct Pair {
    forecast: f64,
    equation_7: f64,
    measured: f64,
}

/// Runs the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, MORE_PROGRAMS])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate/forecast");
    std::fs::create_dir_all(&folder).map_err(told)?;
    let image = [b"P6 1200 800 255\n".as_slice(), &[90; 3 * 1200 * 800]].concat();
    std::fs::write(folder.join("image.ppm"), image).map_err(told)?;
    let (here, there) = (folder.join("here.mcap"), folder.join("there.mcap"));
    let mut pairs = Vec::new();
    for (name, command) in PROGRAMS {
        if !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        // The first run reads the program's files from the disk.
        record(command, None, &here)?;
        record(command, None, &here)?;
        for (link, speed, rtt) in LINKS {
            record(command, Some(link), &there)?;
            let forecast = start_up(&here, link)?;
            let measured = start_up(&there, link)?;
            let Some((local, measured)) = forecast.zip(measured) else {
                println!("{name} {link}: no first frame");
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

fn summary(model: &str, pairs: &[Pair], of: fn(&Pair) -> f64) {
    let error = |pair: &Pair| 100.0 * (of(pair) / pair.measured - 1.0).abs();
    let errors: Vec<f64> = pairs.iter().map(error).collect();
    println!(
        "{model}: {} start-ups, median error {:.1} %, 95 % within {:.1} %, Spearman {:.3}",
        pairs.len(),
        median(errors.iter().copied()),
        quantile(&errors, 0.95),
        spearman(pairs, of)
    );
}

fn record(command: &[&str], link: Option<&str>, trace: &Path) -> Result<(), String> {
    let seconds = SECONDS[usize::from(link.is_some())];
    let folder = trace.parent().unwrap_or(Path::new("."));
    // The programs run until timeout ends them, so the status does not matter.
    Command::new(target().join("release/x11prof"))
        .args(["record", "--server", "xvfb", "-o"])
        .arg(trace)
        .args(link.into_iter().flat_map(|link| ["--net", link]))
        .args(["--", "timeout", "-k", "1", seconds])
        .args(command)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
        .map_err(told)
}

/// A start-up in a trace.
struct StartUp {
    recorded_ms: f64,
    forecast_ms: f64,
    bytes: f64,
    round_trips: f64,
}

/// The slowest start-up in a trace.
fn start_up(trace: &Path, link: &str) -> Result<Option<StartUp>, String> {
    let output = Command::new(target().join("release/x11prof"))
        .args(["network", "--start-up", "--format", "json", "--net", link])
        .arg(trace)
        .output()
        .map_err(told)?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
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
        }
    }))
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
