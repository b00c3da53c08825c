//! A round trip, and sums over round trips with their wait times.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

/// The number of round trips, and their total wait in nanoseconds.
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

/// The name of the request, and true if the client only synchronised.
pub(super) type Kind = (Symbol, bool);

/// A round trip of a client. Times are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundTrip {
    pub(super) client: ConnectionId,
    pub(super) kind: Kind,
    pub(super) starting: bool,
    pub(super) requested_at: u64,
    pub(super) waited: u64,
}
