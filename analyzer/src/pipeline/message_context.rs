//! A message with its context, as the pass emits it.

use x11prof_protocol::{Extensions, Message};
use x11prof_session::{Operation, Session, Target};
use x11prof_trace::{ConnectionId, Timestamp};

use crate::round_trips::CompletedRequest;

/// A message in its place.
#[derive(Debug, Clone, Copy)]
pub struct MessageContext<'a> {
    /// The connection.
    pub connection: ConnectionId,
    /// The time at which the message's last byte was read off the socket.
    pub time: Timestamp,
    /// The time at which the server received or sent the last byte. It differs from `time` only on an emulated link.
    pub at_server: Timestamp,
    /// The message.
    pub message: &'a Message<'a>,
    /// The number of equal consecutive requests that the message represents; the message is the first of them. 1 unless
    /// the pass coalesces requests.
    pub times: u64,
    /// A request as an operation in the session state; `None` for other messages.
    pub operation: Option<&'a Operation>,
    /// The target of a request; `None` if unknown, and for other messages.
    pub target: Option<Target>,
    /// The number of the stack on which a request was made, if the trace has it.
    pub stack: Option<u32>,
    /// True for a request whose server time follows as [`crate::Observation::HandledRequest`].
    pub(crate) timed: bool,
    /// The request that a reply or an error completes, and whether its client waited.
    pub(crate) answer: Option<&'a CompletedRequest<'a>>,
    /// The client is starting.
    pub(crate) starting: bool,
    /// The extensions known so far, to decode with.
    pub extensions: &'a Extensions,
    /// The state of the display after the message.
    pub session: &'a Session,
}
