//! `cargo xtask validate carried`: forecasts for other servers from recordings on Xvfb.
//!
//! Compares the forecast of `report --params SERVER`, and a replay on such a server (`replay --server`), with the CPU
//! time that the kernel reports for the server when the program is not recorded, and with the naive forecast that all
//! servers have the same cost. Nothing is pinned; cost tables are the defaults.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use x11prof_proxy::{PrivateServer, ServerKind};

use super::programs::{DRAWN, PROGRAMS, Program, packages, packages_of};
use super::{median, quantile, reported};
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The servers to forecast, with their built-in cost tables.
const SERVERS: [(ServerKind, &str); 4] = [
    (ServerKind::Xvnc, "xvnc"),
    (ServerKind::Xephyr, "xephyr"),
    (ServerKind::XorgDummy, "xorg-dummy"),
    (ServerKind::Xwayland, "xwayland"),
];
/// The number of runs of a program to measure its true cost on a server.
const TRUTHS: usize = 2;
/// How long to wait until an idle server has cleaned up after its clients.
const SETTLE: Duration = Duration::from_millis(200);
/// If two true values differ by at least this factor, their forecasts must have the same order.
const DIFFER: f64 = 1.10;

/// A forecast with the true values.
struct Row {
    new: bool,
    kind: ServerKind,
    program: &'static str,
    forecast: f64,
    replayed: f64,
    naive: f64,
    truths: Vec<f64>,
}

impl Row {
    fn truth(&self) -> f64 {
        median(self.truths.iter().copied())
    }

    /// The relative error of `forecast`.
    fn error(&self, forecast: f64) -> f64 {
        (forecast / self.truth() - 1.0).abs()
    }

    /// Half of the range of the true values, relative to their median.
    fn spread(&self) -> f64 {
        let (least, most) = (quantile(&self.truths, 0.0), quantile(&self.truths, 1.0));
        (most - least) / 2.0 / self.truth()
    }
}

/// Runs the programs whose names contain one of `arguments`; by default twelve: every second program of the project's
/// list, and every third of those selected by a rule.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, &packages(), &packages_of(DRAWN)])?;
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = target().join("validate/carried");
    fs::create_dir_all(&folder).map_err(reported)?;
    let twelve = PROGRAMS.iter().step_by(2).chain(DRAWN.iter().step_by(3));
    let all = PROGRAMS.iter().chain(DRAWN).filter(|program| {
        let mut names = arguments.iter();
        names.any(|name| program.name.contains(name.as_str()))
    });
    let chosen: Vec<&Program> = match arguments {
        [] => twelve.collect(),
        _ => all.collect(),
    };
    println!(
        "| program | new | server | forecast, ms | truth, ms | its spread, % | replayed / truth | forecast / truth | naive / truth |"
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|---:|");
    let mut rows = Vec::new();
    for program in chosen {
        match program_rows(program, &folder) {
            Ok(new) => rows.extend(new),
            Err(error) => eprintln!("{}: {error}", program.name),
        }
    }
    summary("all", rows.iter());
    summary("new programs", rows.iter().filter(|row| row.new));
    for (kind, _) in SERVERS {
        summary(kind.name(), rows.iter().filter(|row| row.kind == kind));
    }
    orders(&rows);
    Ok(())
}

fn program_rows(program: &Program, folder: &Path) -> Result<Vec<Row>, String> {
    let name = program.name.replace([' ', '(', ')', '/'], "-");
    let trace = folder.join(format!("{name}.mcap"));
    record(program, &trace)?;
    let naive = forecast(&trace, None)?;
    let replayed = replayed(&trace, folder)?;
    let mut rows = Vec::new();
    for ((kind, parameters), replayed) in SERVERS.into_iter().zip(replayed) {
        let truths: Result<Vec<f64>, String> = (0..TRUTHS).map(|_| truth(program, kind)).collect();
        let row = Row {
            new: program.new,
            kind,
            program: program.name,
            forecast: forecast(&trace, Some(parameters))?,
            replayed,
            naive,
            truths: truths?,
        };
        println!(
            "| {} | {} | {kind} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} |",
            row.program,
            if row.new { "yes" } else { "" },
            row.forecast,
            row.truth(),
            100.0 * row.spread(),
            row.replayed / row.truth(),
            row.forecast / row.truth(),
            row.naive / row.truth(),
        );
        rows.push(row);
    }
    Ok(rows)
}

fn summary<'a>(what: &str, rows: impl Iterator<Item = &'a Row> + Clone) {
    let of = |forecast: fn(&Row) -> f64| -> (f64, f64) {
        let errors: Vec<f64> = rows.clone().map(|row| row.error(forecast(row))).collect();
        let beyond: Vec<f64> = rows
            .clone()
            .map(|row| (row.error(forecast(row)) - row.spread()).max(0.0))
            .collect();
        (
            100.0 * median(errors.iter().copied()),
            100.0 * quantile(&beyond, 0.95),
        )
    };
    println!(
        "\n{what}, {} rows: median error, 95th percentile beyond the truth's spread",
        rows.clone().count()
    );
    for (name, (middle, worst)) in [
        ("replayed", of(|row| row.replayed)),
        ("forecast", of(|row| row.forecast)),
        ("naive", of(|row| row.naive)),
    ] {
        println!("  {name}: {middle:.1} %, {worst:.0} %");
    }
}

/// Prints how many pairs of servers that differ for a program are forecast in the right order.
fn orders(rows: &[Row]) {
    let (mut right, mut replayed, mut all) = (0, 0, 0);
    for (at, one) in rows.iter().enumerate() {
        for other in rows[at + 1..]
            .iter()
            .filter(|row| row.program == one.program)
        {
            let ratio = one.truth() / other.truth();
            if ratio.max(1.0 / ratio) > DIFFER {
                all += 1;
                right += usize::from((one.forecast > other.forecast) == (ratio > 1.0));
                replayed += usize::from((one.replayed > other.replayed) == (ratio > 1.0));
            }
        }
    }
    println!(
        "\nOrder of servers that differ by 10 % or more: replayed {replayed}, forecast {right} of {all} right"
    );
}

/// The server time on each of the servers in milliseconds, measured by replaying the recording there.
fn replayed(trace: &Path, folder: &Path) -> Result<Vec<f64>, String> {
    let mut command = Command::new(target().join("release/x11prof"));
    command.arg("replay").arg(trace);
    for (kind, _) in SERVERS {
        command.args(["--server", kind.name()]);
    }
    command.args(["--format", "json", "-o"]);
    command.arg(folder.join("replay.mcap"));
    let output = command.output().map_err(reported)?;
    let compared: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    // The first entry is the recording.
    let servers = compared["servers"].as_array().into_iter().flatten().skip(1);
    let times = servers.map(|server| server["server_ms"].as_f64());
    let times: Option<Vec<f64>> = times.collect();
    times
        .filter(|times| times.len() == SERVERS.len())
        .ok_or_else(|| format!("{}: {compared}", trace.display()))
}

/// Sets a new home folder for a command.
fn housed(command: &mut Command, home: &Path) -> Result<(), String> {
    command
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .current_dir(home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(|_| ())
        .map_err(reported)
}

/// Records a program on a private Xvfb.
pub(super) fn record(program: &Program, trace: &Path) -> Result<(), String> {
    let home = tempfile::tempdir().map_err(reported)?;
    let mut command = Command::new(target().join("release/x11prof"));
    command
        .args(["record", "--server", "xvfb", "-o"])
        .arg(trace)
        .args(["--", "timeout", "-k", "5", "60", "sh", "-c", program.shell]);
    housed(&mut command, home.path())
}

/// The CPU time of a server of this kind for a program that is not recorded, in milliseconds, from the kernel.
fn truth(program: &Program, kind: ServerKind) -> Result<f64, String> {
    let server = PrivateServer::start(kind).map_err(reported)?;
    std::thread::sleep(SETTLE);
    let before = processor_time(server.pid())?;
    let home = tempfile::tempdir().map_err(reported)?;
    let mut command = Command::new("timeout");
    command
        .args(["-k", "5", "60", "sh", "-c", program.shell])
        .env("DISPLAY", server.display().to_string())
        .env("XAUTHORITY", server.authority_file());
    housed(&mut command, home.path())?;
    std::thread::sleep(SETTLE);
    let used = processor_time(server.pid())?.saturating_sub(before);
    Ok(used as f64 / 1e6)
}

/// CPU time of all threads of a process, in nanoseconds. It is exact while they sleep.
fn processor_time(pid: u32) -> Result<u64, String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .map_err(|error| format!("the server is gone: {error}"))?;
    let of = |task: fs::DirEntry| -> Option<u64> {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    Ok(tasks.filter_map(|task| of(task.ok()?)).sum())
}

/// The server time in a report, in milliseconds: of the recorded server, or of the server with these cost tables.
fn forecast(trace: &Path, parameters: Option<&str>) -> Result<f64, String> {
    let report = super::report(trace, parameters)?;
    let basis = report["server"]["time_source"].as_str().unwrap_or_default();
    let is_right = match parameters {
        Some(_) => basis == "extrapolated",
        None => matches!(basis, "attributed" | "timed"),
    };
    if !is_right {
        return Err(format!("{}: its basis is {basis}", trace.display()));
    }
    let total: &Value = &report["total"]["server_ms"];
    total.as_f64().ok_or_else(|| "no total".to_owned())
}
