//! The observations that a pass emits to analyses.

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_session::Session;
use x11prof_trace::{Block, ConnectionId, Control, HandlerTime, Timestamp};

use crate::pipeline::device_grabs::DeviceGrab;
use crate::pipeline::message_context::MessageContext;
use crate::pipeline::open_requests::OpenRequestChange;
use crate::pipeline::start_up::StartUpReport;
use crate::threads::thread_states::Step;

/// A request that the server has handled, or several equal consecutive ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandledRequest {
    /// The client.
    pub connection: ConnectionId,
    /// The name of the request.
    pub request: Symbol,
    /// The sequence number of the message. Further equal requests follow if the message represents more than one.
    pub sequence: SequenceNumber,
    /// The number of requests that were handled.
    pub count: u64,
    /// The time at which the client sent the request.
    pub sent: Timestamp,
    /// The time at which the server's handler began.
    pub start: Timestamp,
    /// CPU time of the handlers, in nanoseconds.
    pub nanos: f64,
}

/// A run of the recorded server's first thread, which serves the clients: from a wake-up until its next wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerRun {
    /// The beginning.
    pub from: Timestamp,
    /// The end.
    pub to: Timestamp,
    /// Nanoseconds on a processor.
    pub nanos: u64,
}

/// An observation about the trace. Analyses receive observations in the order of time.
#[derive(Debug, Clone, Copy)]
pub enum Observation<'a> {
    /// Bytes were read from a socket; the messages that end in them follow.
    BlockStart(&'a Block),
    /// A message ended in the current block.
    Message(MessageContext<'a>),
    /// The end of a block: no further message ends in this block.
    BlockEnd(&'a Block),
    /// A record that is not part of the protocol stream.
    Control(Timestamp, &'a Control),
    /// The resources of a connection that ended were freed.
    Closed {
        /// The time of the connection's end.
        time: Timestamp,
        /// The state of the display after the end of the connection.
        session: &'a Session,
    },
    /// Changes of threads' states since the previous message.
    Switches(&'a [Step]),
    /// Times of the server's handlers since the previous message.
    Handled(&'a [HandlerTime]),
    /// The server time of a request, in a recording whose server reports handler times.
    HandledRequest(&'a HandledRequest),
    /// The server handled requests that are not in the trace: the beginning, and the CPU time in nanoseconds.
    HandledUnrecorded(Timestamp, f64),
    /// A run of the server ended, according to the context switches.
    ServerRan(ServerRun),
    /// The server grab changed: the client that has grabbed the server now, if any.
    Grabbed(Timestamp, Option<ConnectionId>),
    /// A device grab changed, or a grab was refused.
    DeviceGrab {
        /// The change.
        grab: DeviceGrab,
        /// The state of the display after the message; `None` at the end of a connection.
        session: Option<&'a Session>,
    },
    /// A request to another client was sent, has reached that client, or was replied to.
    OpenRequest(OpenRequestChange),
    /// The start-up of a client ended.
    Started(&'a StartUpReport),
    /// Bytes of a connection that cannot be decoded: their beginning is not in the trace, or there are too many
    /// connections.
    Lost(&'a Block),
}
