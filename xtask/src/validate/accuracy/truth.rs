//! One run of a workload: without x11prof for the truth, and through x11prof for the estimate.
//!
//! Server, recorder and client share one processor, as the parameters were measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use x11prof_cost_model::{AfterSleep, Pace};
use x11prof_proxy::{PrivateServer, ServerKind};
use x11prof_xmeasure::PaceWatch;

use super::workloads::Workload;
use crate::run::target;

/// The processor that everything runs on.
pub(super) const CPU: &str = "1";
/// The other one, for what a server needs for itself: its host, its viewer.
const ASIDE: usize = 0;
/// How long a server that has nothing left to do is given to clear up behind its clients.
const SETTLE: Duration = Duration::from_millis(200);
/// How often the processor's pace is looked at: as in a calibration;
/// in the sleeps of a server that mostly waits seldom, for each look is a wakeup.
const OFTEN: Duration = Duration::from_micros(500);
const NOW_AND_THEN: Duration = Duration::from_millis(25);
/// Seconds that a workload may take; most take less than a quarter of it.
const LIMIT: &str = "60";
/// The status of timeout(1) where it had to end what it ran.
const TIMED_OUT: i32 = 124;

/// Where the workloads find programs of ours.
const EXAMPLES: &str = "EXAMPLES";

fn examples() -> PathBuf {
    target().join("release/examples")
}

/// What a workload cost a server that nobody recorded.
#[derive(Clone)]
pub(super) struct Alone {
    /// Processor time of the server in milliseconds.
    pub(super) server_ms: f64,
    pub(super) wall_ms: f64,
    /// Processor time of what it has its window at, in milliseconds, where it has.
    pub(super) host_ms: Option<f64>,
    /// How fast the processor was meanwhile; `None` where that is not known.
    pub(super) pace: Option<Pace>,
    /// What sleeps cost such a server just before and behind; empty where it was not measured.
    pub(super) sleeps: Vec<AfterSleep>,
}

impl Alone {
    pub(super) fn json(&self) -> Value {
        json!({
            "server_ms": self.server_ms, "wall_ms": self.wall_ms, "host_ms": self.host_ms,
            "pace": self.pace, "after_sleep": self.sleeps,
        })
    }

    pub(super) fn from_json(json: &Value) -> Option<Alone> {
        Some(Alone {
            server_ms: json["server_ms"].as_f64()?,
            wall_ms: json["wall_ms"].as_f64()?,
            host_ms: json["host_ms"].as_f64(),
            pace: Option::deserialize(&json["pace"]).unwrap_or_default(),
            sleeps: Vec::deserialize(&json["after_sleep"]).unwrap_or_default(),
        })
    }
}

/// What x11prof makes of a recording.
#[derive(Clone, Copy)]
pub(super) struct Priced {
    pub(super) estimate_ms: f64,
    /// Of it, what the requests themselves take; the rest is their transport.
    pub(super) requests_ms: f64,
    pub(super) low_ms: f64,
    pub(super) high_ms: f64,
    /// Processor time of the server while it was recorded, by the kernel.
    pub(super) recorded_ms: f64,
    pub(super) client_ms: f64,
    pub(super) wall_ms: f64,
    /// The share of requests that have a price.
    pub(super) priced: f64,
}

impl Priced {
    pub(super) fn json(&self) -> Value {
        json!({
            "estimate_ms": self.estimate_ms, "requests_ms": self.requests_ms, "low_ms": self.low_ms,
            "high_ms": self.high_ms, "recorded_ms": self.recorded_ms, "client_ms": self.client_ms,
            "wall_ms": self.wall_ms, "priced": self.priced,
        })
    }

    pub(super) fn from_json(json: &Value) -> Option<Priced> {
        let number = |name: &str| json[name].as_f64();
        Some(Priced {
            estimate_ms: number("estimate_ms")?,
            requests_ms: number("requests_ms")?,
            low_ms: number("low_ms")?,
            high_ms: number("high_ms")?,
            recorded_ms: number("recorded_ms")?,
            // Absent where the kernel did not say.
            client_ms: number("client_ms").unwrap_or(f64::NAN),
            wall_ms: number("wall_ms")?,
            priced: number("priced")?,
        })
    }
}

/// x11prof on the one processor.
pub(super) fn pinned(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", CPU])
        .arg(target().join("release/x11prof"))
        .args(arguments)
        .env(EXAMPLES, examples())
        .current_dir(folder);
    command
}

/// Where workloads run.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    pub(super) kind: ServerKind,
}

impl Stage {
    /// Starts a server on the one processor.
    fn server(self) -> Result<PrivateServer, String> {
        let server = PrivateServer::start(self.kind).map_err(|error| error.to_string())?;
        let pid = server.pid().to_string();
        let moved = Command::new("taskset")
            .args(["-apc", CPU, &pid])
            .stdout(Stdio::null())
            .status();
        if !moved.is_ok_and(|status| status.success()) {
            return Err(format!("cannot pin process {pid} to processor {CPU}"));
        }
        server.put_aside(ASIDE).map_err(|error| {
            format!(
                "what {} needs cannot go to processor {ASIDE}: {error}",
                self.kind
            )
        })?;
        // What it does for its host or its viewer at the start is no part of the workload.
        std::thread::sleep(SETTLE);
        Ok(server)
    }

    /// Runs `workload` on a server that it has to itself.
    pub(super) fn alone(self, workload: &Workload, folder: &Path) -> Result<Alone, String> {
        let server = self.server()?;
        let host = || server.host_pid().map(processor_time).transpose();
        let (before, host_before) = (processor_time(server.pid())?, host()?);
        let home = home()?;
        let often = if workload.waits { NOW_AND_THEN } else { OFTEN };
        let watch = CPU.parse().map(|cpu| PaceWatch::start(cpu, often));
        let start = Instant::now();
        let mut command = Command::new("taskset");
        command
            .args(["-c", CPU])
            .args(limited(workload))
            .env(EXAMPLES, examples())
            .current_dir(folder);
        finish(workload, housed(at(&mut command, &server), &home))?;
        let wall = start.elapsed();
        let pace = watch.ok().and_then(PaceWatch::finish);
        std::thread::sleep(SETTLE);
        let used = processor_time(server.pid())?.saturating_sub(before);
        let host = host_before.zip(host()?);
        Ok(Alone {
            server_ms: used as f64 / 1e6,
            host_ms: host.map(|(before, after)| after.saturating_sub(before) as f64 / 1e6),
            wall_ms: wall.as_secs_f64() * 1e3,
            pace,
            sleeps: Vec::new(),
        })
    }

    /// Records `workload` on another such server, into `trace`.
    pub(super) fn record(
        self,
        workload: &Workload,
        trace: &Path,
        folder: &Path,
    ) -> Result<(), String> {
        let server = self.server()?;
        let mut command = pinned(&["record", "-o"], folder);
        command.arg(trace).arg("--").args(limited(workload));
        let home = home()?;
        finish(workload, housed(at(&mut command, &server), &home))
    }
}

/// Has `command` find `server`.
fn at<'a>(command: &'a mut Command, server: &PrivateServer) -> &'a mut Command {
    command
        .env("DISPLAY", server.display().to_string())
        .env("XAUTHORITY", server.authority_file())
}

/// A home that nobody has used. What one run leaves behind would change the next: mousepad, ended
/// with a text that is not saved, asks at its next start whether to restore it, and the keys go there.
fn home() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("no folder for a home: {error}"))
}

/// Has `command` live in `home`.
fn housed<'a>(command: &'a mut Command, home: &TempDir) -> &'a mut Command {
    let home = home.path();
    command
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("XDG_CACHE_HOME", home.join(".cache"))
        .env("XDG_DATA_HOME", home.join(".local/share"))
}

/// Prices the recording `trace` with `parameters`.
pub(super) fn price(trace: &Path, parameters: &Path) -> Result<Priced, String> {
    let output = Command::new(target().join("release/x11prof"))
        .args(["report", "--basis", "model", "--format", "json", "--params"])
        .arg(parameters)
        .arg(trace)
        .output()
        .map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!(
            "{}: no report: {error}: {}",
            trace.display(),
            String::from_utf8_lossy(&output.stderr)
        )
    })?;
    let total = &report["total"];
    let number = |field: &str| total[field].as_f64().unwrap_or(f64::NAN);
    let count = number("count");
    Ok(Priced {
        estimate_ms: number("server_ms"),
        requests_ms: number("server_ms")
            - report["transport"]["server_ms"]
                .as_f64()
                .unwrap_or(f64::NAN),
        low_ms: number("likely_low_ms"),
        high_ms: number("likely_high_ms"),
        recorded_ms: number("server_cpu_ms"),
        client_ms: number("client_cpu_ms"),
        wall_ms: number("wall_ms"),
        priced: (count - number("unpriced")) / count,
    })
}

/// Where the recording of a workload on a server is kept, to be priced for other servers too.
pub(super) fn trace(folder: &Path, workload: &Workload, kind: ServerKind) -> PathBuf {
    folder.join(format!("{}-{kind}.mcap", workload.name.replace(' ', "-")))
}

/// Processor time of all threads of a process, in nanoseconds. It is exact while they sleep.
fn processor_time(pid: u32) -> Result<u64, String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .map_err(|error| format!("the server is gone: {error}"))?;
    let of = |task: fs::DirEntry| -> Option<u64> {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    Ok(tasks.filter_map(|task| of(task.ok()?)).sum())
}

/// The workload's command, ended after `LIMIT`.
fn limited(workload: &Workload) -> [&'static str; 7] {
    ["timeout", "-k", "5", LIMIT, "sh", "-c", workload.shell]
}

/// Runs a workload to its end. A program that was ended on purpose leaves its own status: only
/// one that took too long is a failure.
fn finish(workload: &Workload, command: &mut Command) -> Result<(), String> {
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("{}: {error}", workload.name))?;
    if status.code() == Some(TIMED_OUT) {
        return Err(format!("{}: not done after {LIMIT} s", workload.name));
    }
    Ok(())
}
