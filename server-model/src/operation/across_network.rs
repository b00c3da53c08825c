//! The extra cost across a network of requests that share memory with the server: the image itself is sent.

use x11prof_cost_model::{Cost, Micros};

/// A request's extra cost across a network compared with the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Crossing {
    /// The number of requests.
    pub count: u64,
    /// The additional bytes in both directions, beyond the recorded ones.
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

    /// True if no memory is shared.
    pub fn is_none(&self) -> bool {
        self.count == 0 && self.server.time == Micros::ZERO
    }
}
