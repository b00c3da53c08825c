//! What requests cost more across a network that share memory with the server: there the image itself
//! is sent.

use x11prof_cost_model::{Cost, CostTable, Micros, TransportPrices};
use x11prof_protocol::Request;
use x11prof_session::Operation;

use super::tally::less;
use crate::pipeline::Seen;

/// What a request costs more across a network than beside the server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Crossing {
    /// How many requests it is.
    pub count: u64,
    /// Bytes that cross, either way, beyond those that were recorded.
    pub bytes: u64,
    /// The server's time beyond the request's, for the image's operation and its bytes.
    pub server: Cost,
}

impl Crossing {
    /// Of the request that was seen last and costs `price`; `None` where it crosses as it is.
    pub(super) fn of(
        seen: &Seen<'_>,
        (request, operation): (&Request<'_>, &Operation),
        price: Cost,
        (costs, transport): (&mut CostTable, &TransportPrices),
    ) -> Option<Crossing> {
        let across = seen.session.across(request, operation, seen.extensions)?;
        let sent = if across.instead { request.wire_len } else { 0 };
        let bytes = across.bytes.saturating_sub(sent);
        let mut server = costs.price(&across.operation).server;
        server += transport.byte_read().times(bytes as f64);
        if across.reply_bytes > 0 {
            server += less(transport.reply(across.reply_bytes), transport.reply(0));
        }
        if across.instead {
            server = less(server, price);
        }
        Some(Crossing {
            count: 1,
            bytes: bytes + across.reply_bytes,
            server,
        })
    }

    /// Adds another.
    pub(crate) fn add(&mut self, other: &Crossing) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.server += other.server;
    }

    /// True where nothing is shared.
    pub(crate) fn is_none(&self) -> bool {
        self.count == 0 && self.server.time == Micros::ZERO
    }
}
