//! `cargo xtask validate memory`: every report over a trace of over a gigabyte, and the most memory
//! that it took. The trace is a kept recording of xterm over and over, each time as a new client.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use x11prof_trace::{ConnectionId, Control, Reader, Record, TraceError, Writer};

use crate::run::{cargo, root, run, target};

/// How long the trace is to be by default, in MB of the file.
const LENGTH: u64 = 1074;
/// The most memory that a command may take, in KiB.
const GOAL: u64 = 200 << 10;

/// The commands that read a whole trace.
const COMMANDS: &[&[&str]] = &[
    &["report", "--params", "sun4-ipc", "--format", "json"],
    &["report", "--params", "sun4-ipc", "--by", "drawable"],
    &["stats"],
    &["compare", "--params", "sun4-ipc", "--params", "hp9000-350"],
];

/// Runs the validation; the first of `arguments` is another length of the trace, in MB.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let length = match arguments.first() {
        Some(number) => number
            .parse()
            .map_err(|_| format!("{number} is no number of megabytes"))?,
        None => LENGTH,
    };
    run(cargo().args(["build", "--release", "--locked"]))?;
    let folder = target().join("validate");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let trace = folder.join("gigabyte.mcap");
    let copies = repeat(
        &root().join("tests/data/xterm.mcap"),
        &trace,
        length * 1_000_000,
    )
    .map_err(|error| format!("{}: {error}", trace.display()))?;
    let length = std::fs::metadata(&trace).map_or(0, |meta| meta.len());
    println!("a trace of {} MB: {copies} clients", length / 1_000_000);
    let mut largest = 0;
    for command in COMMANDS {
        let start = Instant::now();
        let peak = peak(command, &trace)?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "  {:<50} {seconds:>6.1} s {:>6} MB",
            command.join(" "),
            peak >> 10
        );
        largest = largest.max(peak);
    }
    // It is large, and made again in seconds.
    let _ = std::fs::remove_file(&trace);
    if largest > GOAL {
        return Err(format!(
            "{} MB are over the goal of {} MB",
            largest >> 10,
            GOAL >> 10
        ));
    }
    Ok(())
}

/// Writes `source` to `sink` until that is long enough; gives how often.
fn repeat(source: &Path, sink: &Path, wanted: u64) -> Result<u32, TraceError> {
    let read = || {
        File::open(source)
            .map_err(TraceError::Read)
            .and_then(Reader::new)
    };
    let mut records = Vec::new();
    let mut reader = read()?;
    let started = reader.started().clone();
    while let Some(record) = reader.next()? {
        records.push(record);
    }
    let time = match records.first() {
        Some(Record::Control(time, _)) => *time,
        _ => return Err(TraceError::NoRecords),
    };
    let file = File::create(sink).map_err(TraceError::Write)?;
    let length = file.try_clone().map_err(TraceError::Write)?;
    let mut writer = Writer::new(BufWriter::new(file), started, time)?;
    let mut copies = 0;
    while length.metadata().map_err(TraceError::Write)?.len() < wanted {
        for record in &records {
            if let Some(record) = again(record, copies) {
                writer.write(&record)?;
            }
        }
        copies += 1;
    }
    writer.finish()?;
    Ok(copies)
}

/// `record` as the `copy`th client's; none for what a trace has once.
fn again(record: &Record, copy: u32) -> Option<Record> {
    let client = |connection: ConnectionId| ConnectionId(connection.0 + 100 * copy);
    let mut record = record.clone();
    match &mut record {
        Record::Block(block) => block.connection = client(block.connection),
        Record::Control(_, Control::Opened(opened)) => {
            opened.connection = client(opened.connection);
        }
        Record::Control(_, Control::Closed { connection, .. }) => *connection = client(*connection),
        Record::Control(_, Control::Started(_) | Control::Ended { .. }) => return None,
        _ => {}
    }
    Some(record)
}

/// The most memory that x11prof took for `command` on `trace`, in KiB.
fn peak(command: &[&str], trace: &Path) -> Result<u64, String> {
    let mut child = Command::new(target().join("release/x11prof"))
        .args(command)
        .arg(trace)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // The kernel keeps the peak itself; the last look before the end has it.
        let seen = std::fs::read_to_string(&status).unwrap_or_default();
        let line = seen.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = kib.unwrap_or(0).max(peak);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(peak),
            Some(status) => return Err(format!("x11prof {}: {status}", command.join(" "))),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
