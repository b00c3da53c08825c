//! The facts of a trace as a pass hands them to analyses.

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_session::Session;
use x11prof_trace::{Block, ConnectionId, Control, HandlerTime, Timestamp};

use crate::pipeline::device_grabs::DeviceGrab;
use crate::pipeline::open_requests::OpenRequestChange;
use crate::pipeline::seen::Seen;
use crate::pipeline::start_up::StartUpReport;
use crate::threads::thread_states::Step;

/// A request that the server has handled, or some equal ones in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandledRequest {
    /// The client.
    pub connection: ConnectionId,
    /// The name of the request.
    pub request: Symbol,
    /// The sequence number of the message; other equal requests follow if the message stands for more than one.
    pub sequence: SequenceNumber,
    /// The number of requests that were handled.
    pub count: u64,
    /// The time at which the client sent the request.
    pub sent: Timestamp,
    /// The time at which the server's handler began.
    pub start: Timestamp,
    /// Nanoseconds of the handlers on a processor.
    pub nanos: f64,
}

/// A run of the recorded server's first thread, which serves the clients: from a wakeup until it waits again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerRun {
    /// The beginning.
    pub from: Timestamp,
    /// The end.
    pub to: Timestamp,
    /// Nanoseconds on a processor.
    pub nanos: u64,
}

/// A fact of the trace, handed to analyses in the order of time.
#[derive(Debug, Clone, Copy)]
pub enum Observation<'a> {
    /// Bytes were read off a socket; the messages that end in them follow.
    BlockStart(&'a Block),
    /// A message ended in the current block.
    Message(Seen<'a>),
    /// The end of a block: no further message ends in this block.
    BlockEnd(&'a Block),
    /// Something that is not on the wire.
    Control(Timestamp, &'a Control),
    /// The resources of a connection that ended went with it.
    Closed {
        /// The time of the connection's end.
        time: Timestamp,
        /// The state of the display after that.
        session: &'a Session,
    },
    /// Changes of threads' states since the message before.
    Switches(&'a [Step]),
    /// Times of the server's handlers since the message before.
    Handled(&'a [HandlerTime]),
    /// A request met the time of its handler: its server time in a recording whose server reports handler times.
    HandledRequest(&'a HandledRequest),
    /// The server handled requests that are not in the trace: the beginning, and nanoseconds on a processor.
    HandledUnrecorded(Timestamp, f64),
    /// A run of the server is over, as far as context switches show.
    ServerRan(ServerRun),
    /// The server changed hands: who has grabbed it now.
    Grabbed(Timestamp, Option<ConnectionId>),
    /// A device changed hands, or a grab was refused.
    DeviceGrab {
        /// The change.
        grab: DeviceGrab,
        /// The state of the display after the message; `None` at the end of a connection.
        session: Option<&'a Session>,
    },
    /// A request that another client has to answer was sent, has reached that client, or is answered.
    OpenRequest(OpenRequestChange),
    /// The start-up of a client is over.
    Started(&'a StartUpReport),
    /// Bytes of a connection that cannot be followed: their beginning is not in the trace, or
    /// there are too many connections.
    Lost(&'a Block),
}
