//! Charges: amounts of server time that are attributed to requests and to their transport.

use x11prof_cost_model::{Cost, OperationCost};
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_session::{ClientId, Operation};

use crate::clock::Time;

/// The components of transport: server time for a message in addition to its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportPart {
    /// The server was asleep and was woken by a batch.
    Wakeup,
    /// The server read the bytes of a request.
    Read,
    /// A request cost more because its pixels had left the processor's caches.
    Cold,
    /// The server wrote a reply.
    Reply,
    /// The server wrote an event.
    Event,
    /// The server wrote an error.
    Error,
    /// The server set up a client's connection. The cost includes reading the setup's bytes, and the work when the
    /// client disconnects.
    Setup,
    /// The server did work that is not attributed to a message, such as screen updates. The kernel's clock measured
    /// this work of the recorded server.
    Own,
}

/// A unit of server time or network traffic that belongs to one client. Analyses add up charges by keys of their
/// choice. The network time of a charge follows from its bytes and round trips by equation 7, so no second pass is
/// needed.
#[derive(Debug, Clone, Copy)]
pub enum Charge<'a> {
    /// The server time for the operation of a request.
    Request {
        /// The client that sent the request.
        client: ClientId,
        /// The sequence number of the request on the client's connection.
        sequence: SequenceNumber,
        /// The time at which the server had read the last byte of the request.
        time: Time,
        /// The request as an operation, to which the cost belongs.
        operation: &'a Operation,
        /// The size of the request in bytes on the wire.
        bytes: u64,
        /// The request's cost on the server.
        cost: &'a OperationCost,
    },
    /// A correction: a request that was charged before as successful has failed.
    Failed {
        /// The client that sent the failed request.
        client: ClientId,
        /// The sequence number of the failed request on the client's connection.
        sequence: SequenceNumber,
        /// The name of the failed request.
        request: Symbol,
        /// The cost that was charged, and the correct cost, which is the operation's fixed part. `None` if the charged
        /// cost is no longer stored.
        correction: Option<(Cost, Cost)>,
    },
    /// The server time for a message in addition to its operation, or for a wakeup or a screen update.
    Transport {
        /// The client to which the cost is attributed.
        client: ClientId,
        /// The time at which the cost arose.
        time: Time,
        /// The component of transport to which the cost belongs.
        part: TransportPart,
        /// The size of the message in bytes on the wire; 0 for requests, whose bytes `Request` contains.
        bytes: u64,
        /// The server time of this component.
        server: Cost,
        /// The name of the request that caused the cost. `None` for a wakeup, which a later `Blame` assigns to a
        /// request, and for components that no request caused.
        request: Option<Symbol>,
    },
    /// A charge for consecutive equal requests of one batch. The charge represents, for each request, a charge for
    /// reading, a charge for cold pixels if their cost is not zero, and a charge for the request.
    RepeatedRequests(RepeatedRequests<'a>),
    /// Assigns the cost of an earlier wakeup to the first request of the client after that wakeup.
    Blame {
        /// The client that woke the server.
        client: ClientId,
        /// The name of the client's first request after the wakeup.
        request: Symbol,
        /// The cost of the wakeup, which was charged before as `Transport`.
        server: Cost,
    },
}

/// A charge for consecutive equal requests of one client.
#[derive(Debug, Clone, Copy)]
pub struct RepeatedRequests<'a> {
    /// The client that sent the requests.
    pub client: ClientId,
    /// The sequence number of the first of the requests.
    pub sequence: SequenceNumber,
    /// The time at which the server had read all of the requests.
    pub time: Time,
    /// The operation of each of the equal requests.
    pub operation: &'a Operation,
    /// The size of each request in bytes on the wire.
    pub bytes: u64,
    /// The cost of each request on the server.
    pub cost: &'a OperationCost,
    /// The cost of reading the bytes of each request.
    pub read: Cost,
    /// The extra cost of each request because its pixels have left the processor's caches.
    pub cold: Cost,
    /// The number of equal requests that this charge represents.
    pub times: u64,
}

impl Charge<'_> {
    /// The client to which the charge is attributed.
    pub fn client(&self) -> ClientId {
        match self {
            Charge::Request { client, .. }
            | Charge::Failed { client, .. }
            | Charge::Transport { client, .. }
            | Charge::RepeatedRequests(RepeatedRequests { client, .. })
            | Charge::Blame { client, .. } => *client,
        }
    }

    /// The server time of the charge. For a failed request, this is the (negative) difference between the correct cost
    /// and the earlier charge.
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

    /// Creates a charge for server work that no message caused directly.
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
