//! Who ran when, as far as waiting is concerned: when a process was last off the processor, and
//! whether it rested.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use x11prof_trace::{Switch, SwitchKind};

/// Switches that wait for the messages of their time, at most.
const HELD: usize = 1 << 16;
/// Processes, and threads of one, followed at most.
const PROCESSES: usize = 1 << 13;
const THREADS: usize = 1 << 10;
/// Ends of the server's work that are remembered.
const ENDS: usize = 1 << 12;
/// Long rests of a process that are remembered, the last ones.
const RESTS: usize = 64;
/// All threads waiting this long is a rest, in nanoseconds; a page or a lock takes less.
const REST: u64 = 3_000_000;
/// Without context switches: the silence that is taken for one.
const SILENCE: u64 = 50_000_000;

#[derive(Debug, Default)]
struct Process {
    /// Threads that run, or could.
    active: HashSet<u32>,
    /// When a thread last stopped.
    off: u64,
    idle_since: Option<u64>,
    /// The last long rests, from when to when.
    rests: VecDeque<(u64, u64)>,
}

/// Processes by their context switches.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    held: BTreeMap<(u64, u64), Switch>,
    number: u64,
    known: HashMap<u32, Process>,
    server: Option<u32>,
    /// When the server last fell asleep.
    ends: VecDeque<u64>,
}

impl Processes {
    pub(super) fn set_server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// Takes switches down until the time has come for them.
    pub(super) fn take(&mut self, switches: &[Switch]) {
        for switch in switches {
            self.number += 1;
            self.held
                .insert((switch.time.as_nanos(), self.number), *switch);
        }
        if self.held.len() > HELD {
            self.settle(u64::MAX);
        }
    }

    /// What happened until `time` has happened.
    pub(super) fn settle(&mut self, time: u64) {
        while let Some(first) = self.held.first_entry() {
            if first.key().0 > time {
                return;
            }
            let switch = first.remove();
            self.switch(&switch);
        }
    }

    fn switch(&mut self, switch: &Switch) {
        let time = switch.time.as_nanos();
        if Some(switch.pid) == self.server && switch.kind == SwitchKind::Blocked {
            if self.ends.len() >= ENDS {
                self.ends.pop_front();
            }
            self.ends.push_back(time);
        }
        if self.known.len() >= PROCESSES && !self.known.contains_key(&switch.pid) {
            return;
        }
        let process = self.known.entry(switch.pid).or_default();
        match switch.kind {
            SwitchKind::In => {
                if process.active.len() < THREADS {
                    process.active.insert(switch.tid);
                }
                if let Some(since) = process.idle_since.take()
                    && time.saturating_sub(since) >= REST
                {
                    if process.rests.len() >= RESTS {
                        process.rests.pop_front();
                    }
                    process.rests.push_back((since, time));
                }
            }
            SwitchKind::Preempted => process.off = time,
            SwitchKind::Blocked => {
                process.off = time;
                process.active.remove(&switch.tid);
                if process.active.is_empty() {
                    process.idle_since.get_or_insert(time);
                }
            }
        }
    }

    /// Whether a process was off the processor after `from`; true where nothing is known of it.
    pub(super) fn was_off(&self, pid: Option<u32>, from: u64) -> bool {
        let process = pid.and_then(|pid| self.known.get(&pid));
        process.is_none_or(|process| process.off >= from)
    }

    /// Whether a client that last said something, or got an answer, at `last` has rested since, until `now`.
    pub(crate) fn has_rested(&self, pid: Option<u32>, last: u64, now: u64) -> bool {
        let Some(process) = pid.and_then(|pid| self.known.get(&pid)) else {
            return now.saturating_sub(last) >= SILENCE;
        };
        let long = |(since, until): (u64, u64)| until.saturating_sub(since.max(last)) >= REST;
        let rested = process.rests.back().is_some_and(|rest| long(*rest));
        rested || process.idle_since.is_some_and(|since| long((since, now)))
    }

    /// How long a process rested from `from` until `until`; `None` where nothing is known of it.
    pub(crate) fn rested(&self, pid: Option<u32>, from: u64, until: u64) -> Option<u64> {
        let process = pid.and_then(|pid| self.known.get(&pid))?;
        let rests = process.rests.iter();
        let within = |&(begin, end): &(u64, u64)| end.min(until).saturating_sub(begin.max(from));
        Some(rests.map(within).filter(|within| *within >= REST).sum())
    }

    /// When the server fell asleep after `time`; `None` where that is not known.
    pub(crate) fn server_done(&self, time: u64) -> Option<u64> {
        let at = self.ends.partition_point(|end| *end <= time);
        self.ends.get(at).copied()
    }
}
