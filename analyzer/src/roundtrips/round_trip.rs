//! A round trip, and sums of round trips with their wait time.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

/// Round trips, and their total wait in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) count: u64,
    pub(crate) nanos: u64,
}

impl Waited {
    pub(super) fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.nanos = self.nanos.saturating_add(nanos);
    }
}

/// The request, and true if it only synchronised.
pub(super) type Kind = (Symbol, bool);

/// A round trip.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundTrip {
    pub(super) client: ConnectionId,
    pub(super) kind: Kind,
    pub(super) starting: bool,
    pub(super) requested_at: u64,
    pub(super) waited: u64,
}
