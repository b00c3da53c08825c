//! The entries of a timeline.

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::export) enum TimelineEntry {
    /// A new client.
    Client(ConnectionId, String),
    /// A request without a reply, or whose reply never arrived.
    Request(SentRequest, ConnectionId),
    /// A request and its reply.
    RoundTrip {
        client: ConnectionId,
        request: SentRequest,
        /// The row, from 0: round trips at the same time are in different rows.
        lane: usize,
        /// The time at which the reply had been read.
        answered: Timestamp,
        /// The length of the reply in bytes.
        received: u64,
        /// The error; `None` if the request got a reply.
        error: Option<Symbol>,
    },
    /// An event, or an error for a request without a reply.
    Event {
        client: ConnectionId,
        at: Timestamp,
        name: Symbol,
        bytes: u64,
        /// The event's id, if a request followed before the next event.
        led_to: Option<u64>,
    },
    /// A user mark with its text.
    Mark(Timestamp, String),
    /// A run of the server.
    Run(Timestamp, Timestamp),
    /// A new value of a counter.
    Count(Counter, Timestamp, u64),
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::export) struct SentRequest {
    pub(in crate::export) at: Timestamp,
    pub(in crate::export) name: Symbol,
    pub(in crate::export) sequence: u64,
    pub(in crate::export) bytes: u64,
    /// The stack that sent the request.
    pub(in crate::export) stack: Option<u32>,
    /// A unique number.
    pub(in crate::export) number: u64,
    /// The number of the event after which it is the first request.
    pub(in crate::export) responds_to: Option<u64>,
}

/// A counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum Counter {
    /// Runs of the server so far.
    Wakeups,
    /// A count of one client.
    Client(ConnectionId, ClientCounter),
}

/// A counter of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum ClientCounter {
    /// Bytes to the server so far.
    Sent,
    /// Bytes from the server so far.
    Received,
    /// Resources that it holds.
    Resources,
}

/// The printed name of a mark.
pub(in crate::export) fn named_mark(text: &str) -> &str {
    match text {
        "" => "mark",
        text => text,
    }
}
