//! Requests that make the server pass what it still holds.
//!
//! RECORD keeps what clients say in a buffer of its own until the buffer is full, or until the server writes to any client
//! (record.c, RecordFlushAllContexts). So the end of what a client drew would come with the next event, maybe much later.

use std::time::Duration;

use x11prof_trace::Timestamp;

use crate::clock;
use crate::display::conversation::Conversation;

/// The interval between two requests to a server of which nothing is heard: it may hold a few requests.
const SELDOM: Duration = Duration::from_secs(1);
/// A grabbed server answers no other client.
const PATIENCE: Duration = Duration::from_millis(250);

/// The requests, and what follows from their answers.
#[derive(Debug)]
pub(super) struct FlushProbe {
    /// The time of the last request.
    asked: Timestamp,
    /// The time of the last request, where the server has answered and not all that came before the answer may be taken.
    answered: Option<Timestamp>,
    /// Something was heard since the last request.
    heard: bool,
}

impl FlushProbe {
    pub(super) fn new() -> FlushProbe {
        FlushProbe {
            asked: clock::now(),
            answered: None,
            heard: false,
        }
    }

    /// The server told something.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// Nothing was heard for a while. Asks where the server may hold something. Returns the time up to which all is told.
    pub(super) fn quiet(&mut self, conversation: &mut Conversation) -> Option<Timestamp> {
        let told = self.answered.take();
        let now = clock::now();
        if self.heard || now.since(self.asked) >= SELDOM {
            (self.asked, self.heard) = (now, false);
            conversation.set_patience(PATIENCE);
            self.answered = conversation.settle().is_ok().then_some(now);
        }
        told
    }
}
