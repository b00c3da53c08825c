//! The stacks on which clients wait for replies (`record --stacks`).
//!
//! While the relay holds a reply, the client sleeps, so its stack is copied before the reply is sent. Another thread
//! unwinds the copy. A copy delays the reply by some microseconds, so only some of the short waits are sampled.

use std::cell::RefCell;
use std::time::Duration;

use x11prof_stacks::Waiter;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::capture::stack_unwinding::{Copied, Reason, StackQueue};
use crate::clock;

/// Copying may take at most one part in this many of a connection's waits.
const SHARE: u32 = 20;
/// The number of messages at the beginning of a block that are searched for a reply.
const MESSAGES: usize = 8;

/// Copies the stacks of one client that waits for replies. The thread of the client's connection uses it.
pub(crate) struct ClientStacks {
    connection: ConnectionId,
    queue: StackQueue,
    state: RefCell<ClientState>,
}

struct ClientState {
    waiter: Waiter,
    /// The time of the client's last requests, or of a later reply.
    asked: Timestamp,
    /// The total time of the waits, and of the copying.
    waited: Duration,
    spent: Duration,
    /// The duration of the last copy.
    last: Duration,
}

impl ClientStacks {
    /// Prepares stack copies of a connection's client. Fails with a reason if the client's process `pid` cannot be
    /// inspected.
    pub(crate) fn of(
        queue: StackQueue,
        connection: ConnectionId,
        pid: Option<u32>,
    ) -> Result<ClientStacks, String> {
        let pid = pid.ok_or("its process is not known")?;
        let waiter = Waiter::open(pid).map_err(|error| error.to_string())?;
        Ok(ClientStacks {
            connection,
            queue,
            state: RefCell::new(ClientState {
                waiter,
                asked: clock::now(),
                waited: Duration::ZERO,
                spent: Duration::ZERO,
                last: Duration::ZERO,
            }),
        })
    }

    /// Call this when the client has sent requests at `time`.
    pub(crate) fn asks(&self, time: Timestamp) {
        self.state.borrow_mut().asked = time;
    }

    /// Copies the client's stack if `bytes`, which were read from the server at `time` and are not sent yet, contain a
    /// reply.
    pub(crate) fn answered(&self, time: Timestamp, bytes: &[u8]) {
        if !has_reply(bytes) {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        state.waited += time.since(state.asked);
        // If no request follows, the wait for the next reply begins here.
        state.asked = time;
        // The next copy probably takes as long as the last one. The first copy is always made.
        if (state.spent + state.last) * SHARE > state.waited {
            return;
        }
        let copy = state.waiter.copy();
        let took = clock::now().since(time);
        state.spent += took;
        state.last = took;
        let Some(copy) = copy else { return };
        let connection = self.connection;
        let reason = Reason::Wait { connection, took };
        self.queue.put(Copied {
            at: time,
            copy,
            reason,
        });
    }
}

/// True if a reply is among the first messages. Events have 32 bytes, except for generic ones.
fn has_reply(bytes: &[u8]) -> bool {
    const REPLY: u8 = 1;
    const GENERIC_EVENT: u8 = 35;
    let messages = bytes.chunks(32).take(MESSAGES);
    let mut codes = messages.filter_map(|message| message.first());
    codes
        .find(|code| [REPLY, GENERIC_EVENT].contains(&(**code & 0x7F)))
        .is_some_and(|code| *code == REPLY)
}

#[cfg(test)]
mod tests {
    use super::has_reply;

    #[test]
    fn replies_are_found_after_events() {
        let message = |code: u8| {
            let mut message = [0; 32];
            message[0] = code;
            message
        };
        let block = |codes: &[u8]| {
            codes
                .iter()
                .flat_map(|code| message(*code))
                .collect::<Vec<_>>()
        };
        assert!(has_reply(&block(&[1])));
        assert!(has_reply(&block(&[12, 0x80 | 33, 1])));
        assert!(!has_reply(&block(&[12, 28])));
        assert!(
            !has_reply(&block(&[35, 1])),
            "a generic event may be longer"
        );
        assert!(!has_reply(&block(&[0])) && !has_reply(&[]));
    }
}
