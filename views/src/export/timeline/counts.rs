//! Counters over time: bytes, wakeups of the server, and held resources.

use std::collections::HashMap;

use x11prof_session::{ResourceChange, Session};
use x11prof_trace::{ConnectionId, Timestamp};

use super::entry::{ClientCounter, Counter, TimelineEntry};

/// The minimum interval between two written values of a counter, in nanoseconds. A finer resolution would not be
/// visible on a screen.
const GRAIN: u64 = 1_000_000;

#[derive(Debug, Default)]
struct Count {
    value: u64,
    /// The time at which the count last changed.
    at: Timestamp,
    /// The value that was written last, and its time.
    written: Option<(u64, Timestamp)>,
}

/// The current values of all counters of a trace.
#[derive(Debug, Default)]
pub(super) struct Counts(HashMap<Counter, Count>);

impl Counts {
    pub(super) fn add(
        &mut self,
        counted: Counter,
        at: Timestamp,
        change: i64,
        on: &mut dyn FnMut(TimelineEntry),
    ) {
        let count = self.0.entry(counted).or_default();
        count.value = count.value.saturating_add_signed(change);
        count.at = count.at.max(at);
        let due = count
            .written
            .is_none_or(|(_, last)| count.at.as_nanos() >= last.as_nanos().saturating_add(GRAIN));
        if due {
            count.write(counted, on);
        }
    }

    /// Updates the counters of resources after a message at the time `at`, and passes due values to `on`.
    pub(super) fn resources(
        &mut self,
        at: Timestamp,
        session: &Session,
        on: &mut dyn FnMut(TimelineEntry),
    ) {
        for change in session.resource_changes() {
            let (resource, change) = match change {
                ResourceChange::Created(resource) => (resource, 1),
                ResourceChange::Freed(resource)
                | ResourceChange::Failed(resource)
                | ResourceChange::Closed(resource) => (resource, -1),
                ResourceChange::Resized { .. } => continue,
            };
            let client = ConnectionId(resource.client.0);
            self.add(
                Counter::Client(client, ClientCounter::Resources),
                at,
                change,
                on,
            );
        }
    }

    /// Passes the last value of each counter to `on`.
    pub(super) fn end(&mut self, on: &mut dyn FnMut(TimelineEntry)) {
        self.gone(|_| true, on);
        let wakeups = self.0.drain().collect();
        write_last(wakeups, on);
    }

    /// Passes the last value of each counter of the clients for which `gone` returns true to `on`, and removes these
    /// counters.
    pub(super) fn gone(
        &mut self,
        gone: impl Fn(ConnectionId) -> bool,
        on: &mut dyn FnMut(TimelineEntry),
    ) {
        let of_gone = |counted: &Counter, _: &mut Count| match counted {
            Counter::Client(client, _) => gone(*client),
            Counter::Wakeups => false,
        };
        let last = self.0.extract_if(of_gone).collect();
        write_last(last, on);
    }
}

fn write_last(mut last: Vec<(Counter, Count)>, on: &mut dyn FnMut(TimelineEntry)) {
    last.sort_by_key(|(counted, _)| *counted);
    for (counted, mut count) in last {
        if count.written.is_none_or(|(value, _)| value != count.value) {
            count.write(counted, on);
        }
    }
}

impl Count {
    fn write(&mut self, counted: Counter, on: &mut dyn FnMut(TimelineEntry)) {
        self.written = Some((self.value, self.at));
        on(TimelineEntry::Count(counted, self.at, self.value));
    }
}
