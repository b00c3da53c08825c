//! What a timeline is made of.

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

/// Something in the timeline.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::export) enum Entry {
    /// A client is known from now on.
    Client(ConnectionId, String),
    /// A request without a reply, or one whose reply never came.
    Request(SentRequest, ConnectionId),
    /// A request and its answer.
    RoundTrip {
        client: ConnectionId,
        request: SentRequest,
        /// Which of those that the client waited for at the same time, from 0.
        lane: usize,
        /// When the answer had been read.
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
        /// Its number, where the client sent a request after it and before the next one.
        led_to: Option<u64>,
    },
    /// A mark of the user, with its text.
    Mark(Timestamp, String),
    /// The server ran.
    Run(Timestamp, Timestamp),
    /// A count has another value.
    Count(Counted, Timestamp, u64),
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::export) struct SentRequest {
    pub(in crate::export) at: Timestamp,
    pub(in crate::export) name: Symbol,
    pub(in crate::export) sequence: u64,
    pub(in crate::export) bytes: u64,
    /// A number of its own.
    pub(in crate::export) number: u64,
    /// The number of the event that it is the first request after.
    pub(in crate::export) responds_to: Option<u64>,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum Counted {
    /// Runs of the server so far.
    Wakeups,
    /// Something of a client.
    Client(ConnectionId, Of),
}

/// What is counted of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum Of {
    /// Bytes to the server so far.
    Sent,
    /// Bytes from the server so far.
    Received,
    /// Resources that it holds.
    Resources,
}

/// What a mark is called in a timeline.
pub(in crate::export) fn named_mark(text: &str) -> &str {
    match text {
        "" => "mark",
        text => text,
    }
}
