//! Finds the time at which the first byte of a message arrived, because a long message arrives in many reads.

use x11prof_trace::{Block, Timestamp};

/// The arrival times of the messages in one direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    /// The arrival of the first byte of the message that is still incomplete.
    since: Option<Timestamp>,
    now: Timestamp,
    /// The number of received bytes. The next field is the number of bytes of complete messages.
    seen: u64,
    whole: u64,
}

impl Arrival {
    /// Notes the beginning of a read of the socket.
    pub(crate) fn block(&mut self, block: &Block) {
        self.now = block.time;
        self.since.get_or_insert(block.time);
        self.seen = block.offset.saturating_add(u64::from(block.wire_len));
    }

    /// Notes a complete message of `length` bytes. Returns the time at which its first byte arrived; `None` if unknown.
    pub(crate) fn message(&mut self, length: u64) -> Option<Timestamp> {
        self.whole = self.whole.saturating_add(length);
        self.since.replace(self.now)
    }

    /// Notes the end of a read of the socket.
    pub(crate) fn end(&mut self) {
        if self.whole >= self.seen {
            self.since = None;
        }
    }
}
