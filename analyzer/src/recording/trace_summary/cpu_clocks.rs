//! The kernel's CPU clocks of clients and server, as far as they have been read.

use std::time::Duration;

use rustc_hash::FxHashMap;

use x11prof_trace::{CpuTime, Timestamp};

use crate::threads::since_reading::SinceReading;

/// Processes followed at most.
const PROCESSES_LIMIT: usize = 10_000;

/// The kernel's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuFigures {
    /// CPU time of all clients' processes while they were connected: between the first reading and the
    /// last, and, by the context switches, after it. `None` where there is neither for any.
    pub clients: Option<Duration>,
    /// The server's processor time.
    pub server: Option<Duration>,
}

/// The clock of a process.
#[derive(Debug, Clone, Copy, Default)]
struct CpuClock {
    last: u64,
    used: u64,
    readings: u64,
    client: bool,
}

impl CpuClock {
    fn used(&self) -> Option<Duration> {
        (self.readings > 1).then(|| Duration::from_nanos(self.used))
    }
}

/// The clocks of all processes.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuClocks(FxHashMap<u32, CpuClock>);

impl CpuClocks {
    /// The process of a client.
    pub(super) fn is_client(&mut self, pid: u32) {
        if let Some(clock) = self.of(pid) {
            clock.client = true;
        }
    }

    pub(super) fn read(&mut self, reading: &CpuTime) {
        let Some(clock) = self.of(reading.pid) else {
            return;
        };
        // A clock that went back is another process under the same id: it starts afresh.
        if clock.readings > 0 {
            let used = reading.cpu_ns.saturating_sub(clock.last);
            clock.used = clock.used.saturating_add(used);
        }
        clock.last = reading.cpu_ns;
        clock.readings += 1;
    }

    fn of(&mut self, pid: u32) -> Option<&mut CpuClock> {
        if self.0.len() >= PROCESSES_LIMIT && !self.0.contains_key(&pid) {
            return None;
        }
        Some(self.0.entry(pid).or_default())
    }

    /// Counts afresh from the last readings.
    pub(super) fn start_afresh(&mut self) {
        for clock in self.0.values_mut() {
            clock.used = 0;
            clock.readings = clock.readings.min(1);
        }
    }

    /// Processor time of clients and of the `server` by their clocks, and by the switches since the last
    /// reading until `now`; the server's until its last run was over.
    pub(super) fn figures(
        &self,
        server: Option<u32>,
        since_reading: Option<&SinceReading>,
        now: Timestamp,
    ) -> CpuFigures {
        let since =
            |pid: u32| Some(since_reading?.of(pid, now.as_nanos())).filter(|ran| !ran.is_zero());
        let over = |pid: u32| Some(since_reading?.over(pid));
        let clients = self.0.iter();
        let clients = clients
            .filter(|(pid, clock)| clock.client && Some(**pid) != server)
            .flat_map(|(pid, clock)| [clock.used(), since(*pid)])
            .flatten()
            .reduce(Duration::saturating_add);
        let server = server.and_then(|pid| {
            let used = self.0.get(&pid).and_then(CpuClock::used);
            // The server's time is divided among requests when its runs are over.
            let over = over(pid).filter(|ran| !ran.is_zero());
            let both = [used, over].into_iter().flatten();
            both.reduce(Duration::saturating_add)
        });
        CpuFigures { clients, server }
    }
}
