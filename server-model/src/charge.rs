//! Charges of server time, for requests and for their transport.

use x11prof_cost_model::{Cost, OperationCost};
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_session::{ClientId, Operation};

use crate::clock::Time;

/// The components of transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportPart {
    /// The server was asleep and was woken.
    Wakeup,
    /// Bytes that the server read.
    Read,
    /// A request's extra cost because its pixels had left the caches.
    Cold,
    /// A reply that the server wrote.
    Reply,
    /// An event that the server wrote.
    Event,
    /// An error that the server wrote.
    Error,
    /// A connection setup: its bytes cross the network, and the server creates a new client. The end of the client is
    /// also included.
    Setup,
    /// The recorded server's unattributed work, including screen updates, measured with the kernel's clock.
    Own,
}

/// A charge. Analyses add up charges by their own keys. Network times follow from bytes and round trips with equation
/// 7, without a second pass.
#[derive(Debug, Clone, Copy)]
pub enum Charge<'a> {
    /// A request.
    Request {
        /// The request's client.
        client: ClientId,
        /// The request's number on the client's connection.
        sequence: SequenceNumber,
        /// The time at which the request had been read.
        time: Time,
        /// The request as an operation.
        operation: &'a Operation,
        /// The request's bytes on the wire.
        bytes: u64,
        /// The request's cost on the server.
        cost: &'a OperationCost,
    },
    /// A request that was charged before failed.
    Failed {
        /// The request's client.
        client: ClientId,
        /// The request's number on the client's connection.
        sequence: SequenceNumber,
        /// The request's name.
        request: Symbol,
        /// The old charge and the correct one, the fixed part. `None` if the old charge is no longer stored.
        correction: Option<(Cost, Cost)>,
    },
    /// The cost of a message in addition to its operation.
    Transport {
        /// The client.
        client: ClientId,
        /// The time of the cost.
        time: Time,
        /// The component of transport.
        part: TransportPart,
        /// Bytes on the wire that do not belong to a request.
        bytes: u64,
        /// The server's time.
        server: Cost,
        /// The request that caused the cost; `None` for a wakeup, whose `Blame` follows later, and for components
        /// without a request.
        request: Option<Symbol>,
    },
    /// Consecutive equal requests of one batch. For each request in turn there is a charge for reading, one for cold
    /// pixels unless that is zero, and one for the request.
    RepeatedRequests(RepeatedRequests<'a>),
    /// Assigns an earlier wakeup to this request, the first request that was complete after the wakeup.
    Blame {
        /// The client.
        client: ClientId,
        /// The request.
        request: Symbol,
        /// The wakeup's cost.
        server: Cost,
    },
}

/// Consecutive equal requests.
#[derive(Debug, Clone, Copy)]
pub struct RepeatedRequests<'a> {
    /// The requests' client.
    pub client: ClientId,
    /// The number of the first request.
    pub sequence: SequenceNumber,
    /// The time at which all requests had been read.
    pub time: Time,
    /// One of the requests as an operation.
    pub operation: &'a Operation,
    /// The bytes on the wire of each request.
    pub bytes: u64,
    /// The cost of each request on the server.
    pub cost: &'a OperationCost,
    /// The cost of reading each request.
    pub read: Cost,
    /// The extra cost of each request because its pixels are cold.
    pub cold: Cost,
    /// The number of requests.
    pub times: u64,
}

impl Charge<'_> {
    /// The client to which the charge belongs.
    pub fn client(&self) -> ClientId {
        match self {
            Charge::Request { client, .. }
            | Charge::Failed { client, .. }
            | Charge::Transport { client, .. }
            | Charge::RepeatedRequests(RepeatedRequests { client, .. })
            | Charge::Blame { client, .. } => *client,
        }
    }

    /// The server time of the charge.
    pub fn server(&self) -> Cost {
        match self {
            Charge::Request { cost, .. } => cost.server,
            Charge::Transport { server, .. } => *server,
            Charge::RepeatedRequests(alike) => {
                (alike.read + alike.cold + alike.cost.server).times(alike.times as f64)
            }
            Charge::Failed {
                correction: Some((was, should)),
                ..
            } => should.without(*was),
            // The wakeup of a `Blame` was charged before.
            Charge::Failed { .. } | Charge::Blame { .. } => Cost::default(),
        }
    }

    /// True if the charge is for a wakeup of the server.
    pub fn is_wakeup(&self) -> bool {
        matches!(
            self,
            Charge::Transport {
                part: TransportPart::Wakeup,
                ..
            }
        )
    }

    /// A charge for server work that no message caused directly.
    pub(crate) fn beside(
        (client, time): (ClientId, Time),
        part: TransportPart,
        server: Cost,
        request: Option<Symbol>,
    ) -> Self {
        Charge::Transport {
            client,
            time,
            part,
            bytes: 0,
            server,
            request,
        }
    }
}
