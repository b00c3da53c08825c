//! `cargo xtask validate ring`: the memory and disk usage of a ring on a busy desktop. The desktop does in minutes what
//! users do in an hour.
//!
//! Argument: the duration in seconds.

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::desktop::{self, Desktop};
use super::reported;
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, TEST, ensure};
use xtask::run::{cargo, run, target};

/// The default duration of the desktop's work.
const LENGTH: Duration = Duration::from_secs(300);
/// The length of the ring in seconds.
const RING: &str = "60";
/// The limits of memory in kB and disk space in bytes.
const MEMORY_KB: u64 = 100 << 10;
const DISK: u64 = 300_000_000;

/// Runs the ring on a busy desktop.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    ensure(&[DEMO, TEST, desktop::PROGRAMS])?;
    run(cargo().args(["build", "--release", "--locked", "--bin", "x11prof"]))?;
    let length = match arguments.first() {
        Some(seconds) => Duration::from_secs(seconds.parse().map_err(reported)?),
        None => LENGTH,
    };
    let folder = target().join("validate/ring");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(reported)?;
    let cpus = std::thread::available_parallelism().map_err(reported)?;
    let server = XServer::start(&format!("0-{}", cpus.get() - 1))?;
    let desktop = Desktop::start(&server.display(), None, &folder)?;
    let mut recorder = Command::new(target().join("release/x11prof"))
        .args([
            "record",
            "--attach",
            "--display",
            &server.display(),
            "-o",
            "busy.mcap",
        ])
        .args([
            "--ring",
            RING,
            "--when",
            "episode > 1000ms",
            "--when",
            "signal",
        ])
        .current_dir(&folder)
        .spawn()
        .map_err(reported)?;
    let (memory, disk) = watch(&mut recorder, length)?;
    let signal = |name: &str| {
        Command::new("kill")
            .args([name, &recorder.id().to_string()])
            .status()
    };
    signal("-USR1").map_err(reported)?;
    std::thread::sleep(Duration::from_secs(3));
    signal("-INT").map_err(reported)?;
    let status = recorder.wait().map_err(reported)?;
    drop(desktop);
    let files = fs::read_dir(&folder).map_err(reported)?.flatten();
    let files: Vec<_> = files
        .filter(|file| file.file_name().to_string_lossy().ends_with(".mcap"))
        .collect();
    let written: u64 = files
        .iter()
        .flat_map(|file| file.metadata())
        .map(|one| one.len())
        .sum();
    let last = folder.join(format!("busy-{}.mcap", files.len()));
    let report = super::report(&last, None)?;
    println!(
        "{} s of a busy desktop, a ring of {RING} s: {:.1} MB of memory, {:.1} MB of disk without a name at most, \
         {} files of {:.1} MB; the last has {} requests in {:.0} s",
        length.as_secs(),
        memory as f64 / 1024.0,
        disk as f64 / 1e6,
        files.len(),
        written as f64 / 1e6,
        report["total"]["count"],
        report["trace"]["duration_ms"].as_f64().unwrap_or(0.0) / 1e3,
    );
    for warning in report["warnings"].as_array().into_iter().flatten() {
        let kind = warning["kind"].as_str().unwrap_or_default();
        if ["malformed", "lost-bytes", "missing-request", "trouble"].contains(&kind) {
            return Err(format!("{}: {warning}", last.display()));
        }
    }
    match status.success() && memory <= MEMORY_KB && disk + written <= DISK {
        true => Ok(()),
        false => Err(format!("it took too much, or it failed: {status}")),
    }
}

/// The peak memory in kB and disk space in bytes of a process until `length` has passed.
fn watch(recorder: &mut Child, length: Duration) -> Result<(u64, u64), String> {
    let (mut memory, mut disk) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < length {
        if let Some(status) = recorder.try_wait().map_err(reported)? {
            return Err(format!("the recorder ended: {status}"));
        }
        let pid = recorder.id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(reported)?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        disk = disk.max(unnamed(pid));
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok((memory, disk))
}

/// The total size in bytes of a process's unnamed open files, each counted once.
fn unnamed(pid: u32) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return 0;
    };
    let mut files: Vec<(u64, u64)> = open
        .flatten()
        .filter_map(|one| fs::metadata(one.path()).ok())
        .filter(|file| file.is_file() && file.nlink() == 0)
        .map(|file| (file.ino(), file.blocks() * 512))
        .collect();
    files.sort_unstable();
    files.dedup_by_key(|file| file.0);
    files.iter().map(|file| file.1).sum()
}
