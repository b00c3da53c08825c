//! When the recorded server could run and did not: no processor was free for it.
//!
//! The kernel tells when it takes the processor away from a thread. That a thread is woken it does not tell: a
//! server that waits can run from when something has been sent to it.

use std::collections::VecDeque;

use x11prof_trace::Switch;

use crate::activity::threads::{State, Threads};

/// Stretches kept to look back at.
const STRETCHES_LIMIT: usize = 1 << 12;
/// Who is woken runs within this, in nanoseconds, where a processor is free: the kernel may have to wake that first.
pub(crate) const WOKEN_WITHIN: u64 = 1_000_000;

/// Why the server can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Its processor was taken away.
    Preempted,
    /// Something came for it.
    Woken,
}

/// The stretches in which the server's first thread, which speaks with the clients, was ready and did not run.
#[derive(Debug, Default)]
pub(crate) struct ServerReady {
    server: Option<u32>,
    /// When something is sent to it is not known.
    attached: bool,
    threads: Threads,
    /// It waits since then, for what comes as far as is known.
    waits: Option<u64>,
    /// It can run since then, and does not.
    ready: Option<(u64, Why)>,
    /// From when to when it was so, in the order of time.
    stretches: VecDeque<(u64, u64)>,
}

impl ServerReady {
    /// The server's process.
    pub(crate) fn server(&mut self, pid: Option<u32>) {
        self.server = pid;
    }

    /// The trace is what the server tells: it has handled a request by the time that this is recorded.
    pub(crate) fn attached(&mut self) {
        self.attached = true;
    }

    /// Takes a context switch.
    pub(crate) fn switch(&mut self, switch: &Switch) {
        let Some(server) = self.server.filter(|server| *server == switch.pid) else {
            return;
        };
        let time = switch.time.as_nanos();
        for step in self.threads.switch(switch) {
            if step.tid != server {
                continue;
            }
            self.waits = (step.now == State::Waiting).then_some(time);
            let ready = self.ready.take();
            match step.now {
                State::Ready => self.ready = Some((time, Why::Preempted)),
                State::Running { .. } => {
                    if let Some((since, why)) = ready
                        && counts(since, why, time)
                    {
                        self.keep(since, time);
                    }
                }
                State::Waiting | State::Unknown => {}
            }
        }
    }

    fn keep(&mut self, since: u64, until: u64) {
        if self.stretches.len() == STRETCHES_LIMIT {
            self.stretches.pop_front();
        }
        self.stretches.push_back((since, until));
    }

    /// What it waits in since `since` became known: what comes wakes it from `poll` only.
    pub(crate) fn waits(&mut self, tid: u32, since: u64, poll: bool) {
        if Some(tid) == self.server && self.waits == Some(since) && !poll {
            (self.waits, self.ready) = (None, None);
        }
    }

    /// Something is sent to it that it would read.
    pub(crate) fn sent(&mut self, time: u64) {
        if self.waits.is_some() && !self.attached {
            self.ready.get_or_insert((time, Why::Woken));
        }
    }

    /// Since when it has been ready at `time`; `None` while it runs or waits.
    pub(crate) fn since(&self, time: u64) -> Option<u64> {
        let (since, why) = self.ready.filter(|(since, _)| *since <= time)?;
        counts(since, why, time).then_some(since)
    }

    /// For how long it was ready and did not run between two times, in nanoseconds, of which `to` is not past.
    pub(crate) fn between(&self, from: u64, to: u64) -> u64 {
        let now = self.since(to).map(|since| (since, to));
        let all = self.stretches.iter().rev().copied();
        let within = all.take_while(|(_, until)| *until > from).chain(now);
        within
            .map(|(since, until)| until.min(to).saturating_sub(since.max(from)))
            .sum()
    }
}

/// Whether one that has been ready since then, and does not run at `time`, had no processor.
fn counts(since: u64, why: Why, time: u64) -> bool {
    why == Why::Preempted || time.saturating_sub(since) > WOKEN_WITHIN
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::ServerReady;

    const SERVER: u32 = 7;
    const MS: u64 = 1_000_000;

    fn switch(tid: u32, micros: u64, kind: SwitchKind) -> Switch {
        Switch {
            time: Timestamp::from_nanos(micros * 1000),
            pid: SERVER,
            tid,
            cpu: 0,
            kind,
        }
    }

    fn server() -> ServerReady {
        let mut ready = ServerReady::default();
        ready.server(Some(SERVER));
        ready
    }

    #[test]
    fn one_whose_processor_is_taken_away_is_ready_until_it_runs() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut ready = server();
        for (time, kind) in [(1000, In), (1300, Preempted), (1500, In), (2000, Preempted)] {
            ready.switch(&switch(SERVER, time, kind));
        }
        // Another of its threads.
        ready.switch(&switch(8, 2100, Preempted));
        let micros = |from: u64, to: u64| ready.between(from * 1000, to * 1000) / 1000;
        assert_eq!(micros(0, 1900), 200);
        assert_eq!(micros(1400, 1900), 100);
        assert_eq!(micros(1400, 2600), 700);
        assert_eq!(micros(2500, 2600), 100);
        ready.switch(&switch(SERVER, 3000, In));
        ready.switch(&switch(SERVER, 3100, Blocked));
        assert_eq!(ready.between(0, 9 * MS) / 1000, 1200);
    }

    #[test]
    fn one_that_waits_is_ready_from_when_something_is_sent_to_it() {
        use SwitchKind::{Blocked, In};
        let mut ready = server();
        ready.switch(&switch(SERVER, 1000, Blocked));
        ready.sent(2 * MS);
        ready.sent(3 * MS);
        // So long it takes to wake.
        assert_eq!(ready.between(0, 2_900_000), 0);
        assert_eq!(ready.between(0, 4 * MS), 2 * MS);
        ready.switch(&switch(SERVER, 42_000, In));
        // It runs: what comes now changes nothing.
        ready.sent(43 * MS);
        ready.switch(&switch(SERVER, 44_000, Blocked));
        assert_eq!(ready.between(0, 60 * MS), 40 * MS);
        ready.sent(60 * MS);
        ready.switch(&switch(SERVER, 60_300, In));
        assert_eq!(ready.between(0, 61 * MS), 40 * MS);
    }

    #[test]
    fn one_that_waits_for_something_else_or_tells_late_is_not_ready() {
        use SwitchKind::Blocked;
        let mut ready = server();
        ready.switch(&switch(SERVER, 1000, Blocked));
        ready.waits(SERVER, MS, false);
        ready.sent(2 * MS);
        assert_eq!(ready.between(0, 9 * MS), 0);
        ready.switch(&switch(SERVER, 10_000, Blocked));
        ready.waits(SERVER, 10 * MS, true);
        ready.sent(12 * MS);
        assert_eq!(ready.between(0, 19 * MS), 7 * MS);
        let mut ready = server();
        ready.attached();
        ready.switch(&switch(SERVER, 1000, Blocked));
        ready.sent(2 * MS);
        assert_eq!(ready.between(0, 9 * MS), 0);
        // Without switches nothing is known.
        let mut ready = server();
        ready.sent(2 * MS);
        assert_eq!(ready.between(0, 9 * MS), 0);
    }
}
