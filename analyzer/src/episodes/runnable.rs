//! The threads of each client that could run: the concurrency of the thesis, section 4.3.4.

use std::collections::HashMap;

use x11prof_trace::{Switch, SwitchKind};

/// Threads followed at most.
const MOST: usize = 1 << 14;

/// Which threads run or could.
#[derive(Debug, Default)]
pub(crate) struct Runnable {
    threads: HashMap<u32, u32>,
    processes: HashMap<u32, u64>,
    on_cpu: HashMap<u16, u32>,
}

impl Runnable {
    pub(crate) fn switch(&mut self, switch: &Switch) {
        match switch.kind {
            SwitchKind::In => {
                // The kernel tells no switch of a thread that ends: it is gone when another runs.
                if let Some(other) = self.on_cpu.insert(switch.cpu, switch.tid)
                    && other != switch.tid
                {
                    self.stop(other);
                }
                if self.threads.len() < MOST
                    && (self.processes.len() < MOST || self.knows(switch.pid))
                    && self.threads.insert(switch.tid, switch.pid).is_none()
                {
                    *self.processes.entry(switch.pid).or_default() += 1;
                }
            }
            SwitchKind::Preempted => {
                // It could still run, and does not hold the processor.
                self.on_cpu.remove(&switch.cpu);
            }
            SwitchKind::Blocked => {
                self.on_cpu.remove(&switch.cpu);
                self.stop(switch.tid);
            }
        }
    }

    fn stop(&mut self, tid: u32) {
        if let Some(pid) = self.threads.remove(&tid)
            && let Some(count) = self.processes.get_mut(&pid)
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Whether a thread of a process has been seen to run.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// Whether a thread of a process is on a processor.
    pub(crate) fn runs(&self, pid: u32) -> bool {
        let mut on_cpu = self.on_cpu.values();
        on_cpu.any(|tid| self.threads.get(tid) == Some(&pid))
    }

    /// How many threads of a process could run.
    pub(crate) fn of(&self, pid: Option<u32>) -> u64 {
        let count = pid.and_then(|pid| self.processes.get(&pid));
        count.copied().unwrap_or(0)
    }
}
