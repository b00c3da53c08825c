//! Estimates when a client sent and read the messages that RECORD reports (`record --attach`).
//!
//! RECORD's times are whole milliseconds, and a request has the time at which the server handled it. So a message may seem
//! to arrive after its client fell asleep, and the client to sleep on until something else happens. Context switches are
//! more precise: a client sends before it sleeps, and a message that arrives during its sleep wakes it.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_trace::{ConnectionId, Control, Direction, Record, Switch, SwitchKind, Timestamp};

use crate::clients::PerClient;

/// The unit of RECORD's times, in nanoseconds.
const MILLISECOND: u64 = 1_000_000;
/// The maximum time from a message to the wakeup of its client, in nanoseconds.
pub(crate) const WAKES_WITHIN: u64 = MILLISECOND + 200_000;
/// The maximum time from a request to its handling that is corrected, in nanoseconds: the server may lack a processor.
pub(crate) const HANDLED_WITHIN: u64 = 500 * MILLISECOND;
/// Maximum number of switches kept for a thread; the latest are kept.
const SWITCHES: usize = 1 << 10;
/// Maximum number of tracked threads of a client.
const THREADS: usize = 256;

/// The times in nanoseconds at which a thread began to sleep (true) or began to run (false).
type Thread = VecDeque<(u64, bool)>;

/// The switches of the clients' threads, and their connections.
#[derive(Debug, Default)]
pub(crate) struct ReportTimes {
    attached: bool,
    processes: PerClient<u32>,
    /// The threads of each process.
    threads: FxHashMap<u32, FxHashMap<u32, Thread>>,
    /// The process of the server.
    server: Option<u32>,
    /// The last time of each connection.
    last: PerClient<u64>,
}

impl ReportTimes {
    /// True if RECORD reported the messages of the trace.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached
    }

    /// Processes a control record at `time` (nanoseconds).
    pub(crate) fn control(&mut self, time: u64, control: &Control) {
        match control {
            Control::Attached {} => self.attached = true,
            Control::Server(server) => {
                self.server = server.pid;
                self.threads
                    .extend(server.pid.map(|pid| (pid, FxHashMap::default())));
            }
            Control::Opened(opened) if self.attached => {
                if let Some(pid) = opened.pid {
                    self.processes.insert(opened.connection, pid);
                    self.threads.entry(pid).or_default();
                    self.last.insert(opened.connection, time);
                }
            }
            _ => {}
        }
    }

    /// Notes that a connection has ended. The threads of its process are needed no longer if it was the last one.
    pub(crate) fn closed(&mut self, connection: ConnectionId) {
        self.last.remove(connection);
        if let Some(pid) = self.processes.remove(connection)
            && self.processes.values().all(|other| *other != pid)
        {
            self.threads.remove(&pid);
        }
    }

    /// Processes a context switch of a client's thread.
    pub(crate) fn switch(&mut self, switch: &Switch) {
        if !self.attached {
            return;
        }
        if let Some(threads) = self.threads.get_mut(&switch.pid)
            && (threads.len() < THREADS || threads.contains_key(&switch.tid))
        {
            let thread = threads.entry(switch.tid).or_default();
            if thread.len() == SWITCHES {
                thread.pop_front();
            }
            let sleeps = switch.kind == SwitchKind::Blocked;
            thread.push_back((switch.time.as_nanos(), sleeps));
        }
    }

    /// Sets the time of a record once all switches until [`WAKES_WITHIN`] after it have arrived. Returns the time, which is
    /// at most [`HANDLED_WITHIN`] earlier.
    pub(crate) fn time(&mut self, record: &mut Record) -> Option<u64> {
        let (client, time, way) = message(record)?;
        let of = self.of(client, time.as_nanos(), way);
        set_time(record, of);
        Some(of)
    }

    /// Returns the times, in order, at which the client of a message from the server woke within the message's
    /// millisecond and that no earlier message explains. The message had arrived by one of these times.
    pub(crate) fn wakes_for(&self, record: &Record) -> Vec<u64> {
        let Some((client, time, Direction::ToClient)) = message(record) else {
            return Vec::new();
        };
        let threads = self
            .processes
            .get(client)
            .and_then(|pid| self.threads.get(pid));
        let last = self.last.get(client).copied().unwrap_or(u64::MAX - 1);
        let time = time.as_nanos();
        let from = (time - time % MILLISECOND).max(last + 1);
        let threads = threads.into_iter().flat_map(FxHashMap::values);
        let wakes = threads.flat_map(|thread| {
            let first = thread.partition_point(|(at, _)| *at < from).max(1);
            let until = thread.partition_point(|(at, _)| *at <= time);
            let woke = |now: &usize| thread[now - 1].1 && !thread[*now].1;
            let wakes = (first..until).filter(woke).map(|now| thread[now].0);
            wakes.collect::<Vec<_>>()
        });
        let mut wakes: Vec<u64> = wakes.collect();
        wakes.sort_unstable();
        wakes
    }

    /// Returns false for a request whose client slept from before the millisecond of `time` (nanoseconds) until `time`,
    /// if the server began to wait after the client did. The server waits only when it has handled all requests.
    pub(crate) fn may_precede(&self, record: &Record, time: u64) -> bool {
        let Some((client, _, Direction::ToServer)) = message(record) else {
            return true;
        };
        let threads = self.processes.get(client);
        let threads = threads.and_then(|pid| self.threads.get(pid));
        let threads = threads.into_iter().flat_map(FxHashMap::values);
        let begin = time - time % MILLISECOND;
        let mut known = threads
            .filter_map(|thread| {
                let later = thread.partition_point(|(at, _)| *at <= time);
                later.checked_sub(1).and_then(|now| thread.get(now))
            })
            .peekable();
        let is_late = |since: u64| self.server_slept(begin).is_some_and(|slept| slept <= since);
        known.peek().is_none()
            || known.any(|(since, sleeps)| !sleeps || *since >= begin || is_late(*since))
    }

    /// The last time before `time` at which the server's main thread began to sleep.
    fn server_slept(&self, time: u64) -> Option<u64> {
        let thread = self.threads.get(&self.server?)?.get(&self.server?)?;
        let before = thread.partition_point(|(at, _)| *at < time);
        let mut before = thread.range(..before).rev();
        before.find(|(_, sleeps)| *sleeps).map(|(at, _)| *at)
    }

    /// Sets the time of an earlier message to `time` (nanoseconds), by which the server had handled it. Returns false for
    /// other records.
    pub(crate) fn set_earlier(&mut self, record: &mut Record, time: u64) -> bool {
        let Some((client, ..)) = message(record) else {
            return false;
        };
        set_time(record, time);
        if let Some(last) = self.last.get_mut(client) {
            *last = time.min(*last);
        }
        true
    }

    /// Sets the time of a message back to `time` (nanoseconds). Returns this time.
    pub(crate) fn set_back(&mut self, record: &mut Record, time: u64) -> u64 {
        let client = message(record).map(|(client, ..)| client);
        set_time(record, time);
        if let Some(last) = client.and_then(|client| self.last.get_mut(client)) {
            *last = time.max(*last);
        }
        time
    }

    fn of(&mut self, client: ConnectionId, time: u64, way: Direction) -> u64 {
        let slept = self.slept_before(client, time, way).unwrap_or(time);
        let Some(last) = self.last.get_mut(client) else {
            return time;
        };
        *last = slept.max(*last);
        *last
    }

    /// The time at which the client fell asleep, if it had received the message by then.
    fn slept_before(&self, client: ConnectionId, time: u64, way: Direction) -> Option<u64> {
        let process = self.processes.get(client)?;
        let threads = self.threads.get(process)?;
        // Nothing is known before the first switch of the first thread.
        threads.get(process)?;
        let (mut slept, mut wakes) = (0, u64::MAX);
        for thread in threads.values() {
            let later = thread.partition_point(|(at, _)| *at <= time);
            let now = later.checked_sub(1).and_then(|now| thread.get(now));
            match now {
                Some((since, true)) => slept = slept.max(*since),
                Some((_, false)) => return None,
                None if thread.len() == SWITCHES => return None,
                None => {}
            }
            wakes = wakes.min(thread.get(later).map_or(u64::MAX, |(at, _)| *at));
        }
        let is_woken = wakes <= time.saturating_add(WAKES_WITHIN);
        let (within, is_late) = match way {
            Direction::ToServer => (HANDLED_WITHIN, true),
            Direction::ToClient => (MILLISECOND, !is_woken),
        };
        (is_late && slept > 0 && slept.saturating_add(within) >= time).then_some(slept)
    }
}

/// The client, the time and the direction of a record whose time RECORD reports.
fn message(record: &Record) -> Option<(ConnectionId, Timestamp, Direction)> {
    match record {
        Record::Block(block) => Some((block.connection, block.time, block.direction)),
        // The first message follows.
        Record::Control(time, Control::Joined(joined)) => {
            Some((joined.connection, *time, Direction::ToServer))
        }
        _ => None,
    }
}

/// Sets the time of a record whose time RECORD reports, in nanoseconds.
pub(crate) fn set_time(record: &mut Record, nanos: u64) {
    match record {
        Record::Block(block) => block.time = Timestamp::from_nanos(nanos),
        Record::Control(time, Control::Joined(_)) => *time = Timestamp::from_nanos(nanos),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::Opened;

    use super::*;

    #[test]
    fn late_reports_are_dated_before_the_client_blocks() {
        let mut times = ReportTimes::default();
        times.control(0, &Control::Attached {});
        let (client, pid) = (ConnectionId(3), 50);
        let opened = Control::Opened(Opened {
            connection: client,
            transport: "unknown".to_owned(),
            pid: Some(pid),
            name: None,
            command: Vec::new(),
            started_ns: None,
        });
        times.control(0, &opened);
        for (micros, kind) in [
            (10_100, SwitchKind::In),
            (10_400, SwitchKind::Blocked),
            (20_600, SwitchKind::In),
            (20_700, SwitchKind::Blocked),
        ] {
            times.switch(&Switch {
                time: Timestamp::from_nanos(micros * 1000),
                pid,
                tid: pid,
                cpu: 0,
                kind,
            });
        }
        let mut of = |micros: u64, way| times.of(client, micros * 1000, way) / 1000;
        use Direction::{ToClient, ToServer};
        // While it runs.
        assert_eq!(of(10_200, ToServer), 10_200);
        // The client sent this before it slept. It had read the reply, because it stayed asleep.
        assert_eq!(of(10_999, ToServer), 10_400);
        assert_eq!(of(10_999, ToClient), 10_400);
        // The server handled this request late. It had not sent this reply before the client slept.
        assert_eq!(of(13_000, ToServer), 10_400);
        assert_eq!(of(13_000, ToClient), 13_000);
        // This message wakes the client.
        assert_eq!(of(20_000, ToClient), 20_000);
        // Times do not decrease. Another client's times are independent.
        assert_eq!(of(19_000, ToClient), 20_000);
        assert_eq!(times.of(ConnectionId(4), 9, ToClient), 9);
        // Nothing is kept for a disconnected client.
        times.closed(client);
        assert!(times.threads.is_empty() && times.last.values().next().is_none());
    }
}
