//! Operation: a request's fixed part, and f(size) for each of its items.

pub(crate) mod across_network;

use x11prof_cost_model::{
    Cost, CostTable, Price, ServerParameters, Substitutions, TransportPrices,
};
use x11prof_protocol::Request;
use x11prof_session::{NetworkSubstitute, Operation};

use across_network::Crossing;

/// The costs of requests.
pub(crate) struct Operations(CostTable);

impl Operations {
    pub(crate) fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> Operations {
        Operations(CostTable::new(parameters, substitutions))
    }

    /// The cost of `operation`, and the cost of its fixed part.
    #[inline]
    pub(crate) fn look_up(&mut self, operation: &Operation) -> (&Price, Cost) {
        self.0.look_up(operation)
    }

    /// The extra cost of `request`, which is `operation`, across a network, where `across` replaces it.
    pub(crate) fn across_network(
        &mut self,
        (request, operation): (&Request<'_>, &Operation),
        across: &NetworkSubstitute,
        transport: &TransportPrices,
    ) -> Crossing {
        let sent = if across.instead { request.wire_len } else { 0 };
        let bytes = across.bytes.saturating_sub(sent);
        let mut server = self.look_up(&across.operation).0.server;
        server += transport.byte_read().times(bytes as f64);
        if across.reply_bytes > 0 {
            let image = transport.reply(across.reply_bytes);
            server += image.without(transport.reply(0));
        }
        if across.instead {
            server = server.without(self.look_up(operation).0.server);
        }
        Crossing {
            count: 1,
            bytes: bytes + across.reply_bytes,
            server,
        }
    }
}
