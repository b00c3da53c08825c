//! The definition of a stall.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

/// The way in which a client occupied the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldKind {
    /// The server did the client's work.
    Busy,
    /// The client had grabbed the server.
    Grabbed,
}

/// A client that waited during another client's stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) client: ConnectionId,
    pub(crate) requests: u64,
    pub(crate) nanos: u64,
}

/// A stall. Times are in nanoseconds of the trace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stall {
    pub(crate) how: HoldKind,
    pub(crate) client: ConnectionId,
    pub(crate) request: Option<Symbol>,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The nanoseconds that the server ran in the stall; `None` without context switches.
    pub(crate) ran: Option<u64>,
    /// The nanoseconds of the server's handlers for the requests of `client` in the stall; `None` if the server reports
    /// no handler times.
    pub(crate) handled: Option<u64>,
    pub(crate) waited: Vec<Waited>,
}

impl Stall {
    pub(crate) fn held(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}
