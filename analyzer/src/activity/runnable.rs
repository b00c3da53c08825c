//! How many threads of each process could run: the concurrency of the thesis, section 4.3.4.

use std::collections::HashMap;

use x11prof_trace::Switch;

use crate::activity::threads::{Step, Threads};

/// Processes followed at most.
const PROCESSES_LIMIT: usize = 1 << 14;

/// The threads that run or could, by process.
#[derive(Debug, Default)]
pub(crate) struct Runnable {
    threads: Threads,
    /// Of each process that has been seen to run.
    counts: HashMap<u32, u64>,
}

impl Runnable {
    /// What a switch tells. It counts once [`Runnable::count`] has it: until then, as many could run as before.
    pub(crate) fn switch(&mut self, switch: &Switch) -> impl Iterator<Item = Step> + use<> {
        self.threads.switch(switch)
    }

    pub(crate) fn count(&mut self, step: &Step) {
        match (step.before.could_run(), step.now.could_run()) {
            (false, true) if (self.counts.len() < PROCESSES_LIMIT || self.knows(step.pid)) => {
                *self.counts.entry(step.pid).or_default() += 1;
            }
            (true, false) => {
                if let Some(count) = self.counts.get_mut(&step.pid) {
                    *count = count.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// Whether a thread of a process has been seen to run.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.counts.contains_key(&pid)
    }

    /// Whether a thread of a process is on a processor.
    pub(crate) fn runs(&self, pid: u32) -> bool {
        self.threads.runs(pid)
    }

    /// How many threads of a process could run.
    pub(crate) fn of(&self, pid: Option<u32>) -> u64 {
        let count = pid.and_then(|pid| self.counts.get(&pid));
        count.copied().unwrap_or(0)
    }
}
