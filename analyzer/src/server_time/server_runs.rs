//! Runs of the recorded server, from the context switches, compared with the kernel's clock of its process.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_cost_model::Micros;

use crate::server_time::share::{Rate, Share};
use crate::threads::thread_states::{State, Step};

/// Switches and clock differ if their difference exceeds both this share of the larger and this time: a clock that is
/// read while its process runs may be one tick of 4 ms late, and each switch leaves some microseconds on either side.
const DIFFER: (f64, Micros) = (0.1, Micros(5000.0));
/// If a handler took longer than this, in nanoseconds, the kernel may have run other threads during it.
pub(crate) const INTERRUPTED: u64 = 20_000;
/// Maximum number of runs kept until they are attributed; beyond it, the oldest runs are merged.
const RUNS_LIMIT: usize = 1 << 14;
/// Maximum number of stretches (uninterrupted runs of a thread) that are kept. They show how long the server had run at
/// a clock reading.
const STRETCHES_LIMIT: usize = 1 << 12;

/// A run of the server, from a wakeup to the next wait. Times are in nanoseconds of the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) from: u64,
    /// The end of the run, in nanoseconds; `None` while the run continues.
    pub(crate) to: Option<u64>,
    /// The length of the wait before the run, in nanoseconds; `None` if the trace does not contain the whole wait.
    pub(crate) slept: Option<u64>,
    nanos: u64,
    stretches: u32,
}

impl Run {
    /// The nanoseconds that the server ran on a processor.
    pub(crate) fn nanos(&self) -> u64 {
        self.nanos
    }

    pub(crate) fn share(&self) -> Share {
        Share {
            time: micros(self.nanos),
            stretches: f64::from(self.stretches),
        }
    }
}

/// A reading of the CPU clock, with the sums of the switches at that time.
#[derive(Debug, Clone, Copy)]
struct Reading {
    clock: u64,
    reported: SwitchTotals,
}

/// Sums over the switches so far, of all threads.
#[derive(Debug, Clone, Copy, Default)]
struct SwitchTotals {
    nanos: u64,
    stretches: u64,
}

/// The runs of one server's first thread, which communicates with the clients. Runs of other threads are counted
/// separately.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    server: u32,
    runs: VecDeque<Run>,
    waits_since: Option<u64>,
    /// The start of each thread that runs.
    running: FxHashMap<u32, u64>,
    /// The runs of all threads except the first.
    others_ran: Share,
    reported: SwitchTotals,
    /// The latest runs of all threads, in the order of their ends.
    stretches: VecDeque<(u64, u64)>,
    /// The latest intervals in which the first thread was ready but had no processor, and the beginning of the current
    /// interval.
    preempted: VecDeque<(u64, u64)>,
    preempted_since: Option<u64>,
    /// The clock's readings: the first and the last of the recording, the last before the counts started, and the last
    /// of the analyzed part after its end.
    first: Option<Reading>,
    last: Option<Reading>,
    read_at: u64,
    since: Option<Reading>,
    until: Option<Option<Reading>>,
}

impl Runs {
    pub(crate) fn of(server: u32) -> Runs {
        Runs {
            server,
            ..Runs::default()
        }
    }

    pub(crate) fn server(&self) -> u32 {
        self.server
    }

    /// The first run that is not attributed yet, and the time at which the next run began, in nanoseconds.
    pub(crate) fn front(&self) -> Option<(&Run, Option<u64>)> {
        let next = self.runs.get(1).map(|run| run.from);
        Some((self.runs.front()?, next))
    }

    pub(crate) fn pop(&mut self) {
        self.runs.pop_front();
    }

    /// The CPU time of the server's other threads.
    pub(crate) fn others(&self) -> Share {
        self.others_ran
    }

    /// Processes a thread's change of state.
    pub(crate) fn step(&mut self, step: &Step) {
        if step.pid != self.server {
            return;
        }
        let is_first = step.tid == step.pid;
        self.tell(step);
        if self.until.is_some() {
            return;
        }
        if let Some(ran) = step.ran() {
            let nanos = ran.to.saturating_sub(ran.from);
            match self.runs.back_mut().filter(|run| run.to.is_none()) {
                Some(run) if is_first => {
                    run.nanos = run.nanos.saturating_add(nanos);
                    run.stretches += 1;
                }
                _ => {
                    self.others_ran += Share {
                        time: micros(nanos),
                        stretches: 1.0,
                    };
                }
            }
        }
        let is_awake = self.runs.back().is_some_and(|run| run.to.is_none());
        if is_first {
            if let Some(since) = self.preempted_since.take() {
                keep(&mut self.preempted, (since, step.time));
            }
            self.preempted_since = (step.now == State::Ready).then_some(step.time);
        }
        match step.now {
            _ if !is_first => {}
            // A thread that is ready before it was seen to run was on a processor when the recording began.
            State::Running { .. } | State::Ready if !is_awake => self.begin(step.time),
            State::Waiting if is_awake => self.wait(step.time),
            State::Waiting => self.waits_since = Some(step.time),
            _ => {}
        }
    }

    fn tell(&mut self, step: &Step) {
        match step.now {
            State::Running { since, .. } => self.running.insert(step.tid, since),
            _ => self.running.remove(&step.tid),
        };
        if let Some(ran) = step.ran() {
            self.stretch(ran.from, ran.to);
        }
    }

    fn begin(&mut self, time: u64) {
        if self.runs.len() == RUNS_LIMIT {
            self.join();
        }
        let slept = self.waits_since.map(|since| time.saturating_sub(since));
        self.runs.push_back(Run {
            from: time,
            to: None,
            slept,
            nanos: 0,
            stretches: 0,
        });
    }

    /// Merges the first two runs.
    fn join(&mut self) {
        if let (Some(first), Some(second)) = (self.runs.pop_front(), self.runs.front_mut()) {
            second.from = first.from;
            second.slept = first.slept;
            second.nanos = second.nanos.saturating_add(first.nanos);
            second.stretches += first.stretches;
        }
    }

    fn wait(&mut self, time: u64) {
        self.waits_since = Some(time);
        if let Some(run) = self.runs.back_mut() {
            run.to = Some(time);
        }
    }

    fn stretch(&mut self, since: u64, until: u64) {
        self.reported.nanos = self
            .reported
            .nanos
            .saturating_add(until.saturating_sub(since));
        self.reported.stretches += 1;
        keep(&mut self.stretches, (since, until));
    }

    /// Notes a reading of the process's CPU clock at `time`; both are in nanoseconds.
    pub(crate) fn clock(&mut self, time: u64, clock: u64) {
        let reported = self.reported_by(time);
        let reading = Reading { clock, reported };
        self.read_at = time;
        self.first.get_or_insert(reading);
        self.last = Some(reading);
    }

    /// The threads' run time up to `time`, which may be before the last switches.
    fn reported_by(&self, time: u64) -> SwitchTotals {
        let mut reported = self.reported;
        for &(since, until) in self.stretches.iter().rev() {
            if until <= time {
                break;
            }
            reported.nanos = reported
                .nanos
                .saturating_sub(until - since.max(time).min(until));
            reported.stretches = reported.stretches.saturating_sub(1);
        }
        for since in self.running.values() {
            reported.nanos = reported.nanos.saturating_add(time.saturating_sub(*since));
        }
        reported
    }

    /// The nanoseconds that the server's threads ran between two times, as far as the runs are kept.
    pub(crate) fn ran_between(&self, from: u64, to: u64) -> u64 {
        let running = self.running.values().map(|since| (*since, to));
        between(&self.stretches, running, from, to)
    }

    /// The nanoseconds between `from` and `to` in which the first thread was ready but had no processor.
    pub(crate) fn preempted_between(&self, from: u64, to: u64) -> u64 {
        let now = self.preempted_since.map(|since| (since, to));
        between(&self.preempted, now.into_iter(), from, to)
    }

    /// Returns the end of the last finished stretch in nanoseconds. The time of a stretch is counted when the stretch
    /// ends.
    pub(crate) fn reported_until(&self) -> u64 {
        self.stretches.back().map_or(0, |(_, until)| *until)
    }

    /// The CPU time in microseconds by context switches and by clock over the whole recording, if the two differ by
    /// more than [`DIFFER`].
    pub(crate) fn doubt(&self) -> Option<(Micros, Micros)> {
        let (first, last) = (self.first?, self.last?);
        let reported = micros(last.reported.nanos.saturating_sub(first.reported.nanos));
        let clock = passed(first, last)?;
        let apart = (reported.0 - clock.0).abs();
        let (share, least) = DIFFER;
        (apart > least.0 && apart > share * reported.0.max(clock.0)).then_some((reported, clock))
    }

    /// The factor from context switches to the clock, between the clock's first and last reading. There is one factor
    /// for the whole recording, so that the times of parts add up to the total.
    pub(crate) fn rate(&self) -> Option<Rate> {
        let (first, last) = (self.first?, self.last?);
        let reported = Share {
            time: micros(last.reported.nanos.saturating_sub(first.reported.nanos)),
            stretches: last
                .reported
                .stretches
                .saturating_sub(first.reported.stretches) as f64,
        };
        Some(Rate::of(passed(first, last)?, reported))
    }

    /// The clock's time in the analyzed part, from its last reading before the part to its last reading in it.
    pub(crate) fn clocked(&self) -> Option<Micros> {
        passed(self.since.or(self.first)?, self.until.unwrap_or(self.last)?)
    }

    /// Ends the trace and the current run. A clock reading within the run shows that the server still ran then, as it
    /// does when a client disconnects.
    pub(crate) fn end(&mut self) {
        if self.until.is_none()
            && let Some(since) = self.running.get(&self.server).copied()
            && self.read_at > since
            && let Some(run) = self.runs.back_mut().filter(|run| run.to.is_none())
        {
            run.nanos = run.nanos.saturating_add(self.read_at - since);
            run.stretches += 1;
            self.running.remove(&self.server);
            self.stretch(since, self.read_at);
        }
        let last = self.stretches.back().map(|(_, until)| *until);
        if let Some(run) = self.runs.back_mut().filter(|run| run.to.is_none()) {
            run.to = Some(last.unwrap_or(run.from).max(run.from));
        }
    }

    /// Ends the analyzed part. Later data only affects the rate.
    pub(crate) fn stop(&mut self) {
        self.until.get_or_insert(self.last);
    }

    /// Resets all counts and times. The current run keeps only its time from now on.
    pub(crate) fn start_afresh(&mut self) {
        self.runs.retain(|run| run.to.is_none());
        for run in &mut self.runs {
            (run.nanos, run.stretches) = (0, 0);
        }
        self.others_ran = Share::default();
        self.since = self.last;
    }
}

fn keep(stretches: &mut VecDeque<(u64, u64)>, one: (u64, u64)) {
    if stretches.len() == STRETCHES_LIMIT {
        stretches.pop_front();
    }
    stretches.push_back(one);
}

/// Returns the nanoseconds of finished and current stretches between `from` and `to`.
fn between(
    stretches: &VecDeque<(u64, u64)>,
    now: impl Iterator<Item = (u64, u64)>,
    from: u64,
    to: u64,
) -> u64 {
    let latest = stretches.iter().rev().copied();
    let all = latest.take_while(|(_, until)| *until > from).chain(now);
    all.map(|(since, until)| until.min(to).saturating_sub(since.max(from)))
        .fold(0, u64::saturating_add)
}

/// Returns the time that the clock advanced between two readings; `None` if it did not.
fn passed(first: Reading, last: Reading) -> Option<Micros> {
    let clock = last.clock.checked_sub(first.clock)?;
    (clock > 0).then(|| micros(clock))
}

fn micros(nanos: u64) -> Micros {
    Micros::from_nanos(nanos as f64)
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::{RUNS_LIMIT, Runs};
    use crate::server_time::share::Share;
    use crate::threads::thread_states::Threads;

    const SERVER: u32 = 7;

    fn switch(tid: u32, micros: u64, kind: SwitchKind) -> Switch {
        Switch {
            time: Timestamp::from_nanos(micros * 1000),
            pid: SERVER,
            tid,
            cpu: (tid - SERVER) as u16,
            kind,
        }
    }

    fn with(all: &[(u32, u64, SwitchKind)]) -> Runs {
        let mut runs = Runs::of(SERVER);
        take(&mut Threads::default(), &mut runs, all);
        runs
    }

    fn take(threads: &mut Threads, runs: &mut Runs, all: &[(u32, u64, SwitchKind)]) {
        for &(tid, time, kind) in all {
            let steps = threads.switch(&switch(tid, time, kind));
            steps.for_each(|step| runs.step(&step));
        }
    }

    #[test]
    fn run_lasts_from_wakeup_until_block() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut runs = with(&[
            (7, 5, Blocked),
            (7, 10, In),
            (7, 14, Preempted),
            (7, 20, In),
            (7, 26, Blocked),
            (7, 40, In),
        ]);
        let (run, next) = runs.front().unwrap();
        assert_eq!((run.from, run.to), (10_000, Some(26_000)));
        assert_eq!((run.slept, next), (Some(5_000), Some(40_000)));
        let share = run.share();
        assert_eq!((share.time, share.stretches), (Micros(10.0), 2.0));
        runs.pop();
        assert_eq!(runs.front().unwrap().0.to, None);
    }

    #[test]
    fn other_threads_are_separate_but_count_for_the_clock() {
        use SwitchKind::{Blocked, In};
        let (mut threads, mut runs) = (Threads::default(), Runs::of(SERVER));
        take(&mut threads, &mut runs, &[(7, 10, In), (8, 12, In)]);
        runs.clock(9_000, 100_000);
        let later = [(8, 18, Blocked), (7, 20, Blocked), (7, 30, In)];
        take(&mut threads, &mut runs, &later);
        let ran = Share {
            time: Micros(6.0),
            stretches: 1.0,
        };
        assert_eq!(runs.others(), ran);
        // The clock was read in the middle of a run; the switches after the reading are already known.
        runs.clock(31_000, 121_000);
        let rate = runs.rate().unwrap();
        // 21 µs by the clock, 10 + 6 + 1 by the switches, in two stretches that ended.
        assert_eq!((rate.scale, rate.each), (1.0, Micros(2.0)));
        assert_eq!(runs.reported_by(15_000).nanos, 5_000 + 3_000);
    }

    #[test]
    fn disagreement_of_switches_and_clock_is_flagged() {
        use SwitchKind::{Blocked, In};
        // 60 ms by the switches.
        let doubt = |clock_ms: u64| {
            let mut runs = Runs::of(SERVER);
            runs.clock(0, 1_000_000);
            let all = [(7, 10, In), (7, 60_010, Blocked)];
            take(&mut Threads::default(), &mut runs, &all);
            runs.clock(70_000_000, 1_000_000 + clock_ms * 1_000_000);
            runs.doubt()
        };
        assert_eq!(doubt(55), None);
        assert_eq!(doubt(45), Some((Micros(60_000.0), Micros(45_000.0))));
    }

    #[test]
    fn run_continues_until_the_last_clock_reading() {
        use SwitchKind::{Blocked, In};
        let mut runs = with(&[(7, 10, In), (7, 20, Blocked), (7, 30, In)]);
        runs.clock(5_000, 1_000);
        runs.clock(42_000, 23_000);
        runs.end();
        runs.pop();
        let (run, _) = runs.front().unwrap();
        assert_eq!((run.to, run.share().time), (Some(42_000), Micros(12.0)));
        assert_eq!(runs.reported_until(), 42_000);
    }

    #[test]
    fn parts_share_the_rate_of_the_whole_recording() {
        use SwitchKind::{Blocked, In};
        let before = [(7, 10, In), (7, 20, Blocked), (7, 30, In)];
        let after = [(7, 50, Blocked), (7, 60, In), (7, 65, Blocked)];
        let of = |cut: fn(&mut Runs)| {
            let (mut threads, mut runs) = (Threads::default(), Runs::of(SERVER));
            runs.clock(0, 1_000_000);
            take(&mut threads, &mut runs, &before);
            cut(&mut runs);
            take(&mut threads, &mut runs, &after);
            runs.clock(70_000, 1_041_000);
            runs.end();
            let mut share = Share::default();
            while let Some((run, _)) = runs.front() {
                share += run.share();
                runs.pop();
            }
            (runs.rate().unwrap(), share)
        };
        let (rate, whole) = of(|_| {});
        assert_eq!(rate.time(whole), Micros(41.0));
        let parts = [of(Runs::stop), of(Runs::start_afresh)];
        assert!(parts.iter().all(|(of_part, _)| *of_part == rate));
        assert_eq!(parts[0].1 + parts[1].1, whole);
    }

    #[test]
    fn excess_runs_are_merged() {
        let run = |at: u64| {
            let (from, to) = (at * 10, at * 10 + 1);
            [(7, from, SwitchKind::In), (7, to, SwitchKind::Blocked)]
        };
        let all: Vec<_> = (0..=RUNS_LIMIT as u64).flat_map(run).collect();
        let runs = with(&all);
        let (run, next) = runs.front().unwrap();
        assert_eq!(run.share().time, Micros(2.0));
        assert_eq!(next, Some(20_000));
    }
}
