//! A message as a pass hands it on, with what is known of it.

use x11prof_protocol::{Extensions, Message};
use x11prof_session::{Change, Operation, Session, Target};
use x11prof_trace::{ConnectionId, Timestamp};

use crate::round_trips::Answer;

/// A message in its place.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The connection.
    pub connection: ConnectionId,
    /// The time at which the message's last byte was read off the socket.
    pub time: Timestamp,
    /// The time at which the server got the last byte, or sent the last byte: the same but for an emulated link.
    pub at_server: Timestamp,
    /// The message.
    pub message: &'a Message<'a>,
    /// The number of equal requests in a row that the message stands for: it is the first. 1 unless the pass takes
    /// requests together.
    pub times: u64,
    /// A request as an operation in the state of the session; `None` for other messages.
    pub operation: Option<&'a Operation>,
    /// The target of a request; `None` where it is not known, and for other messages.
    pub target: Option<Target>,
    /// The number of the stack on which a request was made, where the trace tells.
    pub stack: Option<u32>,
    /// A request whose server time comes as [`crate::Observation::HandledRequest`].
    pub(crate) timed: bool,
    /// The question that a reply or an error answers, and whether its client waited.
    pub(crate) answer: Option<&'a Answer<'a>>,
    /// The client is starting.
    pub(crate) starting: bool,
    /// The change of the screen by a request, where the pass follows changes and this one is known.
    pub changed: Option<&'a Change>,
    /// The extensions known so far, to decode with.
    pub extensions: &'a Extensions,
    /// The state of the display after the message.
    pub session: &'a Session,
}
