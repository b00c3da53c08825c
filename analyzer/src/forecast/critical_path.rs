//! The critical path of a forecast. It leads from the last event backwards: each event waited for the one before it.

use std::collections::BTreeMap;

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

/// The time on the critical path in nanoseconds and the number of occurrences, by kind, by the name of the request or
/// event, and by the client that waited.
pub(super) type CriticalPath = BTreeMap<(PathKind, Symbol, ConnectionId), (u64, u64)>;

struct Walk<'a> {
    recorded: &'a Recorded,
    times: &'a Simulated,
    link: ForecastLink<'a>,
    path: CriticalPath,
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
    };
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

    /// Adds the time in which the bytes of a write are in flight or handled.
    fn add_write(&mut self, kind: PathKind, id: Id, nanos: u64) {
        let write = &self.recorded.writes[id];
        let name = write.name.unwrap_or_else(|| Symbol::new("(setup)"));
        self.add((kind, name, write.client), nanos, 1);
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
        let held = before.returned.saturating_sub(before.start);
        self.add_write(PathKind::BytesToServer, previous, held);
        let own = start.saturating_sub(before.returned);
        self.add((PathKind::Client, none, write.client), own, 0);
        Some(Moment::Write(previous))
    }

    /// Adds the time of a read, and returns the write that caused it: the write of the request that the server replied
    /// to.
    fn read(&mut self, id: Id) -> Option<Moment> {
        let (read, times) = (&self.recorded.reads[id], self.times.reads[id]);
        let (kind, name) = match read.awaited {
            Awaited::Reply { request, .. } => (PathKind::RoundTrip, request),
            Awaited::Event(event) => (PathKind::Event, event),
            Awaited::Setup => (PathKind::Connection, Symbol::new("(setup)")),
            Awaited::Nothing | Awaited::SharedEvent => {
                (PathKind::Event, Symbol::new("(other events)"))
            }
        };
        let latency = self.link.map_or(0, |link| link.latency());
        let back = times.delivered.saturating_sub(times.sent);
        let transmitted = back.saturating_sub(latency);
        self.add((PathKind::BytesBack, name, read.client), transmitted, 1);
        let Some(cause) = read.cause else {
            self.add((kind, name, read.client), latency, 1);
            return None;
        };
        let write = self.times.writes[cause];
        let handled = times.sent.saturating_sub(write.arrived);
        self.add_write(PathKind::Server, cause, handled);
        let mut there = latency;
        if self.recorded.writes[cause].connects {
            there = there.saturating_add(self.link.map_or(0, |link| link.round_trip_ns));
        }
        let both = latency.saturating_add(there);
        self.add((kind, name, read.client), both, 1);
        // The earlier bytes on the line, if the bytes had to wait for them.
        let mut id = cause;
        let mut sent = write.arrived.saturating_sub(there);
        loop {
            let write = self.times.writes[id];
            let took = sent.saturating_sub(write.begin);
            self.add_write(PathKind::BytesToServer, id, took);
            let Some(behind) = write.behind else {
                return Some(Moment::Write(id));
            };
            (id, sent) = (behind, write.begin);
        }
    }
}
