//! The state of each thread, from the context switches: running, ready or waiting.
//!
//! The kernel reports when a thread starts running, when it stops, and whether it blocked or was preempted. Two facts
//! are not in any switch:
//!
//! - The state before a thread's first switch. A switch that stops the thread shows that it ran since before the
//!   recording. After a switch that starts the thread, it may have waited or been ready. Both are `Unknown`.
//! - The end of a thread. Its last switch started it. The thread counts as ended when another thread runs on its
//!   processor.
//!
//! Switches arrive in the order of their times. A switch that arrives too late to be sorted does not end a run before
//! the run's beginning.

use rustc_hash::FxHashMap;
use x11prof_trace::{Switch, SwitchKind, Timestamp};

/// Maximum number of tracked threads. Beyond it, waiting threads are dropped.
const THREADS_LIMIT: usize = 1 << 14;

/// The state of a thread. Times are in nanoseconds of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// The state of the thread is not known, or the thread has ended.
    #[default]
    Unknown,
    /// The thread runs on a processor.
    Running {
        /// The time at which the run began.
        since: u64,
        /// The number of the processor.
        cpu: u16,
    },
    /// The thread is ready to run, but the kernel stopped it.
    Ready,
    /// The thread waits (it is blocked).
    Waiting,
}

impl State {
    pub(crate) fn runs(self) -> bool {
        matches!(self, State::Running { .. })
    }

    /// True if the thread runs or is ready.
    pub(crate) fn could_run(self) -> bool {
        matches!(self, State::Running { .. } | State::Ready)
    }
}

/// A thread's change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) time: u64,
    pub(crate) before: State,
    pub(crate) now: State,
}

impl Step {
    /// The time at which the state changed.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        Timestamp::from_nanos(self.time)
    }

    /// The ids of the process and of the thread.
    #[must_use]
    pub fn thread(&self) -> (u32, u32) {
        (self.pid, self.tid)
    }

    /// True if the thread runs after the change.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.now.runs()
    }
}

/// A run of a thread on a processor, without a break. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadRun {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) cpu: u16,
}

impl Step {
    /// The run that this change ends; `None` if the thread did not run, or continues to run.
    pub(crate) fn ran(&self) -> Option<ThreadRun> {
        match (self.before, self.now) {
            (_, State::Running { .. }) => None,
            (State::Running { since, cpu }, _) => Some(ThreadRun {
                from: since,
                to: self.time.max(since),
                cpu,
            }),
            _ => None,
        }
    }

    /// True if the thread did not run before the change, and runs after it.
    pub(crate) fn starts(&self) -> bool {
        self.now.runs() && !self.before.runs()
    }
}

#[cfg(test)]
impl Step {
    /// The changes of state of a process's first thread that runs from `from` to `to` (nanoseconds), and waits before
    /// and after.
    pub(crate) fn run(pid: u32, from: u64, to: u64) -> [Step; 2] {
        let runs = State::Running {
            since: from,
            cpu: 0,
        };
        let step = |time, before, now| Step {
            pid,
            tid: pid,
            time,
            before,
            now,
        };
        [
            step(from, State::Waiting, runs),
            step(to, runs, State::Waiting),
        ]
    }
}

/// The states of the threads of all processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads {
    known: FxHashMap<u32, (u32, State)>,
    /// The thread that runs on each processor.
    on_cpu: FxHashMap<u16, u32>,
    /// The number of switches that were ignored because the table was full, since waiting threads were last dropped.
    refused: usize,
}

impl Threads {
    /// Processes a context switch. Returns the changes of state: the end of another thread, and the new state of this
    /// thread.
    pub(crate) fn switch(&mut self, switch: &Switch) -> impl Iterator<Item = Step> + use<> {
        let time = switch.time.as_nanos();
        let (mut ended, mut step) = (None, None);
        if self.has_room(switch.tid) {
            if switch.kind == SwitchKind::In {
                let other = self.on_cpu.insert(switch.cpu, switch.tid);
                ended = other
                    .filter(|other| *other != switch.tid)
                    .and_then(|other| self.set(other, None, time, State::Unknown));
            }
            let now = match switch.kind {
                SwitchKind::In => State::Running {
                    since: time,
                    cpu: switch.cpu,
                },
                SwitchKind::Preempted => State::Ready,
                SwitchKind::Blocked => State::Waiting,
            };
            step = self.set(switch.tid, Some(switch.pid), time, now);
        }
        [ended, step].into_iter().flatten()
    }

    /// The threads of a process in the order of their numbers, with their states.
    fn of_process(&self, pid: u32) -> Vec<(u32, State)> {
        let threads = self.known.iter().filter(|(_, (of, _))| *of == pid);
        let mut threads: Vec<_> = threads.map(|(tid, (_, state))| (*tid, *state)).collect();
        threads.sort_unstable_by_key(|(tid, _)| *tid);
        threads
    }

    /// The changes of state when the capture of a process's switches stops at `time` (nanoseconds). The threads
    /// continue to run.
    pub(crate) fn leave_process(&self, pid: u32, time: u64) -> Vec<Step> {
        let threads = self.of_process(pid).into_iter();
        let left = threads.map(|(tid, before)| Step {
            pid,
            tid,
            time,
            before,
            now: State::Unknown,
        });
        left.collect()
    }

    /// The changes of state when the capture of a process's switches resumes at `time` (nanoseconds). A running thread
    /// counts as started then.
    pub(crate) fn resume_process(&mut self, pid: u32, time: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        for (tid, state) in self.of_process(pid) {
            let now = match state {
                State::Running { cpu, .. } => State::Running { since: time, cpu },
                other => other,
            };
            self.known.insert(tid, (pid, now));
            steps.push(Step {
                pid,
                tid,
                time,
                before: State::Unknown,
                now,
            });
        }
        steps
    }

    fn has_room(&mut self, tid: u32) -> bool {
        if self.known.len() < THREADS_LIMIT || self.known.contains_key(&tid) {
            return true;
        }
        // Scanning all threads each time would take too long if nearly all could run.
        if self.refused == 0 {
            self.known.retain(|_, (_, state)| state.could_run());
        }
        let much_room = self.known.len() < THREADS_LIMIT - THREADS_LIMIT / 16;
        self.refused = match much_room {
            true => 0,
            false => (self.refused + 1) % THREADS_LIMIT,
        };
        self.known.len() < THREADS_LIMIT
    }

    /// Sets the state of a thread; `pid` is its process if the thread is unknown.
    fn set(&mut self, tid: u32, pid: Option<u32>, time: u64, now: State) -> Option<Step> {
        let known = self.known.get(&tid).copied();
        let pid = pid.or(known.map(|(pid, _)| pid))?;
        let before = known.map_or(State::Unknown, |(_, state)| state);
        let now = match (before, now) {
            // The switch that stopped the thread is missing: the thread continues to run.
            (State::Running { since, .. }, State::Running { cpu, .. }) => {
                State::Running { since, cpu }
            }
            (_, now) => now,
        };
        if let State::Running { cpu, .. } = before
            && now != before
            && self.on_cpu.get(&cpu) == Some(&tid)
            && !matches!(now, State::Running { cpu: new, .. } if new == cpu)
        {
            self.on_cpu.remove(&cpu);
        }
        if now == State::Unknown {
            self.known.remove(&tid);
        } else {
            self.known.insert(tid, (pid, now));
        }
        Some(Step {
            pid,
            tid,
            time,
            before,
            now,
        })
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::{Step, Threads};

    fn switch(tid: u32, time: u64, cpu: u16, kind: SwitchKind) -> Switch {
        Switch {
            time: Timestamp::from_nanos(time),
            pid: 7,
            tid,
            cpu,
            kind,
        }
    }

    /// The runs of `switches`: the thread, the beginning and the end.
    fn ran(threads: &mut Threads, switches: &[Switch]) -> Vec<(u32, u64, u64)> {
        let steps = switches
            .iter()
            .flat_map(|one| threads.switch(one).collect::<Vec<Step>>());
        let ran = steps.filter_map(|step| Some((step.tid, step.ran()?)));
        ran.map(|(tid, ran)| (tid, ran.from, ran.to)).collect()
    }

    #[test]
    fn thread_runs_from_switch_in_to_switch_out() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut threads = Threads::default();
        let switches = [
            // The thread ran since before the recording.
            switch(1, 5, 0, Blocked),
            switch(1, 10, 0, In),
            switch(1, 14, 0, Preempted),
            switch(1, 20, 1, In),
            switch(1, 26, 1, Blocked),
        ];
        assert_eq!(ran(&mut threads, &switches), [(1, 10, 14), (1, 20, 26)]);
    }

    #[test]
    fn thread_ends_when_another_runs_on_its_cpu() {
        use SwitchKind::{Blocked, In};
        let mut threads = Threads::default();
        let switches = [
            switch(1, 10, 0, In),
            switch(2, 30, 0, In),
            switch(2, 40, 0, Blocked),
        ];
        assert_eq!(ran(&mut threads, &switches), [(1, 10, 30), (2, 30, 40)]);
    }

    #[test]
    fn late_switch_ends_no_run_before_its_start() {
        use SwitchKind::{Blocked, In};
        let mut threads = Threads::default();
        let switches = [switch(1, 10, 0, In), switch(1, 8, 1, Blocked)];
        assert_eq!(ran(&mut threads, &switches), [(1, 10, 10)]);
    }

    #[test]
    fn migrated_thread_has_not_ended() {
        use SwitchKind::{Blocked, In};
        let mut threads = Threads::default();
        let switches = [
            switch(1, 10, 0, In),
            switch(1, 15, 0, Blocked),
            switch(1, 20, 1, In),
            switch(2, 30, 0, In),
            switch(1, 50, 1, Blocked),
        ];
        assert_eq!(ran(&mut threads, &switches), [(1, 10, 15), (1, 20, 50)]);
    }

    #[test]
    fn resumed_process_runs_from_its_return() {
        use SwitchKind::{Blocked, In};
        let mut threads = Threads::default();
        threads.switch(&switch(1, 10, 0, In)).for_each(drop);
        let left: Vec<_> = threads.leave_process(7, 30).iter().map(Step::ran).collect();
        assert_eq!(left[0].map(|ran| (ran.from, ran.to)), Some((10, 30)));
        assert!(threads.resume_process(7, 60)[0].starts());
        let switches = [switch(1, 90, 0, Blocked)];
        assert_eq!(ran(&mut threads, &switches), [(1, 60, 90)]);
    }
}
