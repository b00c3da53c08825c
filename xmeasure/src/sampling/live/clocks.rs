//! The kernel's counters of the server: its CPU time, which is exact while it sleeps, and the number of its sleeps.

use std::thread;
use std::time::{Duration, Instant};

use x11prof_proxy::cpu_time;

use super::{LiveServer, micros};
use crate::sampling::reading::Reading;
use crate::server::process;

/// Time limit for the server to fall asleep; a server that never sleeps is then read immediately.
const SETTLE: Duration = Duration::from_millis(50);
/// The pause between two checks of the server's state.
const LOOK: Duration = Duration::from_micros(20);
/// The kernel's counters of a server that sleeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asleep {
    /// The CPU time of the server.
    pub(super) time: Duration,
    /// The number of times that the server has gone to sleep; `None` if it did not become idle.
    pub(super) sleeps: Option<u64>,
}

impl LiveServer {
    /// Waits until the server sleeps, because only then its CPU time is exact, and returns the kernel's counters;
    /// `None` if they cannot be read.
    pub(super) fn processor_time(&self) -> Option<Asleep> {
        let pid = self.target.pid()?;
        let sleeps = wait_for_sleep(pid);
        let time = Duration::from_nanos(cpu_time(pid)?);
        Some(Asleep { time, sleeps })
    }

    pub(super) fn since(&self, before: Option<Asleep>, wall: Duration) -> Reading {
        let both = before.zip(self.processor_time());
        let sleeps =
            both.and_then(|(before, after)| Some(after.sleeps?.saturating_sub(before.sleeps?)));
        Reading {
            cpu: both.map(|(before, after)| micros(after.time.saturating_sub(before.time))),
            wall: micros(wall),
            sleeps,
            ..Reading::default()
        }
    }
}

/// Waits until the process sleeps, and returns the number of its sleeps by then.
fn wait_for_sleep(pid: u32) -> Option<u64> {
    let start = Instant::now();
    loop {
        let sleeps = process::asleep(pid);
        if sleeps.is_some() || start.elapsed() >= SETTLE {
            return sleeps;
        }
        thread::sleep(LOOK);
    }
}
