//! The duration of each handling, as measured by the program: one JSON object per line.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time of a clock in nanoseconds.
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// CLOCK_MONOTONIC, in nanoseconds.
pub(crate) fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// The CPU time of this thread, in nanoseconds.
pub(crate) fn processor() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// The voluntary context switches of this thread; 0 if the kernel does not report them.
fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

/// Nanoseconds that this thread spent on the run queue (proc(5), schedstat); 0 if the kernel does not report them.
fn queued() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let second = text.split_whitespace().nth(1);
    second.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A handling in progress.
#[derive(Debug)]
pub(crate) struct Handling {
    action: &'static str,
    begin: u64,
    processor: u64,
    switches: u64,
    queued: u64,
    /// The requested duration; `None` for short actions between the measured ones.
    pub(crate) asked: Option<Duration>,
    /// Nanoseconds slept.
    pub(crate) slept: u64,
    /// Nanoseconds off the CPU in which it waited for replies, or for the server to read its requests.
    pub(crate) waited: u64,
    /// Number of replies that it waited for.
    pub(crate) round_trips: u64,
}

impl Handling {
    /// Starts the handling of the input that was read at `begin`.
    pub(crate) fn of(action: &'static str, begin: u64) -> Handling {
        Handling {
            action,
            begin,
            processor: processor(),
            switches: switches(),
            queued: queued(),
            asked: None,
            slept: 0,
            waited: 0,
            round_trips: 0,
        }
    }
}

/// The file with the measurements.
#[derive(Debug)]
pub(crate) struct Truth {
    file: File,
    benchmark: &'static str,
    kept: String,
}

impl Truth {
    /// A new file at `path`.
    pub(crate) fn create(path: &str, benchmark: &'static str) -> std::io::Result<Truth> {
        Ok(Truth {
            file: File::create(path)?,
            benchmark,
            kept: String::new(),
        })
    }

    /// Records the end of the handling. The file is written later, so that writing does not count as handling.
    pub(crate) fn ended(&mut self, handling: &Handling) {
        let end = now();
        let computed = processor() - handling.processor;
        let switches = switches() - handling.switches;
        let queued = queued() - handling.queued;
        let asked = handling
            .asked
            .map_or_else(|| "null".to_owned(), |time| time.as_millis().to_string());
        self.kept.push_str(&format!(
            "{{\"benchmark\":\"{}\",\"action\":\"{}\",\"asked_ms\":{asked},\"begin_ns\":{},\"end_ns\":{end},\
             \"computed_ns\":{computed},\"slept_ns\":{},\"waited_ns\":{},\"round_trips\":{},\"switches\":{switches},\
             \"queued_ns\":{queued}}}\n",
            self.benchmark,
            handling.action,
            handling.begin,
            handling.slept,
            handling.waited,
            handling.round_trips
        ));
    }

    /// Writes the buffered measurements.
    pub(crate) fn write(&mut self) -> std::io::Result<()> {
        self.file.write_all(self.kept.as_bytes())?;
        self.kept.clear();
        Ok(())
    }
}
