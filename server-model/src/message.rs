//! The term "message" of the model: the costs of reading bytes, of writing replies and events, and of clients that
//! connect and disconnect.

use x11prof_cost_model::{Cost, Micros, TransportEstimates};
use x11prof_protocol::Message;
use x11prof_session::{ClientId, Operation, Session};

use crate::clock::Time;

/// A message that the server read or wrote, with the session's state.
#[derive(Debug, Clone, Copy)]
pub struct Traffic<'a> {
    /// The client that sent the message or received it.
    pub client: ClientId,
    /// The time at which the message's last byte was read from the socket.
    pub time: Time,
    /// The message that the server read or wrote.
    pub message: &'a Message<'a>,
    /// The number of consecutive equal requests that the message represents.
    pub times: u64,
    /// The request as an operation; `None` for other messages.
    pub operation: Option<&'a Operation>,
    /// The state of the display after the message was processed.
    pub session: &'a Session,
}

/// The cost of a client's connection setup of `bytes` bytes, including the cost of its disconnection. `slept` is the
/// length of the sleep that the setup ended.
pub(crate) fn setup(costs: &TransportEstimates, bytes: u64, slept: Micros) -> Cost {
    let read = costs.byte_read().times(bytes as f64);
    read + costs.sleep().connection(slept)
}

/// The cost of reading a request of `bytes` bytes.
pub(crate) fn read(costs: &TransportEstimates, bytes: u64) -> Cost {
    costs.byte_read().times(bytes as f64)
}
