//! The intervals in which the recorded server was ready but had no processor, and those in which it ignored requests.
//!
//! The kernel reports when it preempts a thread, but not when it wakes one. So a waiting server counts as ready from
//! the time at which data was sent to it.

use std::collections::VecDeque;

use crate::threads::delays::WOKEN_WITHIN;
use crate::threads::thread_states::{State, Step};

/// Maximum number of stored intervals.
const STRETCHES_LIMIT: usize = 1 << 12;

/// Why the server can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadyReason {
    /// The kernel preempted the server while it ran.
    Preempted,
    /// A request arrived and woke the server.
    Woken,
}

/// The intervals in which the server's first thread, which communicates with the clients, was ready but did not run.
#[derive(Debug, Default)]
pub(crate) struct ServerReady {
    server: Option<u32>,
    /// True if the trace does not report the time at which clients send requests.
    attached: bool,
    /// The time at which the server began to wait, in nanoseconds; `None` if it does not wait, or is known to wait for
    /// something other than requests.
    waits: Option<u64>,
    /// The time at which the server became ready, in nanoseconds, and the reason; `None` if it is not ready.
    ready: Option<(u64, ReadyReason)>,
    /// Intervals in which the server was ready, in the order of time.
    stretches: VecDeque<(u64, u64)>,
    /// The time since which the server has ignored requests, in nanoseconds; `None` if it ignores none.
    ignores: Option<u64>,
    /// Intervals in which the server ignored requests, in the order of time.
    ignored: VecDeque<(u64, u64)>,
    /// The arrival times of requests that are on an emulated link.
    coming: VecDeque<u64>,
}

impl ServerReady {
    /// Sets the id of the server's process; `None` if unknown.
    pub(crate) fn server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// Notes that the trace is of an attached recording: the server has handled a request by the time of its record.
    pub(crate) fn attached(&mut self) {
        self.attached = true;
    }

    /// True if the trace is of an attached recording, whose requests have the server's times.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached
    }

    /// Processes a thread's change of state.
    pub(crate) fn step(&mut self, step: &Step) {
        if Some(step.tid) != self.server || step.tid != step.pid {
            return;
        }
        let time = step.time;
        if let Some(since) = self.ignores.take() {
            keep(&mut self.ignored, since, time);
        }
        self.waits = (step.now == State::Waiting).then_some(time);
        let ready = self.ready.take();
        while self.coming.pop_front_if(|at| *at <= time).is_some() {}
        match step.now {
            State::Ready => self.ready = Some((time, ReadyReason::Preempted)),
            State::Running { .. } => {
                if let Some((since, why)) = ready
                    && counts(since, why, time)
                {
                    keep(&mut self.stretches, since, time);
                }
            }
            State::Waiting => {
                let next = self.coming.front();
                self.ready = next.map(|at| (*at, ReadyReason::Woken));
            }
            State::Unknown => {}
        }
    }

    /// Notes that the server slept at `time` (nanoseconds). A request that it had received by then did not wake it:
    /// another client had grabbed it, or it was stopped.
    pub(crate) fn asleep(&mut self, time: u64) {
        let woken = self.ready.filter(|(_, why)| *why == ReadyReason::Woken);
        if let Some((since, _)) = woken.filter(|(since, why)| counts(*since, *why, time)) {
            (self.ready, self.ignores) = (None, Some(since));
        }
    }

    /// Stores the kind of wait of thread `tid` that began at `since` (nanoseconds). `poll` is true for a wait in poll,
    /// which requests end.
    pub(crate) fn waits(&mut self, tid: u32, since: u64, poll: bool) {
        if Some(tid) == self.server && self.waits == Some(since) && !poll {
            (self.waits, self.ready) = (None, None);
        }
    }

    /// Notes that a request was sent to the server at `time` and arrived at `arrives`, which is later on an emulated
    /// link (nanoseconds).
    pub(crate) fn sent(&mut self, time: u64, arrives: u64) {
        if self.attached {
            return;
        }
        if arrives > time && self.coming.len() < STRETCHES_LIMIT {
            self.coming.push_back(arrives);
        }
        if self.waits.is_some() && self.ignores.is_none() {
            self.ready.get_or_insert((arrives, ReadyReason::Woken));
        }
    }

    /// Returns the time in nanoseconds at which the server became ready, if it is still ready at `time`; `None` if it
    /// runs or waits.
    pub(crate) fn since(&self, time: u64) -> Option<u64> {
        let (since, why) = self.ready.filter(|(since, _)| *since <= time)?;
        counts(since, why, time).then_some(since)
    }

    /// Nanoseconds between `from` and `time` in which the server's messages waited for the recorder. The server has
    /// waited since it wrote them, so the recorder had no processor.
    pub(crate) fn said_before(&self, from: u64, time: u64) -> u64 {
        let waited = self.waits.map(|since| time.saturating_sub(since.max(from)));
        waited
            .filter(|waited| *waited > WOKEN_WITHIN && !self.attached)
            .unwrap_or(0)
    }

    /// Nanoseconds between `from` and `to` in which the server was ready but did not run; `to` is not in the past.
    pub(crate) fn between(&self, from: u64, to: u64) -> u64 {
        within(&self.stretches, self.since(to), from, to)
    }

    /// The time in nanoseconds since which the server has ignored requests; `None` if it ignores none.
    pub(crate) fn ignores_since(&self) -> Option<u64> {
        self.ignores
    }

    /// Nanoseconds between `from` and `to` in which the server ignored requests; `to` is not in the past.
    pub(crate) fn ignored(&self, from: u64, to: u64) -> u64 {
        within(&self.ignored, self.ignores, from, to)
    }
}

fn keep(stretches: &mut VecDeque<(u64, u64)>, since: u64, until: u64) {
    if stretches.len() == STRETCHES_LIMIT {
        stretches.pop_front();
    }
    stretches.push_back((since, until));
}

/// Nanoseconds of the intervals between `from` and `to`, with the current interval, which began at `now`.
fn within(stretches: &VecDeque<(u64, u64)>, now: Option<u64>, from: u64, to: u64) -> u64 {
    let now = now.map(|since| (since, to));
    let all = stretches.iter().rev().copied();
    let within = all.take_while(|(_, until)| *until > from).chain(now);
    within
        .map(|(since, until)| until.min(to).saturating_sub(since.max(from)))
        .sum()
}

/// Returns true if a server that became ready at `since`, and does not run at `time`, has no processor.
fn counts(since: u64, why: ReadyReason, time: u64) -> bool {
    why == ReadyReason::Preempted || time.saturating_sub(since) > WOKEN_WITHIN
}

#[cfg(test)]
mod tests {
    use super::ServerReady;
    use crate::threads::thread_states::{State, Step};

    const SERVER: u32 = 7;
    const MS: u64 = 1_000_000;

    fn step(tid: u32, micros: u64, now: State) -> Step {
        Step {
            pid: SERVER,
            tid,
            time: micros * 1000,
            before: State::Unknown,
            now,
        }
    }

    const RUNS: State = State::Running { since: 0, cpu: 0 };

    fn server() -> ServerReady {
        let mut ready = ServerReady::default();
        ready.server(Some(SERVER));
        ready
    }

    #[test]
    fn preempted_server_is_ready_until_it_runs() {
        let mut ready = server();
        for (time, kind) in [
            (1000, RUNS),
            (1300, State::Ready),
            (1500, RUNS),
            (2000, State::Ready),
        ] {
            ready.step(&step(SERVER, time, kind));
        }
        // Another of its threads.
        ready.step(&step(8, 2100, State::Ready));
        let micros = |from: u64, to: u64| ready.between(from * 1000, to * 1000) / 1000;
        assert_eq!(micros(0, 1900), 200);
        assert_eq!(micros(1400, 1900), 100);
        assert_eq!(micros(1400, 2600), 700);
        assert_eq!(micros(2500, 2600), 100);
        ready.step(&step(SERVER, 3000, RUNS));
        ready.step(&step(SERVER, 3100, State::Waiting));
        assert_eq!(ready.between(0, 9 * MS) / 1000, 1200);
    }

    #[test]
    fn blocked_server_is_ready_from_the_next_request() {
        let mut ready = server();
        ready.step(&step(SERVER, 1000, State::Waiting));
        ready.sent(2 * MS, 2 * MS);
        ready.sent(3 * MS, 3 * MS);
        // The wake-up may take this long.
        assert_eq!(ready.between(0, 2_900_000), 0);
        assert_eq!(ready.between(0, 4 * MS), 2 * MS);
        ready.step(&step(SERVER, 42_000, RUNS));
        // The server runs, so an arriving request changes nothing.
        ready.sent(43 * MS, 43 * MS);
        ready.step(&step(SERVER, 44_000, State::Waiting));
        assert_eq!(ready.between(0, 60 * MS), 40 * MS);
        ready.sent(60 * MS, 60 * MS);
        ready.step(&step(SERVER, 60_300, RUNS));
        assert_eq!(ready.between(0, 61 * MS), 40 * MS);
    }

    #[test]
    fn reply_before_server_sleep_waited_for_the_recorder() {
        let mut ready = server();
        ready.step(&step(SERVER, 1000, RUNS));
        ready.step(&step(SERVER, 1200, State::Waiting));
        assert_eq!(ready.said_before(MS, 2 * MS), 0);
        assert_eq!(ready.said_before(MS, 120 * MS), 118_800_000);
        assert_eq!(ready.said_before(100 * MS, 120 * MS), 20 * MS);
        ready.step(&step(SERVER, 120_000, RUNS));
        assert_eq!(ready.said_before(MS, 121 * MS), 0);
    }

    #[test]
    fn server_that_sleeps_on_ignores_requests() {
        let mut ready = server();
        ready.step(&step(SERVER, 1000, State::Waiting));
        // A request arrives, and does not wake the server.
        ready.sent(2 * MS, 2 * MS);
        ready.asleep(2 * MS + 1);
        assert_eq!(ready.between(0, 50 * MS), 48 * MS);
        ready.asleep(50 * MS);
        ready.sent(55 * MS, 55 * MS);
        assert_eq!(ready.between(0, 60 * MS), 0);
        assert_eq!(ready.ignored(0, 60 * MS), 58 * MS);
        ready.step(&step(SERVER, 70_000, RUNS));
        assert_eq!(ready.ignored(10 * MS, 90 * MS), 60 * MS);
        assert_eq!(ready.between(0, 90 * MS), 0);
    }

    #[test]
    fn server_waiting_elsewhere_or_reporting_late_is_not_ready() {
        let mut ready = server();
        ready.step(&step(SERVER, 1000, State::Waiting));
        ready.waits(SERVER, MS, false);
        ready.sent(2 * MS, 2 * MS);
        assert_eq!(ready.between(0, 9 * MS), 0);
        ready.step(&step(SERVER, 10_000, State::Waiting));
        ready.waits(SERVER, 10 * MS, true);
        ready.sent(12 * MS, 12 * MS);
        assert_eq!(ready.between(0, 19 * MS), 7 * MS);
        let mut ready = server();
        ready.attached();
        ready.step(&step(SERVER, 1000, State::Waiting));
        ready.sent(2 * MS, 2 * MS);
        assert_eq!(ready.between(0, 9 * MS), 0);
        // Without switches, the state is unknown.
        let mut ready = server();
        ready.sent(2 * MS, 2 * MS);
        assert_eq!(ready.between(0, 9 * MS), 0);
    }
}
