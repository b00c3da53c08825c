//! The state of processes by their context switches: when a process was last off the processor, whether all its threads
//! waited for long, and when the server fell asleep. The detection of round trips uses these facts.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::threads::delays::{BRIEF, SERVER_WAKES_WITHIN, SILENCE};
use crate::threads::thread_states::{State, Step};

/// Maximum number of tracked processes.
const PROCESSES_LIMIT: usize = 1 << 13;
/// Maximum number of kept runs of the server; the latest are kept.
const SERVER_RUNS_LIMIT: usize = 1 << 12;
/// Maximum number of threads of a process that are kept as having run last.
const LATEST_LIMIT: usize = 16;
/// Maximum number of long rests kept for a process; the latest are kept.
const RESTS_LIMIT: usize = 64;

#[derive(Debug, Default)]
struct Process {
    /// The number of threads that run or are ready.
    could_run: u32,
    /// The number of threads on a processor. The next fields are the time of the latest step, the nanoseconds before it
    /// in which a thread was on a processor, and those in which a thread was ready and none was on a processor.
    running: u32,
    running_since: u64,
    ran: u64,
    ready: u64,
    /// The time at which a thread last stopped, in nanoseconds.
    off: u64,
    /// The threads that ran last, the latest first, each with the time at which it stopped, in nanoseconds; the largest
    /// time while it runs.
    latest: VecDeque<(u32, u64)>,
    /// The time at which all threads began to wait, in nanoseconds; `None` if a thread can run.
    idle_since: Option<u64>,
    /// The latest long idle times, each with its beginning and end in nanoseconds.
    rests: VecDeque<(u64, u64)>,
}

impl Process {
    /// Applies a state change of one of the process's threads.
    fn step(&mut self, step: &Step) {
        if !step.now.runs() {
            self.off = step.time;
        }
        let (ran, ready) = (self.ran(step.time), self.ready(step.time));
        if step.before.runs() || step.now.runs() {
            self.latest.retain(|(tid, _)| *tid != step.tid);
            self.latest.truncate(LATEST_LIMIT - 1);
            let until = if step.now.runs() { u64::MAX } else { step.time };
            self.latest.push_front((step.tid, until));
        }
        match (step.before.runs(), step.now.runs()) {
            (false, true) => self.running += 1,
            (true, false) => self.running = self.running.saturating_sub(1),
            _ => {}
        }
        (self.ran, self.ready, self.running_since) = (ran, ready, step.time);
        match (step.before.could_run(), step.now.could_run()) {
            (false, true) => self.could_run += 1,
            (true, false) => self.could_run = self.could_run.saturating_sub(1),
            _ => {}
        }
        if self.could_run == 0 {
            self.idle_since.get_or_insert(step.time);
        } else if let Some(since) = self.idle_since.take()
            && step.time.saturating_sub(since) >= BRIEF
        {
            if self.rests.len() >= RESTS_LIMIT {
                self.rests.pop_front();
            }
            self.rests.push_back((since, step.time));
        }
    }

    /// Returns the nanoseconds up to `now` in which at least one thread was on a processor.
    fn ran(&self, now: u64) -> u64 {
        let runs = now.saturating_sub(self.running_since);
        let runs = if self.running > 0 { runs } else { 0 };
        self.ran.saturating_add(runs)
    }

    /// Returns the nanoseconds up to `now` in which a thread was ready, and none was on a processor.
    fn ready(&self, now: u64) -> u64 {
        let is_ready = self.could_run > 0 && self.running == 0;
        let waits = u64::from(is_ready) * now.saturating_sub(self.running_since);
        self.ready.saturating_add(waits)
    }
}

/// The state of processes, by process id.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: FxHashMap<u32, Process>,
    server: Option<u32>,
    /// The server's runs: the time at which it woke, 0 if that is not known, and the time at which it fell asleep.
    server_runs: VecDeque<(u64, u64)>,
    /// The beginning of the current run.
    server_runs_since: Option<u64>,
}

impl Processes {
    pub(crate) fn set_server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// Processes a thread's change of state.
    pub(crate) fn step(&mut self, step: &Step) {
        if Some(step.pid) == self.server && step.now == State::Waiting {
            if self.server_runs.len() >= SERVER_RUNS_LIMIT {
                self.server_runs.pop_front();
            }
            let since = self.server_runs_since.take().unwrap_or_default();
            self.server_runs.push_back((since, step.time));
        } else if Some(step.pid) == self.server {
            self.server_runs_since.get_or_insert(step.time);
        }
        if self.known.len() < PROCESSES_LIMIT || self.known.contains_key(&step.pid) {
            self.known.entry(step.pid).or_default().step(step);
        }
    }

    /// True if process `pid` was off the processor after `from` (nanoseconds), or is unknown.
    pub(crate) fn was_off(&self, pid: Option<u32>, from: u64) -> bool {
        let process = pid.and_then(|pid| self.known.get(&pid));
        process.is_none_or(|process| process.off >= from)
    }

    /// True if a thread of the process runs on a processor, according to its context switches.
    pub(crate) fn runs(&self, pid: u32) -> bool {
        self.known
            .get(&pid)
            .is_some_and(|process| process.running > 0)
    }

    /// The threads of a process that have run since `time` (nanoseconds); its main thread if they are unknown.
    pub(crate) fn ran_since(&self, pid: u32, time: u64) -> Vec<u32> {
        let Some(process) = self.known.get(&pid) else {
            return vec![pid];
        };
        let ran = process.latest.iter().filter(|(_, until)| *until >= time);
        ran.map(|(tid, _)| *tid).collect()
    }

    /// True if a thread of the process with this id has been seen to run.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.known.contains_key(&pid)
    }

    /// The number of running or ready threads of a process (the concurrency of the thesis, section 4.3.4); 0 if the
    /// process is unknown.
    pub(crate) fn could_run(&self, pid: Option<u32>) -> u64 {
        let process = pid.and_then(|pid| self.known.get(&pid));
        process.map_or(0, |process| u64::from(process.could_run))
    }

    /// True if process `pid` was idle for long between `last`, the time of the client's latest request or reply, and
    /// `now` (nanoseconds).
    pub(crate) fn has_rested(&self, pid: Option<u32>, last: u64, now: u64) -> bool {
        let Some(process) = pid.and_then(|pid| self.known.get(&pid)) else {
            return now.saturating_sub(last) >= SILENCE;
        };
        let long = |(since, until): (u64, u64)| until.saturating_sub(since.max(last)) >= BRIEF;
        let rested = process.rests.back().is_some_and(|rest| long(*rest));
        rested || process.idle_since.is_some_and(|since| long((since, now)))
    }

    /// The nanoseconds up to `now` in which at least one thread of the process ran, according to its context switches;
    /// `None` if the process is unknown.
    pub(crate) fn ran(&self, pid: Option<u32>, now: u64) -> Option<u64> {
        let process = pid.and_then(|pid| self.known.get(&pid))?;
        Some(process.ran(now))
    }

    /// The nanoseconds up to `now` in which the process could run but had no processor; 0 if the process is unknown.
    pub(crate) fn ready(&self, pid: Option<u32>, now: u64) -> u64 {
        let process = pid.and_then(|pid| self.known.get(&pid));
        process.map_or(0, |process| process.ready(now))
    }

    /// The nanoseconds of long idle times of a process between `from` and `until`; `None` if the process is unknown.
    pub(crate) fn rested(&self, pid: Option<u32>, from: u64, until: u64) -> Option<u64> {
        let process = pid.and_then(|pid| self.known.get(&pid))?;
        let rests = process.rests.iter();
        let within = |&(begin, end): &(u64, u64)| end.min(until).saturating_sub(begin.max(from));
        Some(rests.map(within).filter(|within| *within >= BRIEF).sum())
    }

    /// The time in nanoseconds at which the server fell asleep after work that arrived at `time`; `None` if unknown. If
    /// the server stays asleep, it had done the work before: an attached recorder receives reports late.
    pub(crate) fn server_done(&self, time: u64) -> Option<u64> {
        let at = self.server_runs.partition_point(|(_, end)| *end <= time);
        let (since, end) = self.server_runs.get(at)?;
        match *since > time.saturating_add(SERVER_WAKES_WITHIN) {
            true => Some(time),
            false => Some(*end),
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::Processes;
    use crate::threads::delays::BRIEF;
    use crate::threads::thread_states::Threads;

    const PID: u32 = 7;

    fn switch(tid: u32, time: u64, cpu: u16, kind: SwitchKind) -> Switch {
        Switch {
            time: Timestamp::from_nanos(time),
            pid: PID,
            tid,
            cpu,
            kind,
        }
    }

    /// Applies switches before the tests query the processes.
    fn take(threads: &mut Threads, processes: &mut Processes, switches: &[Switch]) {
        let steps = switches.iter().flat_map(|one| threads.switch(one));
        steps.for_each(|step| processes.step(&step));
    }

    #[test]
    fn process_is_idle_while_all_its_threads_block() {
        use SwitchKind::{Blocked, In};
        let (mut threads, mut processes) = (Threads::default(), Processes::default());
        let switches = [
            switch(1, 10, 0, In),
            switch(2, 20, 1, In),
            switch(1, 30, 0, Blocked),
            switch(2, 40, 1, Blocked),
        ];
        take(&mut threads, &mut processes, &switches);
        assert!(!processes.has_rested(Some(PID), 0, 39 + BRIEF));
        take(
            &mut threads,
            &mut processes,
            &[switch(1, 40 + BRIEF, 0, In)],
        );
        assert!(processes.has_rested(Some(PID), 40, 40 + BRIEF));
        assert_eq!(processes.rested(Some(PID), 0, u64::MAX), Some(BRIEF));
        // From 10 to 40 both threads combined, and again since the last switch.
        assert_eq!(processes.ran(Some(PID), 45 + BRIEF), Some(30 + 5));
    }

    #[test]
    fn process_has_no_processor_while_a_thread_is_ready_and_none_runs() {
        use SwitchKind::{Blocked, In, Preempted};
        let (mut threads, mut processes) = (Threads::default(), Processes::default());
        let switches = [
            switch(1, 10, 0, In),
            switch(2, 20, 1, In),
            switch(1, 30, 0, Preempted),
            switch(2, 40, 1, Blocked),
            switch(1, 70, 0, In),
            switch(1, 75, 0, Preempted),
        ];
        take(&mut threads, &mut processes, &switches);
        assert_eq!(processes.ready(Some(PID), 77), 30 + 2);
        assert_eq!(processes.could_run(Some(PID)), 1);
        assert!(processes.knows(PID) && !processes.runs(PID));
    }

    #[test]
    fn server_is_done_when_it_stays_asleep() {
        use SwitchKind::{Blocked, In};
        let (mut threads, mut processes) = (Threads::default(), Processes::default());
        processes.set_server(Some(PID));
        let ms = |millis: u64| millis * 1_000_000;
        let runs = [
            switch(PID, ms(10), 0, In),
            switch(PID, ms(20), 0, Blocked),
            switch(PID, ms(25), 0, In),
            switch(PID, ms(26), 0, Blocked),
            switch(PID, ms(500), 0, In),
            switch(PID, ms(501), 0, Blocked),
        ];
        take(&mut threads, &mut processes, &runs);
        let done = [15, 22, 30, 495, 600].map(|time| processes.server_done(ms(time)));
        let expected = [Some(20), Some(26), Some(30), Some(501), None];
        assert_eq!(done, expected.map(|time| time.map(ms)));
    }

    /// The kernel reports no switch when a thread ends.
    #[test]
    fn ended_thread_does_not_keep_its_process_busy() {
        use SwitchKind::{Blocked, In};
        let (mut threads, mut processes) = (Threads::default(), Processes::default());
        let switches = [
            switch(2, 10, 0, In),
            // The switch is on the same processor, so the other thread has ended.
            switch(1, 20, 0, In),
            switch(1, 30, 0, Blocked),
        ];
        take(&mut threads, &mut processes, &switches);
        assert!(processes.has_rested(Some(PID), 0, 30 + BRIEF));
    }
}
