//! The critical path of a forecast. It leads from the last event backwards: each event waited for the one before it.

use std::collections::{BTreeMap, BTreeSet};

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::collect::{Awaited, Id, Moment, Recorded};
use super::simulate::{ForecastLink, Simulated};

/// A kind of time on the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathKind {
    /// A client works, or pauses without waiting for bytes.
    Client,
    /// The link's latency for a reply that a client waits for.
    RoundTrip,
    /// The link's latency for an event that a client waits for.
    Event,
    /// The link's latency for connecting.
    Connection,
    /// The link transmits the bytes of requests.
    BytesToServer,
    /// The link transmits the bytes of replies and events.
    BytesBack,
    /// The server handles requests.
    Server,
}

/// Maximum number of queued messages, for each write and read of the recording, that the search for the critical path
/// looks at. Many messages may wait behind one queue. Beyond the limit, a queue's time belongs to its last message.
const LOOKS: usize = 64;

/// The time on the critical path in nanoseconds and the number of occurrences, by kind, by the name of the request or
/// event, and by the client that waited.
pub(super) type CriticalPath = BTreeMap<(PathKind, Symbol, ConnectionId), (u64, u64)>;

struct Walk<'a> {
    recorded: &'a Recorded,
    times: &'a Simulated,
    link: ForecastLink<'a>,
    path: CriticalPath,
    /// The last parts of the requests and replies whose bytes count: one in several parts counts once.
    counted: BTreeSet<Moment>,
    /// The number of queued messages that the walk may still look at.
    left: usize,
}

/// The critical path of a simulation, from its end `end` back to the first write or read for which `counts` is false.
pub(super) fn critical_path(
    recorded: &Recorded,
    times: &Simulated,
    link: ForecastLink<'_>,
    end: Moment,
    counts: impl Fn(Moment) -> bool,
) -> CriticalPath {
    let mut walk = Walk {
        recorded,
        times,
        link,
        path: CriticalPath::new(),
        counted: BTreeSet::new(),
        left: LOOKS * (recorded.writes.len() + recorded.reads.len()),
    };
    if let Moment::Write(id) = end
        && recorded.writes[id].bytes > 0
    {
        let write = times.writes[id];
        let latency = link.map_or(0, |link| link.latency());
        walk.add(walk.write_key(PathKind::BytesToServer, id), latency, 1);
        walk.add_line(end, write.start, write.arrived.saturating_sub(latency));
    }
    let mut at = Some(end);
    while let Some(moment) = at.filter(|moment| counts(*moment)) {
        at = match moment {
            Moment::Write(id) => walk.write(id),
            Moment::Read(id) => walk.read(id),
        };
    }
    walk.path
}

impl Walk<'_> {
    fn add(&mut self, key: (PathKind, Symbol, ConnectionId), nanos: u64, count: u64) {
        if nanos > 0 {
            let sum = self.path.entry(key).or_default();
            *sum = (sum.0.saturating_add(nanos), sum.1 + count);
        }
    }

    fn write_key(&self, kind: PathKind, id: Id) -> (PathKind, Symbol, ConnectionId) {
        let write = &self.recorded.writes[id];
        let name = write.name.unwrap_or_else(|| Symbol::new("(setup)"));
        (kind, name, write.client)
    }

    fn read_key(&self, bytes: bool, id: Id) -> (PathKind, Symbol, ConnectionId) {
        let read = &self.recorded.reads[id];
        let (kind, name) = match read.awaited {
            Awaited::Reply { request, .. } => (PathKind::RoundTrip, request),
            Awaited::Event(event) => (PathKind::Event, event),
            Awaited::Setup => (PathKind::Connection, Symbol::new("(setup)")),
            Awaited::Nothing | Awaited::SharedEvent => {
                (PathKind::Event, Symbol::new("(other events)"))
            }
        };
        match bytes {
            true => (PathKind::BytesBack, read.name.unwrap_or(name), read.client),
            false => (kind, name, read.client),
        }
    }

    /// Adds the time from `from` to `until` (nanoseconds) in which the bytes of `moment` wait for the line or are
    /// transmitted. The time belongs to the bytes that occupy the line: a message that waits has no part in it.
    fn add_line(&mut self, moment: Moment, from: u64, mut until: u64) {
        let mut at = Some(moment);
        while let Some(moment) = at.filter(|_| until > from) {
            let (key, begin, whole);
            (key, begin, whole, at) = match moment {
                Moment::Write(id) => {
                    let times = self.times.writes[id];
                    let key = self.write_key(PathKind::BytesToServer, id);
                    let whole = Moment::Write(self.recorded.writes[id].whole);
                    (key, times.begin, whole, times.behind.map(Moment::Write))
                }
                Moment::Read(id) => {
                    let times = self.times.reads[id];
                    let key = self.read_key(true, id);
                    let whole = Moment::Read(self.recorded.reads[id].whole);
                    (key, times.begin, whole, times.behind.map(Moment::Read))
                }
            };
            self.left = self.left.saturating_sub(1);
            at = at.filter(|_| self.left > 0);
            let begin = at.map_or(from, |_| begin.clamp(from, until));
            let is_new = until > begin && self.counted.insert(whole);
            self.add(key, until - begin, u64::from(is_new));
            until = begin;
        }
    }

    /// Adds the time of a write, and returns the write or read that it waited for.
    fn write(&mut self, id: Id) -> Option<Moment> {
        let (start, none) = (self.times.writes[id].start, Symbol::new(""));
        let (after, own) = self.times.after[id];
        let write = &self.recorded.writes[id];
        if let Some(moment) = after
            && (write.previous.map(Moment::Write) != after)
            && self.times.time(moment).saturating_add(own) == start
        {
            self.add((PathKind::Client, none, write.client), own, 0);
            return Some(moment);
        }
        let previous = write.previous?;
        let before = self.times.writes[previous];
        self.add_line(Moment::Write(previous), before.start, before.returned);
        let own = start.saturating_sub(before.returned);
        self.add((PathKind::Client, none, write.client), own, 0);
        Some(Moment::Write(previous))
    }

    /// Adds the time of a read, and returns the write that caused it: the write of the request that the server replied
    /// to.
    fn read(&mut self, id: Id) -> Option<Moment> {
        let (read, times) = (&self.recorded.reads[id], self.times.reads[id]);
        let latency = self.link.map_or(0, |link| link.latency());
        let transmitted = times.delivered.saturating_sub(latency);
        self.add_line(Moment::Read(id), times.sent, transmitted);
        let key = self.read_key(false, id);
        let Some(cause) = read.cause else {
            self.add(key, latency, 1);
            return None;
        };
        let write = self.times.writes[cause];
        let handled = times.sent.saturating_sub(write.arrived);
        self.add(self.write_key(PathKind::Server, cause), handled, 1);
        let mut there = latency;
        if self.recorded.writes[cause].connects {
            there = there.saturating_add(self.link.map_or(0, |link| link.round_trip_ns));
        }
        self.add(key, latency.saturating_add(there), 1);
        let transmitted = write.arrived.saturating_sub(there);
        self.add_line(Moment::Write(cause), write.start, transmitted);
        Some(Moment::Write(cause))
    }
}
