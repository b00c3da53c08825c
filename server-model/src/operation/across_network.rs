//! What requests cost more across a network that share memory with the server: there the image itself
//! is sent.

use x11prof_cost_model::{Cost, Micros};

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
    /// Adds another.
    pub fn add(&mut self, other: &Crossing) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.server += other.server;
    }

    /// True where nothing is shared.
    pub fn is_none(&self) -> bool {
        self.count == 0 && self.server.time == Micros::ZERO
    }
}
