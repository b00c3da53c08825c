//! `cargo xtask bench growth [LARGEST]`: growth of the time and the memory of the analysis with the length of a trace,
//! its clients, its windows, and with the number of sessions of `issues`. Prints a table of exponents: 1 means
//! proportional growth.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::analyze::children_seconds;
use super::made_trace::MadeTrace;
use xtask::run::{cargo, run, target};

/// The commands that read one trace.
const COMMANDS: [&[&str]; 4] = [
    &["report", "--params", "xvfb-24", "--no-rescale"],
    &["stats"],
    &["network"],
    &["episodes"],
];
/// The number of clients that are connected at the same time.
const AT_ONCE: u64 = 4000;
/// The number of requests of each client between round trips, and of each window.
const REQUESTS_OF_CLIENT: u64 = 200;
const REQUESTS_OF_WINDOW: u64 = 20;
/// The number of requests per reply in a long trace.
const REQUESTS_OF_ANSWER: u64 = 10_000;
const KEY_PRESSES: u8 = 10;
/// Runs with less CPU time (seconds) or memory (bytes) are not compared, because start-up and noise dominate them.
const SECONDS: f64 = 0.1;
const BYTES: f64 = 4e6;

/// The dimension that grows.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Requests,
    Clients,
    Windows,
    Sessions,
}

/// The time and memory of a run.
struct Run {
    size: u64,
    seconds: f64,
    bytes: f64,
}

/// Runs the benchmark. Traces have at most `LARGEST` requests, by default 10⁸.
pub(super) fn bench(arguments: &[String]) -> Result<(), String> {
    let largest = match arguments.first() {
        Some(word) => word.parse().map_err(|_| format!("not a number: {word}"))?,
        None => 100_000_000,
    };
    run(cargo().args(["build", "--release", "--locked", "-p", "x11prof"]))?;
    let folder = target().join("bench/growth");
    println!(
        "largest, its processor time and peak of memory; exponents of both over its last step of ten"
    );
    let axes = [
        (Axis::Requests, "requests", 100_000, largest),
        (Axis::Clients, "clients", 1, 10_000),
        (Axis::Windows, "windows", 10, 100_000),
        (Axis::Sessions, "sessions", 10, 10_000),
    ];
    for (axis, name, from, to) in axes {
        let commands: &[&[&str]] = match axis {
            Axis::Sessions => &[&["issues"]],
            _ => &COMMANDS,
        };
        let mut runs: Vec<Vec<Run>> = commands.iter().map(|_| Vec::new()).collect();
        let mut size = from;
        while size <= to {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            let input = make(&folder, axis, size)?;
            for (command, runs) in commands.iter().zip(&mut runs) {
                runs.push(measure(command, &input, size)?);
            }
            size *= 10;
        }
        for (command, runs) in commands.iter().zip(&runs) {
            print(command[0], name, runs);
        }
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

/// Creates a trace, or a folder of traces, of this size.
fn make(folder: &Path, axis: Axis, size: u64) -> Result<PathBuf, String> {
    if axis == Axis::Sessions {
        for number in 0..size {
            let mut trace = MadeTrace::create(&folder.join(format!("{number}.mcap")), number)?;
            let mut client = trace.connect()?;
            for press in 0..KEY_PRESSES {
                trace.key_press(&mut client, 10 + press)?;
            }
            trace.close(client)?;
            trace.end()?;
        }
        return Ok(folder.to_owned());
    }
    let path = folder.join("made.mcap");
    let mut trace = MadeTrace::create(&path, 0)?;
    match axis {
        Axis::Clients => {
            let mut left = size;
            while left > 0 {
                let count = left.min(AT_ONCE);
                let clients: Result<Vec<_>, String> = (0..count).map(|_| trace.connect()).collect();
                let mut clients = clients?;
                for request in 0..REQUESTS_OF_CLIENT {
                    for client in &mut clients {
                        client.fill(0);
                        if request % 20 == 0 {
                            trace.ask(client)?;
                        }
                    }
                }
                for client in clients {
                    trace.close(client)?;
                }
                left -= count;
            }
        }
        Axis::Windows => {
            let mut client = trace.connect()?;
            for window in 1..=size as u32 {
                client.window(window);
                trace.send_if_full(&mut client)?;
            }
            for _ in 0..REQUESTS_OF_WINDOW {
                for window in 1..=size as u32 {
                    client.fill(window);
                    trace.send_if_full(&mut client)?;
                }
            }
            for window in 1..=size as u32 {
                client.destroy(window);
                trace.send_if_full(&mut client)?;
            }
            trace.close(client)?;
        }
        _ => {
            let mut client = trace.connect()?;
            for request in 1..=size {
                match request % 2 {
                    0 => client.nothing(),
                    _ => client.fill(0),
                }
                trace.send_if_full(&mut client)?;
                if request % REQUESTS_OF_ANSWER == 0 {
                    trace.ask(&mut client)?;
                }
            }
            trace.close(client)?;
        }
    }
    trace.end()?;
    Ok(path)
}

/// Runs a command to its end, and samples its memory.
fn measure(command: &[&str], input: &Path, size: u64) -> Result<Run, String> {
    let before = children_seconds()?;
    let mut child = Command::new(target().join("release/x11prof"))
        .arg(command[0])
        .arg(input)
        .args(&command[1..])
        .args(["--format", "json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run x11prof: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let mut bytes: f64 = 0.0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        bytes = bytes.max(peak.unwrap_or(0.0) * 1024.0);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    match ended.success() {
        true => Ok(Run {
            size,
            seconds: children_seconds()? - before,
            bytes,
        }),
        false => Err(format!("{} {}: {ended}", command[0], input.display())),
    }
}

fn print(command: &str, axis: &str, runs: &[Run]) {
    let Some(last) = runs.last() else { return };
    println!(
        "{command:<10} {:>11} {axis:<8} {:>7.2} s {:>5.0} MB  time {}  memory {}",
        last.size,
        last.seconds,
        last.bytes / 1e6,
        exponent(runs, |run| run.seconds, SECONDS),
        exponent(runs, |run| run.bytes, BYTES),
    );
}

/// The exponent of growth of `of` in the last step, after subtracting the smallest run; `0` if the growth is less than
/// `least`.
fn exponent(runs: &[Run], of: impl Fn(&Run) -> f64, least: f64) -> String {
    let [first, .., before, last] = runs else {
        return "unknown".to_owned();
    };
    let [before_more, more] = [before, last].map(|run| of(run) - of(first));
    match more > least {
        false => "0".to_owned(),
        true => {
            let times = last.size as f64 / before.size as f64;
            format!(
                "{:.2}",
                (more / before_more.max(least / 10.0)).ln() / times.ln()
            )
        }
    }
}
