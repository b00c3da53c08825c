//! The entries of a timeline.

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

/// An entry of the timeline.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::export) enum TimelineEntry {
    /// A client is known from now on.
    Client(ConnectionId, String),
    /// A request without a reply, or one whose reply never came.
    Request(SentRequest, ConnectionId),
    /// A request and its answer.
    RoundTrip {
        client: ConnectionId,
        request: SentRequest,
        /// The row, from 0: round trips at the same time are in different rows.
        lane: usize,
        /// The time at which the answer had been read.
        answered: Timestamp,
        /// Bytes of the answer.
        received: u64,
        /// The error, where it is one.
        error: Option<Symbol>,
    },
    /// An event, or an error that answers a request without a reply.
    Event {
        client: ConnectionId,
        at: Timestamp,
        name: Symbol,
        bytes: u64,
        /// The event's id, if a request followed before the next event.
        led_to: Option<u64>,
    },
    /// A mark of the user, with its text.
    Mark(Timestamp, String),
    /// The server ran.
    Run(Timestamp, Timestamp),
    /// A count has another value.
    Count(Counter, Timestamp, u64),
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::export) struct SentRequest {
    pub(in crate::export) at: Timestamp,
    pub(in crate::export) name: Symbol,
    pub(in crate::export) sequence: u64,
    pub(in crate::export) bytes: u64,
    /// The stack on which it was made.
    pub(in crate::export) stack: Option<u32>,
    /// A unique number.
    pub(in crate::export) number: u64,
    /// The number of the event that it is the first request after.
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
