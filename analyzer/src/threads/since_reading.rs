//! The CPU time of processes since the last reading of each process's CPU clock: a program that ends has often exited
//! before its clock can be read again.

use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::threads::thread_states::Step;

/// Maximum number of tracked processes and threads.
const PROCESSES_LIMIT: usize = 1 << 14;

/// The CPU time of each process by context switches, since the last reading of its clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct SinceReading {
    /// The CPU time of each process in nanoseconds.
    sums: FxHashMap<u32, u64>,
    /// The time of the last reading of each process's clock.
    read_at: FxHashMap<u32, u64>,
    /// The running threads, each with its process and the beginning of its run: about as many as there are processors.
    running: Vec<((u32, u32), u64)>,
}

impl SinceReading {
    /// Processes a thread's change of state.
    pub(crate) fn step(&mut self, step: &Step) {
        let thread = step.thread();
        if let Some(ran) = step.ran() {
            self.running.retain(|(running, _)| *running != thread);
            if self.sums.len() < PROCESSES_LIMIT || self.sums.contains_key(&step.pid) {
                let from = ran.from.max(self.read_at(step.pid));
                let sum = self.sums.entry(step.pid).or_default();
                *sum = sum.saturating_add(ran.to.saturating_sub(from));
            }
        } else if step.starts() && self.running.len() < PROCESSES_LIMIT {
            self.running.push((thread, step.time));
        }
    }

    /// Notes a reading of a process's CPU clock at `time` (nanoseconds), so its CPU time up to then is known.
    pub(crate) fn read(&mut self, pid: u32, time: u64) {
        self.sums.remove(&pid);
        if self.read_at.len() < PROCESSES_LIMIT || self.read_at.contains_key(&pid) {
            self.read_at.insert(pid, time);
        }
    }

    /// Notes that a process has a connection at `time` (nanoseconds). If it had no connection before, its CPU time
    /// counts from then on.
    pub(crate) fn connected(&mut self, pid: u32, time: u64) {
        if let Some(read_at) = self.read_at.get_mut(&pid)
            && *read_at == u64::MAX
        {
            *read_at = time;
        }
    }

    /// Notes that a process has no more connections at `time` (nanoseconds). Its later CPU time does not count.
    pub(crate) fn disconnected(&mut self, pid: u32, time: u64) {
        let ran = u64::try_from(self.of(pid, time).as_nanos()).unwrap_or(u64::MAX);
        if self.read_at.len() < PROCESSES_LIMIT || self.read_at.contains_key(&pid) {
            self.sums.insert(pid, ran);
            self.read_at.insert(pid, u64::MAX);
        }
    }

    /// The CPU time of a process from its last reading to `now` (nanoseconds), as far as the context switches are
    /// known.
    pub(crate) fn of(&self, pid: u32, now: u64) -> Duration {
        let read_at = self.read_at(pid);
        let threads = self.running.iter().filter(|((of, _), _)| *of == pid);
        let goes_on = threads.map(|(_, since)| now.saturating_sub((*since).max(read_at)));
        let goes_on = goes_on.fold(0, u64::saturating_add);
        self.over(pid).saturating_add(Duration::from_nanos(goes_on))
    }

    /// The CPU time of a process since its last reading, in finished runs only.
    pub(crate) fn over(&self, pid: u32) -> Duration {
        Duration::from_nanos(self.sums.get(&pid).copied().unwrap_or_default())
    }

    fn read_at(&self, pid: u32) -> u64 {
        self.read_at.get(&pid).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::SinceReading;
    use crate::threads::thread_states::Step;

    #[test]
    fn counts_from_the_last_reading() {
        let mut since_reading = SinceReading::default();
        let mut ran = |from, to, read: Option<u64>| {
            let [starts, ends] = Step::run(7, from, to);
            since_reading.step(&starts);
            if let Some(time) = read {
                since_reading.read(7, time);
            }
            since_reading.step(&ends);
        };
        ran(100, 150, None);
        ran(200, 240, Some(220));
        ran(250, 280, None);
        assert_eq!(since_reading.of(7, 300), Duration::from_nanos(20 + 30));
        assert_eq!(since_reading.of(9, 300), Duration::ZERO);
    }

    #[test]
    fn run_time_counts_only_while_connected() {
        let mut since_reading = SinceReading::default();
        let [starts, ends] = Step::run(7, 100, 150);
        since_reading.step(&starts);
        since_reading.disconnected(7, 120);
        since_reading.step(&ends);
        assert_eq!(since_reading.of(7, 200), Duration::from_nanos(20));
        since_reading.connected(7, 200);
        Step::run(7, 190, 240)
            .iter()
            .for_each(|step| since_reading.step(step));
        assert_eq!(since_reading.of(7, 300), Duration::from_nanos(20 + 40));
    }

    #[test]
    fn running_thread_counts_until_now() {
        let mut since_reading = SinceReading::default();
        since_reading.step(&Step::run(7, 100, 150)[0]);
        assert_eq!(since_reading.of(7, 130), Duration::from_nanos(30));
        assert_eq!(since_reading.over(7), Duration::ZERO);
        since_reading.read(7, 120);
        assert_eq!(since_reading.of(7, 130), Duration::from_nanos(10));
    }
}
