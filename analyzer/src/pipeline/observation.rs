//! The observations that a pass emits to the analyses.

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
    /// The client that sent the request.
    pub connection: ConnectionId,
    /// The name of the handled request.
    pub request: Symbol,
    /// The sequence number of the request, or of the first of several.
    pub sequence: SequenceNumber,
    /// The number of requests that the server handled.
    pub count: u64,
    /// The time at which the client sent the request.
    pub sent: Timestamp,
    /// The time at which the server's handler of the first request began.
    pub start: Timestamp,
    /// The CPU time of the handlers, in nanoseconds.
    pub nanos: f64,
}

/// A run of the first thread of the recorded server, which serves the clients: from a wakeup to its next wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerRun {
    /// The time at which the server woke up.
    pub from: Timestamp,
    /// The time at which the server waited again.
    pub to: Timestamp,
    /// Nanoseconds that the server ran on a processor.
    pub nanos: u64,
}

/// A fact about the trace. Analyses receive observations in time order.
#[derive(Debug, Clone, Copy)]
pub enum Observation<'a> {
    /// Bytes were read from a socket; the messages that end in them follow.
    BlockStart(&'a Block),
    /// A message in the current block; its last byte is in this block.
    Message(MessageContext<'a>),
    /// The end of a block: no further message ends in this block. The value is true if the client has sent a part of a
    /// further request in it.
    BlockEnd(&'a Block, bool),
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
    /// The times of the server's handlers since the previous message.
    Handled(&'a [HandlerTime]),
    /// The server handled a request. Only recordings whose server reports handler times have these.
    HandledRequest(&'a HandledRequest),
    /// The server handled requests that are not in the trace: the start, and the CPU time in nanoseconds.
    HandledUnrecorded(Timestamp, f64),
    /// A run of the server ended, according to the context switches.
    ServerRan(ServerRun),
    /// The server grab changed: the time, and the client that has now grabbed the server, if any.
    Grabbed(Timestamp, Option<ConnectionId>),
    /// A device grab changed, or a grab was refused.
    DeviceGrab {
        /// The change of the grab.
        grab: DeviceGrab,
        /// The state of the display after the message; `None` at the end of a connection.
        session: Option<&'a Session>,
    },
    /// An open request was sent, has reached the other client, or was replied to.
    OpenRequest(OpenRequestChange),
    /// The start-up of a client ended, with its report.
    Started(&'a StartUpReport),
    /// Bytes of a connection that cannot be decoded: their beginning is not in the trace, or there are too many
    /// connections.
    Lost(&'a Block),
}
