//! A step of a chain of waits.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::coalesce::TimedStep;
use crate::episodes::latency_component::LatencyComponent;

/// A step of a chain of waits: an interval of one client's time with one owner. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathStep {
    pub(crate) client: ConnectionId,
    pub(crate) owner: LatencyComponent,
    /// The request whose reply the client waited for, or that the server reported late; `None` if there is none.
    pub(crate) request: Option<Symbol>,
    /// The request of another client that caused this client to act; `None` if there is none.
    pub(crate) asked: Option<Symbol>,
    /// The client that had grabbed the server, or whose event ended the wait; `None` if there is none.
    pub(crate) by: Option<ConnectionId>,
    pub(crate) start: u64,
    pub(crate) nanos: u64,
}

impl PathStep {
    /// Creates a step in which requests of `client` are in flight, from `start` for `nanos` nanoseconds.
    pub(crate) fn network(client: ConnectionId, start: u64, nanos: u64) -> PathStep {
        PathStep {
            client,
            owner: LatencyComponent::Network,
            request: None,
            asked: None,
            by: None,
            start,
            nanos,
        }
    }

    /// Adds the time of another step to this one.
    pub(super) fn join(&mut self, other: &PathStep) {
        self.start = self.start.min(other.start);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }
}

impl TimedStep for PathStep {
    /// True for the same client with the same owner and reason.
    fn is_like(&self, other: &PathStep) -> bool {
        let key = |of: &PathStep| (of.client, of.owner, of.request, of.asked, of.by);
        key(self) == key(other)
    }

    fn is_akin(&self, other: &PathStep) -> bool {
        (self.client, self.owner) == (other.client, other.owner)
    }

    fn start(&self) -> u64 {
        self.start
    }

    fn nanos(&self) -> u64 {
        self.nanos
    }

    fn lies(&mut self, start: u64, nanos: u64) {
        (self.start, self.nanos) = (start, nanos);
    }
}
