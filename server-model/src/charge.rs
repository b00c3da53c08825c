//! What goes on the bill: requests, and what their transport made the server do.

use x11prof_cost_model::{Cost, Price};
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_session::{ClientId, Operation};

use crate::clock::Time;
use crate::operation::across_network::Crossing;

/// What makes up transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportPart {
    /// The server was asleep and was woken.
    Wakeup,
    /// Bytes that it read.
    Read,
    /// What a request costs more because its code or its pixels had left the caches.
    Cold,
    /// A reply that it wrote.
    Reply,
    /// An event that it wrote.
    Event,
    /// An error that it wrote.
    Error,
    /// A connection setup: its bytes cross the wire, and the server makes a new client. The client's end is charged
    /// here as well.
    Setup,
    /// A screen update, by the model.
    Update,
    /// What the recorded server did for no client, screen updates among it, by the kernel's clock.
    Own,
}

/// One amount on the bill, to be added up by whatever key an analysis is interested in. Times on
/// the network follow from bytes and round trips by equation 7, so that they need no second pass.
#[derive(Debug, Clone, Copy)]
pub enum Charge<'a> {
    /// A request.
    Request {
        /// Its client.
        client: ClientId,
        /// Its number there.
        sequence: SequenceNumber,
        /// When it had been read.
        time: Time,
        /// What it does.
        operation: &'a Operation,
        /// Its bytes on the wire.
        bytes: u64,
        /// What it costs the server.
        price: &'a Price,
        /// What it costs more across a network, if it shares memory with the server.
        across: Option<Crossing>,
    },
    /// A request that was charged before failed.
    Failed {
        /// Its client.
        client: ClientId,
        /// Its number there.
        sequence: SequenceNumber,
        /// Its name.
        request: Symbol,
        /// What it was charged and what it should have been: its fixed part. `None` where its
        /// price is no longer known.
        correction: Option<(Cost, Cost)>,
    },
    /// What a message costs beside its operation.
    Transport {
        /// The client.
        client: ClientId,
        /// When.
        time: Time,
        /// What.
        part: TransportPart,
        /// Bytes on the wire that are not a request's.
        bytes: u64,
        /// The server's time.
        server: Cost,
        /// The request that caused it; `None` for a wakeup, whose `Blame` comes later, and where
        /// no request did.
        request: Option<Symbol>,
    },
    /// A wakeup that was charged before was for this request: the first that ended after it.
    Blame {
        /// The client.
        client: ClientId,
        /// The request.
        request: Symbol,
        /// The wakeup's cost.
        server: Cost,
    },
}

impl Charge<'_> {
    /// Whose it is.
    pub fn client(&self) -> ClientId {
        match self {
            Charge::Request { client, .. }
            | Charge::Failed { client, .. }
            | Charge::Transport { client, .. }
            | Charge::Blame { client, .. } => *client,
        }
    }

    /// What it adds to the server's time.
    pub fn server(&self) -> Cost {
        match self {
            Charge::Request { price, .. } => price.server,
            Charge::Transport { server, .. } => *server,
            Charge::Failed {
                correction: Some((was, should)),
                ..
            } => should.without(*was),
            // A wakeup that is blamed on a request was charged before.
            Charge::Failed { .. } | Charge::Blame { .. } => Cost::default(),
        }
    }

    /// Whether it is for a wakeup of the server.
    pub fn is_wakeup(&self) -> bool {
        matches!(
            self,
            Charge::Transport {
                part: TransportPart::Wakeup,
                ..
            }
        )
    }

    /// What a server does beside messages.
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
