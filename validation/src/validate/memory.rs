//! `cargo xtask validate memory`: runs every analysis on a long trace, and prints the time and peak memory. The trace
//! consists of copies of a stored recording of xterm.
//!
//! Arguments: the length in MB, then words. Only commands that contain one of the words run, as in `validate memory
//! 10000 drawable compare`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::long_trace::LongTrace;
use xtask::run::{cargo, root, run, target};

/// The default length of the trace, in MB of the file.
pub(super) const LENGTH: u64 = 1074;
/// The maximum memory of a command, in KiB.
pub(super) const GOAL: u64 = 200 << 10;
/// The time limit of a command: a constant part, and a part for each MB of the trace.
pub(super) const PATIENCE: (Duration, Duration) =
    (Duration::from_secs(30), Duration::from_millis(300));

/// The commands that read a whole trace.
const COMMANDS: &[&[&str]] = &[
    &["report", "--params", "sun4-ipc", "--format", "json"],
    &["report", "--params", "sun4-ipc", "--resources"],
    &["report", "--params", "sun4-ipc", "--by", "client"],
    &["report", "--params", "sun4-ipc", "--by", "window"],
    &["report", "--params", "sun4-ipc", "--by", "drawable"],
    &["report", "--params", "sun4-ipc", "--by", "atom"],
    &["report", "--params", "sun4-ipc", "--format", "html"],
    &["episodes"],
    &["network"],
    &["stats", "--histograms"],
    &["compare", "--params", "sun4-ipc", "--params", "hp9000-350"],
    &["dump"],
    &["dump", "--format", "json"],
    &["export", "--to", "pcapng", "-o", "/dev/null"],
    &["export", "--to", "perfetto", "-o", "/dev/null"],
    &["export", "--to", "firefox", "-o", "/dev/null"],
    &["export", "--to", "pprof", "-o", "/dev/null"],
];

/// Runs the validation.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let (length, words) = match arguments.split_first() {
        Some((number, words)) => (
            number
                .parse()
                .map_err(|_| format!("{number} is no number of megabytes"))?,
            words,
        ),
        None => (LENGTH, arguments),
    };
    let wanted = |command: &&&[&str]| {
        let command = command.join(" ");
        words.is_empty() || words.iter().any(|word| command.contains(word.as_str()))
    };
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let folder = target().join("validate");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let recording = root().join("tests/data/xterm.mcap");
    let trace = LongTrace::of(&recording, &folder, length * 1_000_000)
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let length = u32::try_from(trace.len() / 1_000_000).unwrap_or(u32::MAX);
    println!("a trace of {length} MB: {} times xterm", trace.copies);
    let patience = PATIENCE.0 + PATIENCE.1 * length;
    let mut largest = 0;
    for command in COMMANDS.iter().filter(wanted) {
        let start = Instant::now();
        let peak = peak(command, &trace.path(), patience)?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "  {:<50} {seconds:>6.1} s {:>6} MB",
            command.join(" "),
            peak >> 10
        );
        largest = largest.max(peak);
    }
    if largest > GOAL {
        return Err(format!(
            "{} MB are over the goal of {} MB",
            largest >> 10,
            GOAL >> 10
        ));
    }
    Ok(())
}

/// The peak memory of x11prof for `command` on `trace`, in KiB.
pub(super) fn peak(command: &[&str], trace: &Path, patience: Duration) -> Result<u64, String> {
    let mut child = Command::new(target().join("release/x11prof"))
        .args(command)
        .arg(trace)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let start = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // The kernel stores the peak, so the last reading is sufficient.
        let seen = std::fs::read_to_string(&status).unwrap_or_default();
        let line = seen.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = kib.unwrap_or(0).max(peak);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(peak),
            Some(status) => return Err(format!("x11prof {}: {status}", command.join(" "))),
            None if start.elapsed() > patience => {
                let _ = child.kill();
                let _ = child.wait();
                let command = command.join(" ");
                let seconds = patience.as_secs();
                return Err(format!("x11prof {command}: stopped after {seconds} s"));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
