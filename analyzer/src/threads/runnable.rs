//! The number of running or ready threads of each process: the concurrency of the thesis, section 4.3.4.

use rustc_hash::FxHashMap;

use crate::threads::thread_states::Step;

/// Maximum number of tracked processes.
const PROCESSES_LIMIT: usize = 1 << 14;

/// The threads that run or are ready to run, by process.
#[derive(Debug, Default)]
pub(crate) struct Runnable {
    /// For each process that has run: the number of threads that are ready or running, and of those that are running.
    counts: FxHashMap<u32, (u64, u64)>,
}

impl Runnable {
    /// Processes a thread's change of state.
    pub(crate) fn count(&mut self, step: &Step) {
        let (before, now) = (step.before, step.now);
        if before.could_run() == now.could_run() && before.runs() == now.runs() {
            return;
        }
        if self.counts.len() >= PROCESSES_LIMIT && !self.knows(step.pid) {
            return;
        }
        let (could, run) = self.counts.entry(step.pid).or_default();
        change(could, before.could_run(), now.could_run());
        change(run, before.runs(), now.runs());
    }

    /// True if a thread of the process with this id has been seen to run.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.counts.contains_key(&pid)
    }

    /// True if a thread of the process runs on a processor.
    pub(crate) fn runs(&self, pid: u32) -> bool {
        self.counts.get(&pid).is_some_and(|(_, run)| *run > 0)
    }

    /// The number of running or ready threads of a process; 0 if the process is unknown.
    pub(crate) fn of(&self, pid: Option<u32>) -> u64 {
        let count = pid.and_then(|pid| self.counts.get(&pid));
        count.map_or(0, |(could, _)| *could)
    }
}

fn change(count: &mut u64, before: bool, now: bool) {
    match (before, now) {
        (false, true) => *count += 1,
        (true, false) => *count = count.saturating_sub(1),
        _ => {}
    }
}
