//! The entries of a timeline.

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

/// An entry of a client's timeline.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::export) enum TimelineEntry {
    /// A new client, with its name.
    Client(ConnectionId, String),
    /// A request of a client without a reply, or whose reply never arrived.
    Request(SentRequest, ConnectionId),
    /// A request and the reply to it.
    RoundTrip {
        client: ConnectionId,
        request: SentRequest,
        /// The number of the lane, from 0. Round trips at the same time are in different lanes.
        lane: usize,
        /// The time at which the recorder had read the reply.
        answered: Timestamp,
        /// The length of the reply in bytes.
        received: u64,
        /// The name of the error; `None` if the request got a reply.
        error: Option<Symbol>,
    },
    /// An event, or an error for a request that has no reply.
    Event {
        client: ConnectionId,
        at: Timestamp,
        name: Symbol,
        bytes: u64,
        /// The number of the event, if the client sent a request after this event and before it received the next
        /// event; otherwise `None`.
        led_to: Option<u64>,
    },
    /// A mark of the user, with its time and text.
    Mark(Timestamp, String),
    /// A period in which the server ran, from the first to the second time.
    Run(Timestamp, Timestamp),
    /// A new value of a counter, with its time.
    Count(Counter, Timestamp, u64),
}

/// A request that a client sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::export) struct SentRequest {
    pub(in crate::export) at: Timestamp,
    pub(in crate::export) name: Symbol,
    pub(in crate::export) sequence: u64,
    pub(in crate::export) bytes: u64,
    /// The number of the stack that sent the request; `None` if unknown.
    pub(in crate::export) stack: Option<u32>,
    /// A number that is unique for this request.
    pub(in crate::export) number: u64,
    /// The number of the event after which this is the client's first request; `None` if the client sent another
    /// request since its last event.
    pub(in crate::export) responds_to: Option<u64>,
}

/// A counter of the server or of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum Counter {
    /// The number of times that the server has woken up.
    Wakeups,
    /// A counter of one client.
    Client(ConnectionId, ClientCounter),
}

/// The quantity that a client's counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum ClientCounter {
    /// The number of bytes that the client has sent.
    Sent,
    /// The number of bytes that the client has received.
    Received,
    /// The number of resources that the client holds.
    Resources,
}

/// The name that is printed for a mark of the user with this text: the text, or `mark` if the text is empty.
pub(in crate::export) fn named_mark(text: &str) -> &str {
    match text {
        "" => "mark",
        text => text,
    }
}
