//! The process of the server in /proc, and its processor affinity.

use std::fs;
use std::hint::black_box;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Instant;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The number of sleeps of process `pid` so far if it sleeps now; `None` if it runs or if /proc does not report it.
pub(crate) fn asleep(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    sleeps(&status).then(|| sleeps_so_far(&status))?
}

fn sleeps_so_far(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

fn sleeps(status: &str) -> bool {
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| state.trim_start().starts_with('S'))
}

/// Two processes that are pinned to processors. Dropping the value restores their affinity.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Vec<(Option<Pid>, CpuSet)>,
    /// A second calibration of the server would restore this one's affinity. Its name is free when this process ends.
    _lock: UnixListener,
}

impl Pinned {
    /// Pins the server `pid` and this thread to the processor `cpu`. If an error occurs, neither remains pinned.
    pub(crate) fn new(pid: u32, cpu: usize) -> io::Result<Pinned> {
        let server = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let server = server.ok_or(rustix::io::Errno::SRCH)?;
        let mut pinned = Pinned {
            before: Vec::new(),
            _lock: lock(pid)?,
        };
        for process in [Some(server), None] {
            let before = sched_getaffinity(process)?;
            place(process, cpu)?;
            pinned.before.push((process, before));
        }
        Ok(pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        for (process, before) in &self.before {
            // If the server has exited, there is nothing to restore.
            let _ = sched_setaffinity(*process, before);
        }
    }
}

/// Fails if another process has the lock of the server.
fn lock(pid: u32) -> io::Result<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("x11prof-calibrate-{pid}"))?;
    UnixListener::bind_addr(&name).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::other("another calibration of it is running"),
        _ => error,
    })
}

/// Pins this thread, and the threads and processes that it starts afterwards, to the processor `cpu`.
///
/// # Errors
/// Fails if the system does not allow the processor.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    Ok(place(None, cpu)?)
}

fn place(process: Option<Pid>, cpu: usize) -> rustix::io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(rustix::io::Errno::INVAL);
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(process, &set)
}

/// A hash of the machine id (FNV-1a, with the program's name), because systemd forbids programs to disclose the id
/// itself. `None` if there is no machine id.
pub(crate) fn machine() -> Option<String> {
    let id = fs::read_to_string("/etc/machine-id").ok()?;
    let bytes = b"x11prof ".iter().chain(id.trim().as_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (!id.trim().is_empty()).then(|| format!("{hash:016x}"))
}

/// The time of one step of a computation in nanoseconds. Each step depends on the previous one and uses no memory.
/// Returns the minimum of several measurements, because other processes only increase the time.
pub(crate) fn step_ns() -> f64 {
    const STEPS: u32 = 10_000;
    let tries = (0..50).map(|_| {
        let (start, mut value) = (Instant::now(), black_box(1_u64));
        for _ in 0..STEPS {
            // Marsaglia's xorshift: each operation waits for the one before.
            value ^= value << 13;
            value ^= value >> 7;
            value ^= value << 17;
        }
        black_box(value);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS)
    });
    tries.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::{lock, sleeps, sleeps_so_far};

    #[test]
    fn server_is_locked_by_one_calibration_at_a_time() {
        let first = lock(u32::MAX).expect("a free name");
        let error = lock(u32::MAX).expect_err("the name is in use").to_string();
        assert_eq!(error, "another calibration of it is running");
        drop(first);
        assert!(lock(u32::MAX).is_ok());
    }

    #[test]
    fn distinguishes_sleeping_from_running() {
        assert!(sleeps("Name:\tXvfb\nState:\tS (sleeping)\nPid:\t7\n"));
        assert!(!sleeps("Name:\tS\nState:\tR (running)\n"));
        assert!(!sleeps(""));
    }

    #[test]
    fn counts_voluntary_switches_only() {
        let status = "voluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(sleeps_so_far(status), Some(17));
        assert_eq!(sleeps_so_far("nonvoluntary_ctxt_switches:\t3\n"), None);
    }
}
