//! Charges of server time: for requests, and for their transport.

use x11prof_cost_model::{Cost, Price};
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_session::{ClientId, Operation};

use crate::clock::Time;

/// The parts of transport.
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
    /// A connection setup: its bytes cross the wire, and the server makes a new client. The client's end is charged
    /// here as well.
    Setup,
    /// A screen update, by the model.
    Update,
    /// The recorded server's work for no client, including screen updates, by the kernel's clock.
    Own,
}

/// A charge. Analyses sum charges up by their own keys. Times on the network follow from bytes and round trips by
/// equation 7, and need no second pass.
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
        price: &'a Price,
    },
    /// A request that was charged before failed.
    Failed {
        /// The request's client.
        client: ClientId,
        /// The request's number on the client's connection.
        sequence: SequenceNumber,
        /// The request's name.
        request: Symbol,
        /// The old charge and the right one: the fixed part. `None` if the cost is no longer known.
        correction: Option<(Cost, Cost)>,
    },
    /// The cost of a message in addition to its operation.
    Transport {
        /// The client.
        client: ClientId,
        /// The time of the cost.
        time: Time,
        /// The part of transport.
        part: TransportPart,
        /// Bytes on the wire that are not a request's.
        bytes: u64,
        /// The server's time.
        server: Cost,
        /// The request that caused it; `None` for a wakeup, whose `Blame` comes later, and for parts without a request.
        request: Option<Symbol>,
    },
    /// Equal requests of one batch, one after the other. Each has a charge for reading, one for being cold unless that is
    /// zero, and one for itself: in this order, one request after the other.
    Alike(Alike<'a>),
    /// An earlier wakeup was for this request: the first that ended after it.
    Blame {
        /// The client.
        client: ClientId,
        /// The request.
        request: Symbol,
        /// The wakeup's cost.
        server: Cost,
    },
}

/// Equal requests, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Alike<'a> {
    /// The requests' client.
    pub client: ClientId,
    /// The number of the first.
    pub sequence: SequenceNumber,
    /// The time at which all had been read.
    pub time: Time,
    /// A request as an operation.
    pub operation: &'a Operation,
    /// The bytes on the wire of each.
    pub bytes: u64,
    /// The cost of each on the server.
    pub price: &'a Price,
    /// The cost of reading each.
    pub read: Cost,
    /// The extra cost of each, because pixels are cold.
    pub cold: Cost,
    /// The number of requests.
    pub times: u64,
}

impl Charge<'_> {
    /// The client that is charged.
    pub fn client(&self) -> ClientId {
        match self {
            Charge::Request { client, .. }
            | Charge::Failed { client, .. }
            | Charge::Transport { client, .. }
            | Charge::Alike(Alike { client, .. })
            | Charge::Blame { client, .. } => *client,
        }
    }

    /// The server time of the charge.
    pub fn server(&self) -> Cost {
        match self {
            Charge::Request { price, .. } => price.server,
            Charge::Transport { server, .. } => *server,
            Charge::Alike(alike) => {
                (alike.read + alike.cold + alike.price.server).times(alike.times as f64)
            }
            Charge::Failed {
                correction: Some((was, should)),
                ..
            } => should.without(*was),
            // A wakeup that is blamed on a request was charged before.
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

    /// A charge for work of the server that no message caused directly.
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
