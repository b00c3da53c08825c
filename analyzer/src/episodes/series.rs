//! CPU utilisation and latency over time (the latency-benchmark paper's Figure 3). The steps grow with the session, so
//! that memory is bounded.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::threads::thread_states::{self, State};

/// Maximum number of steps. If there are more, pairs of steps are merged into steps of twice the length.
const MAX_STEPS: usize = 1000;
/// The initial length of a step in nanoseconds, as in the paper.
const FIRST_STEP: u64 = 1_000_000;

/// Sums over one step of a session. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// The CPU time of the clients in nanoseconds.
    pub(crate) client: u64,
    /// The CPU time of the server in nanoseconds.
    pub(crate) server: u64,
    /// The time in which the user waited, in nanoseconds.
    pub(crate) waits: u64,
    /// The number of episodes that began in the step.
    pub(crate) episodes: u64,
    /// The latency of the longest episode that began in the step, in nanoseconds.
    pub(crate) longest: u64,
}

impl Step {
    fn merge(&mut self, next: &Step) {
        self.client += next.client;
        self.server += next.server;
        self.waits += next.waits;
        self.episodes += next.episodes;
        self.longest = self.longest.max(next.longest);
    }
}

/// The steps of a session, all of the same length.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// The beginning of the first step, in nanoseconds; `None` while unknown.
    origin: Option<u64>,
    length: u64,
    steps: Vec<Step>,
    /// The running threads, each with its process and the beginning of its run in nanoseconds.
    running: FxHashMap<u32, (u32, u64)>,
    /// The end of the recording, in nanoseconds; 0 while unknown.
    until: u64,
    /// True if the trace contains context switches.
    pub(crate) switches: bool,
}

/// The owner of a process's CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessorOwner {
    Client,
    Server,
}

/// The owner of each process.
pub(crate) type ProcessorOwners = HashMap<u32, ProcessorOwner>;

impl Default for Series {
    fn default() -> Series {
        Series {
            origin: None,
            length: FIRST_STEP,
            steps: Vec::new(),
            running: FxHashMap::default(),
            until: 0,
            switches: false,
        }
    }
}

impl Series {
    /// Begins the first step at `time` (nanoseconds), unless it has already begun.
    pub(crate) fn begin(&mut self, time: u64) {
        self.origin.get_or_insert(time);
    }

    /// The beginning of the first step, the length of a step (both in nanoseconds), and the steps.
    pub(crate) fn steps(&self) -> (u64, u64, &[Step]) {
        (self.origin.unwrap_or(0), self.length, &self.steps)
    }

    fn step(&mut self, time: u64) -> usize {
        let since = time.saturating_sub(*self.origin.get_or_insert(time));
        while since / self.length >= MAX_STEPS as u64 {
            self.length = self.length.saturating_mul(2);
            for at in 0..self.steps.len().div_ceil(2) {
                let mut step = self.steps[2 * at];
                if let Some(next) = self.steps.get(2 * at + 1) {
                    step.merge(next);
                }
                self.steps[at] = step;
            }
            self.steps.truncate(self.steps.len().div_ceil(2));
        }
        // The index is below the maximum, because of the loop above.
        let at = (since / self.length) as usize;
        if self.steps.len() <= at {
            self.steps.resize(at + 1, Step::default());
        }
        at
    }

    /// Adds the time from `from` to `to` (nanoseconds) to the field that `of` selects, in each step that the time
    /// covers.
    fn add(&mut self, from: u64, to: u64, of: impl Fn(&mut Step) -> &mut u64) {
        // Time before the session is excluded.
        let origin = *self.origin.get_or_insert(from);
        let from = from.max(origin);
        if to <= from {
            return;
        }
        let last = self.step(to - 1);
        let first = self.step(from).min(last);
        for at in first..=last {
            let begins = origin.saturating_add(self.length.saturating_mul(at as u64));
            let ends = begins.saturating_add(self.length).min(to);
            let begins = if at == first { from } else { begins };
            if let Some(step) = self.steps.get_mut(at) {
                *of(step) += ends.saturating_sub(begins);
            }
        }
    }

    /// Adds a wait of the user from `from` to `to` (nanoseconds).
    pub(crate) fn waited(&mut self, from: u64, to: u64) {
        self.add(from, to, |step| &mut step.waits);
    }

    /// Adds an episode that began at `start`, with its latency (both in nanoseconds).
    pub(crate) fn episode(&mut self, start: u64, latency: u64) {
        let at = self.step(start);
        if let Some(step) = self.steps.get_mut(at) {
            step.episodes += 1;
            step.longest = step.longest.max(latency);
        }
    }

    /// Adds a thread's change of state. `whose` contains the owners of processes.
    pub(crate) fn switch(&mut self, step: &thread_states::Step, whose: &ProcessorOwners) {
        self.switches = true;
        match step.now {
            State::Running { since, .. } => {
                self.running.insert(step.tid, (step.pid, since));
            }
            _ => {
                self.running.remove(&step.tid);
            }
        }
        if let Some(stretch) = step.ran() {
            self.ran(whose.get(&step.pid), stretch.from, stretch.to);
        }
    }

    fn ran(&mut self, whose: Option<&ProcessorOwner>, from: u64, to: u64) {
        match whose {
            Some(ProcessorOwner::Client) => self.add(from, to, |step| &mut step.client),
            Some(ProcessorOwner::Server) => self.add(from, to, |step| &mut step.server),
            None => {}
        }
    }

    /// Notes that threads which still run at the end ran until `time` (nanoseconds), when a CPU clock was last read.
    pub(crate) fn recorded_until(&mut self, time: u64) {
        self.until = time;
    }

    /// Ends the session at `time` (nanoseconds). `whose` contains the owners of processes.
    pub(crate) fn end(&mut self, time: u64, whose: &ProcessorOwners) {
        let time = time.max(self.until);
        for (pid, since) in std::mem::take(&mut self.running).into_values() {
            self.ran(whose.get(&pid), since, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_STEP, MAX_STEPS, ProcessorOwner, Series};
    use crate::threads::thread_states::Threads;
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    #[test]
    fn step_length_grows_and_sums_are_kept() {
        let mut series = Series::default();
        series.begin(500);
        let mut sum = 0;
        for n in 0..5000_u64 {
            let (from, length) = (n * FIRST_STEP * 2, 700_000 + n * 100);
            series.waited(500 + from, 500 + from + length);
            series.episode(500 + from, n);
            sum += length;
        }
        let (origin, length, steps) = series.steps();
        assert_eq!((origin, length), (500, 16 * FIRST_STEP));
        assert!(steps.len() <= MAX_STEPS);
        assert_eq!(steps.iter().map(|step| step.waits).sum::<u64>(), sum);
        assert_eq!(steps.iter().map(|step| step.episodes).sum::<u64>(), 5000);
        assert_eq!(steps.iter().map(|step| step.longest).max(), Some(4999));
        assert!(steps.iter().all(|step| step.waits <= length));
    }

    #[test]
    fn context_switches_give_client_and_server_cpu() {
        let (mut series, mut threads) = (Series::default(), Threads::default());
        let owners = [ProcessorOwner::Client, ProcessorOwner::Server];
        let of = (1..).zip(owners).collect();
        let mut switch = |micros: u64, pid: u32, kind| {
            let time = Timestamp::from_nanos(micros * 1000);
            let switch = Switch {
                time,
                pid,
                tid: pid,
                cpu: 0,
                kind,
            };
            let steps = threads.switch(&switch);
            steps.for_each(|step| series.switch(&step, &of));
        };
        switch(0, 1, SwitchKind::In);
        switch(2500, 1, SwitchKind::Preempted);
        switch(2500, 2, SwitchKind::In);
        // The end of this run is not reported.
        switch(4000, 1, SwitchKind::In);
        series.end(4_500_000, &of);
        let reported: Vec<_> = series
            .steps()
            .2
            .iter()
            .map(|one| (one.client, one.server))
            .collect();
        let ms = FIRST_STEP;
        assert_eq!(
            reported,
            [(ms, 0), (ms, 0), (ms / 2, ms / 2), (0, ms), (ms / 2, 0)]
        );
    }
}
