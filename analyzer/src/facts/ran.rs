//! How long processes ran since the kernel's clock of each was last read: a program that ends is often gone
//! before its clock can be read again.

use std::collections::HashMap;
use std::time::Duration;

use x11prof_trace::Switch;

/// Threads and processes followed at most.
const MOST: usize = 1 << 14;

/// What the context switches tell of the time since the last reading of each process.
#[derive(Debug, Clone, Default)]
pub(super) struct Ran {
    /// The running threads: their processes, and since when they count.
    running: HashMap<u32, (u32, u64)>,
    /// Nanoseconds by process.
    sums: HashMap<u32, u64>,
    /// When the clock of each process was read last.
    read_at: HashMap<u32, u64>,
}

impl Ran {
    pub(super) fn on(&mut self, switch: &Switch) {
        if self.running.len() < MOST {
            let since = switch.time.as_nanos();
            self.running
                .entry(switch.tid)
                .or_insert((switch.pid, since));
        }
    }

    pub(super) fn off(&mut self, tid: u32, time: u64) {
        if let Some((pid, since)) = self.running.remove(&tid)
            && (self.sums.len() < MOST || self.sums.contains_key(&pid))
        {
            let read_at = self.read_at.get(&pid).copied().unwrap_or_default();
            let since = since.max(read_at);
            let sum = self.sums.entry(pid).or_default();
            *sum = sum.saturating_add(time.saturating_sub(since));
        }
    }

    /// The clock of a process was read: what it ran for until then is known.
    pub(super) fn read(&mut self, pid: u32, time: u64) {
        self.sums.remove(&pid);
        if self.read_at.len() < MOST || self.read_at.contains_key(&pid) {
            self.read_at.insert(pid, time);
        }
    }

    /// How long a process ran since its last reading, as far as the switches go.
    pub(super) fn since_reading(&self, pid: u32) -> Duration {
        Duration::from_nanos(self.sums.get(&pid).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::Ran;

    fn on(tid: u32, time: u64) -> Switch {
        Switch {
            time: Timestamp::from_nanos(time),
            pid: 7,
            tid,
            cpu: 0,
            kind: SwitchKind::In,
        }
    }

    #[test]
    fn counts_from_the_last_reading() {
        let mut ran = Ran::default();
        ran.on(&on(7, 100));
        ran.off(7, 150);
        ran.on(&on(7, 200));
        ran.on(&on(8, 210));
        ran.read(7, 220);
        ran.off(7, 240);
        ran.off(8, 250);
        ran.off(8, 300);
        assert_eq!(ran.since_reading(7), Duration::from_nanos(20 + 30));
        assert_eq!(ran.since_reading(9), Duration::ZERO);
    }
}
