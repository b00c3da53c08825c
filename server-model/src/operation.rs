//! Operation: a request's fixed part, and f(size) for each of its items.

pub(crate) mod across_network;

use x11prof_cost_model::{
    Cost, CostTable, Price, ServerParameters, Substitutions, TransportPrices,
};
use x11prof_protocol::Request;
use x11prof_session::{NetworkSubstitute, Operation};

use across_network::Crossing;

/// The prices of requests.
pub(crate) struct Operations {
    costs: CostTable,
    /// The last request's, used again.
    pub(crate) price: Price,
}

impl Operations {
    pub(crate) fn new(parameters: &ServerParameters, substitutions: &Substitutions) -> Operations {
        Operations {
            costs: CostTable::new(parameters, substitutions),
            price: Price::default(),
        }
    }

    /// Looks up the price of `operation`, which then is `price`; its fixed part is given.
    pub(crate) fn look_up(&mut self, operation: &Operation) -> Cost {
        self.costs.price_into(operation, &mut self.price)
    }

    /// The extra cost of `request`, whose price was looked up last, across a network, where `across` replaces it.
    pub(crate) fn across_network(
        &mut self,
        request: &Request<'_>,
        across: &NetworkSubstitute,
        transport: &TransportPrices,
    ) -> Crossing {
        let sent = if across.instead { request.wire_len } else { 0 };
        let bytes = across.bytes.saturating_sub(sent);
        let mut server = self.costs.price(&across.operation).server;
        server += transport.byte_read().times(bytes as f64);
        if across.reply_bytes > 0 {
            let image = transport.reply(across.reply_bytes);
            server += image.without(transport.reply(0));
        }
        if across.instead {
            server = server.without(self.price.server);
        }
        Crossing {
            count: 1,
            bytes: bytes + across.reply_bytes,
            server,
        }
    }
}
