//! Requests that make the server send the reports that it still buffers.
//!
//! RECORD keeps clients' requests in a buffer until the buffer is full, or until the server writes to any client
//! (record.c, RecordFlushAllContexts). Without a probe, the last requests would arrive only with the next event, maybe
//! much later.

use std::time::Duration;

use x11prof_trace::Timestamp;

use crate::clock;
use crate::display::conversation::Conversation;

/// The interval between two probes while the server reports nothing. The server's buffer may still hold a few requests.
const SELDOM: Duration = Duration::from_secs(1);
/// The time limit for the reply to a probe. A server that another client has grabbed does not reply.
const PATIENCE: Duration = Duration::from_millis(250);

/// Sends the probes, and interprets the server's replies.
#[derive(Debug)]
pub(super) struct FlushProbe {
    /// The time at which the last probe was sent.
    asked: Timestamp,
    /// The time of the last probe, if the server has replied and reports from before the reply may still be unread.
    answered: Option<Timestamp>,
    /// True if a report has arrived since the last probe.
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

    /// Call this when a report has arrived.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// Probes the server if its buffer may hold reports. Call this when no report has arrived for a while. Returns the
    /// time up to which the server has reported everything; `None` if unknown.
    pub(super) fn quiet(&mut self, conversation: &mut Conversation) -> Option<Timestamp> {
        let reported = self.answered.take();
        let now = clock::now();
        if self.heard || now.since(self.asked) >= SELDOM {
            (self.asked, self.heard) = (now, false);
            conversation.set_patience(PATIENCE);
            self.answered = conversation.settle().is_ok().then_some(now);
        }
        reported
    }
}
