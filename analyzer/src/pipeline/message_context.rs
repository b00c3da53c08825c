//! A message of a connection with its context, as a pass over the recording emits it.

use x11prof_protocol::{Extensions, Message};
use x11prof_session::{Operation, Session, Target};
use x11prof_trace::{ConnectionId, Timestamp};

use crate::round_trips::CompletedRequest;

/// A message with its connection, its times, and the state of the session.
#[derive(Debug, Clone, Copy)]
pub struct MessageContext<'a> {
    /// The connection of the message.
    pub connection: ConnectionId,
    /// The time at which the message's last byte was read from the socket.
    pub time: Timestamp,
    /// The time at which the server received or sent the message's last byte. It differs from `time` only on an
    /// emulated or measured link.
    pub at_server: Timestamp,
    /// The decoded message; the first of several coalesced requests.
    pub message: &'a Message<'a>,
    /// The number of equal consecutive requests that this message represents; 1 unless the pass coalesces requests.
    pub times: u64,
    /// The operation of a request; `None` for other messages.
    pub operation: Option<&'a Operation>,
    /// The object that a request acts on; `None` if unknown, and for other messages.
    pub target: Option<Target>,
    /// The number of the call stack that made the request; `None` if the trace does not have it.
    pub stack: Option<u32>,
    /// True for a request whose server time follows as [`crate::Observation::HandledRequest`].
    pub(crate) timed: bool,
    /// For a reply or an error, the request that it completes, and whether the client waited for it; otherwise `None`.
    pub(crate) answer: Option<&'a CompletedRequest<'a>>,
    /// True if the client is starting up.
    pub(crate) starting: bool,
    /// The extensions that the display has, as far as known; needed to decode messages.
    pub extensions: &'a Extensions,
    /// The state of the display after the message.
    pub session: &'a Session,
}
