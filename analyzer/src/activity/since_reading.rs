//! Run time of processes since the last reading of each one's kernel clock: a program that ends is often
//! gone before its clock can be read again.

use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::activity::threads::ThreadRun;

/// Processes followed at most.
const PROCESSES_LIMIT: usize = 1 << 14;

/// Run time by the context switches, since the last reading of each process.
#[derive(Debug, Clone, Default)]
pub(crate) struct SinceReading {
    /// Nanoseconds by process.
    sums: FxHashMap<u32, u64>,
    /// The time of the last reading of each process's clock.
    read_at: FxHashMap<u32, u64>,
}

impl SinceReading {
    /// A thread of a process ran.
    pub(crate) fn add(&mut self, pid: u32, stretch: ThreadRun) {
        if self.sums.len() < PROCESSES_LIMIT || self.sums.contains_key(&pid) {
            let read_at = self.read_at.get(&pid).copied().unwrap_or_default();
            let from = stretch.from.max(read_at);
            let sum = self.sums.entry(pid).or_default();
            *sum = sum.saturating_add(stretch.to.saturating_sub(from));
        }
    }

    /// The clock of a process was read: what it ran for until then is known.
    pub(crate) fn read(&mut self, pid: u32, time: u64) {
        self.sums.remove(&pid);
        if self.read_at.len() < PROCESSES_LIMIT || self.read_at.contains_key(&pid) {
            self.read_at.insert(pid, time);
        }
    }

    /// The run time of a process since its last reading, as far as the switches go.
    pub(crate) fn of(&self, pid: u32) -> Duration {
        Duration::from_nanos(self.sums.get(&pid).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::SinceReading;
    use crate::activity::threads::ThreadRun;

    #[test]
    fn counts_from_the_last_reading() {
        let mut since_reading = SinceReading::default();
        let mut ran = |from, to, read: Option<u64>| {
            if let Some(time) = read {
                since_reading.read(7, time);
            }
            since_reading.add(7, ThreadRun { from, to, cpu: 0 });
        };
        ran(100, 150, None);
        ran(200, 240, Some(220));
        ran(210, 250, None);
        assert_eq!(since_reading.of(7), Duration::from_nanos(20 + 30));
        assert_eq!(since_reading.of(9), Duration::ZERO);
    }
}
