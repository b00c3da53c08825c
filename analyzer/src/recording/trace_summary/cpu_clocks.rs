//! The CPU times of clients and server by the kernel's clocks, as far as the recorder read them.

use std::time::Duration;

use rustc_hash::FxHashMap;

use x11prof_trace::{CpuTime, Timestamp};

use crate::threads::since_reading::SinceReading;

/// Maximum number of tracked processes. The CPU time of further processes is not counted.
const PROCESSES_LIMIT: usize = 10_000;

/// The CPU times of clients and server as the kernel measured them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuFigures {
    /// The CPU time of all clients' processes while they were connected: by the clocks between their first and last
    /// reading, and by context switches after the last reading. `None` if there is neither for any client.
    pub clients: Option<Duration>,
    /// The server's CPU time; `None` if the recorder did not read its clock.
    pub server: Option<Duration>,
}

/// The clock of a process.
#[derive(Debug, Clone, Copy, Default)]
struct CpuClock {
    last: u64,
    used: u64,
    /// The CPU time between the last clock reading and the reset of the counts: that of all runs, and that of the runs
    /// that had ended at the reset. It is subtracted, because the next clock reading includes it.
    before: (Duration, Duration),
    readings: u64,
    client: bool,
}

impl CpuClock {
    fn used(&self) -> Option<Duration> {
        (self.readings > 1).then(|| Duration::from_nanos(self.used))
    }
}

/// The CPU clock of each process, by process id.
#[derive(Debug, Clone, Default)]
pub(super) struct CpuClocks(FxHashMap<u32, CpuClock>);

impl CpuClocks {
    /// Marks the process as a client's.
    pub(super) fn is_client(&mut self, pid: u32) {
        if let Some(clock) = self.of(pid) {
            clock.client = true;
        }
    }

    pub(super) fn read(&mut self, reading: &CpuTime) {
        let Some(clock) = self.of(reading.pid) else {
            return;
        };
        // A clock that went back belongs to another process with the same ID, which starts from zero.
        if clock.readings > 0 {
            let (before, _) = std::mem::take(&mut clock.before);
            let before = u64::try_from(before.as_nanos()).unwrap_or(u64::MAX);
            let used = reading.cpu_ns.saturating_sub(clock.last);
            clock.used = clock.used.saturating_add(used.saturating_sub(before));
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

    /// Resets the CPU times at `now`; without context switches, at the last readings.
    pub(super) fn start_afresh(&mut self, since_reading: Option<&SinceReading>, now: Timestamp) {
        for (pid, clock) in &mut self.0 {
            clock.used = 0;
            clock.readings = clock.readings.min(1);
            if let Some(since) = since_reading {
                clock.before = (since.of(*pid, now.as_nanos()), since.over(*pid));
            }
        }
    }

    /// The CPU times of process `server` and of the clients' processes for which `counts` returns true: by their
    /// clocks, and from the last reading to `now` by context switches. The server's time ends with its last finished
    /// run.
    pub(super) fn figures(
        &self,
        server: Option<u32>,
        since_reading: Option<&SinceReading>,
        now: Timestamp,
        counts: impl Fn(u32) -> bool,
    ) -> CpuFigures {
        let before = |pid: u32| {
            self.0
                .get(&pid)
                .map(|clock| clock.before)
                .unwrap_or_default()
        };
        let since = |pid: u32| {
            let ran = since_reading?.of(pid, now.as_nanos());
            Some(ran.saturating_sub(before(pid).0)).filter(|ran| !ran.is_zero())
        };
        let over = |pid: u32| Some(since_reading?.over(pid).saturating_sub(before(pid).1));
        let clients = self.0.iter();
        let clients = clients
            .filter(|(pid, clock)| clock.client && Some(**pid) != server && counts(**pid))
            .flat_map(|(pid, clock)| [clock.used(), since(*pid)])
            .flatten()
            .reduce(Duration::saturating_add);
        let server = server.and_then(|pid| {
            let used = self.0.get(&pid).and_then(CpuClock::used);
            // Only finished runs of the server count, because its time is attributed to requests at the end of each
            // run.
            let over = over(pid).filter(|ran| !ran.is_zero());
            let both = [used, over].into_iter().flatten();
            both.reduce(Duration::saturating_add)
        });
        CpuFigures { clients, server }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use x11prof_trace::{CpuTime, Timestamp};

    use super::CpuClocks;
    use crate::threads::since_reading::SinceReading;
    use crate::threads::thread_states::Step;

    #[test]
    fn cpu_time_before_reset_is_excluded() {
        let (mut clocks, mut since) = (CpuClocks::default(), SinceReading::default());
        clocks.is_client(7);
        let read = |clocks: &mut CpuClocks, since: &mut SinceReading, time, cpu_ns| {
            clocks.read(&CpuTime {
                pid: 7,
                cpu_ns,
                voluntary_switches: None,
                involuntary_switches: None,
            });
            since.read(7, time);
        };
        let ran = |clocks: &CpuClocks, since: &SinceReading, now| {
            let figures = clocks.figures(None, Some(since), Timestamp::from_nanos(now), |_| true);
            figures.clients
        };
        read(&mut clocks, &mut since, 0, 1000);
        Step::run(7, 100, 400)
            .iter()
            .for_each(|one| since.step(one));
        clocks.start_afresh(Some(&since), Timestamp::from_nanos(500));
        assert_eq!(ran(&clocks, &since, 500), None);
        Step::run(7, 600, 650)
            .iter()
            .for_each(|one| since.step(one));
        assert_eq!(ran(&clocks, &since, 700), Some(Duration::from_nanos(50)));
        // The clock includes the run time before as well.
        read(&mut clocks, &mut since, 700, 1350);
        assert_eq!(ran(&clocks, &since, 700), Some(Duration::from_nanos(50)));
    }
}
