//! Two connections whose replies the recorder never reads, so that output for them always waits in the server. They
//! make X.Org's server write all data that RECORD adds.
//!
//! When the server writes the output for a client, FlushClient (os/io.c) first counts the bytes that wait, and then
//! lets RECORD add data to the recorder's connection. If that client is the recorder, and its socket is full, the
//! added data are lost. If they make the buffer overflow, the server never writes to the recorder again.
//!
//! FlushAllOutput writes to clients in the order in which their output began to wait. A guard's output began to wait
//! before the recorder's, so RECORD adds its data at the guard's turn, before the recorder's turn. The server may
//! then write to the recorder at once, so that the recorder's output no longer waits. FlushAllOutput has looked up
//! the next client before: if this client no longer waits, its loop never ends. With two guards, the next client at
//! the first guard's turn is the second guard and not the recorder.

use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use x11rb_protocol::protocol::xproto::GetKeyboardMappingRequest;

use super::others;
use crate::display::conversation::Conversation;

/// The number of requests to send at a time. Each reply has about 7 kB.
const AT_A_TIME: u64 = 16;
/// If this many bytes have arrived and the socket is still not full, the recorder gives up filling the socket.
const MOST: u64 = 64 << 20;
/// The maximum number of bytes that a relay between the server and the recorder holds in its memory and its socket.
const BETWEEN: u64 = 1 << 20;
/// The time after which the recorder's socket counts as full if nothing arrives. A relay passes on a reply that fits
/// within this time.
const STILL: Duration = Duration::from_millis(50);
/// The time within which replies that fit into the socket must arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection whose output waits in the server as long as the guard exists.
pub(super) struct FlushGuard {
    conversation: Conversation,
}

/// Creates the two guards, which must connect before the recorder's connection. `begin` opens a connection. Returns
/// fewer guards if the server's output cannot be made to wait.
pub(super) fn stand(
    begin: impl Fn() -> Result<Conversation, String>,
    other: &mut Conversation,
) -> Result<Vec<FlushGuard>, String> {
    let mut guards = Vec::new();
    for _ in 0..2 {
        let guard = begin()?;
        let ours = guard.setup().resource_id_base;
        others::leave(other, other.setup().resource_id_base, &[ours])?;
        guards.extend(FlushGuard::stand(guard, other)?);
    }
    Ok(guards)
}

impl FlushGuard {
    /// Makes the server write to a `conversation` until its socket is full. `other`, a second connection, shows the
    /// server's progress. `None` if the socket cannot be filled.
    fn stand(
        mut conversation: Conversation,
        other: &mut Conversation,
    ) -> Result<Option<FlushGuard>, String> {
        let (first_keycode, last) = {
            let setup = conversation.setup();
            (setup.min_keycode, setup.max_keycode)
        };
        let question = GetKeyboardMappingRequest {
            first_keycode,
            count: last.saturating_sub(first_keycode).saturating_add(1),
        };
        let answer = conversation.ask_one(question)?;
        let Some(answer) = answer else {
            return Ok(None);
        };
        let answer = 32 + 4 * answer.keysyms.len() as u64;
        let until = Instant::now() + PATIENCE;
        let (mut asked, mut before, mut since) = (0, 0, Instant::now());
        loop {
            // The server serves its clients in turn. After two replies on the other connection it has handled this
            // connection's requests.
            other.settle()?;
            other.settle()?;
            let come = ioctl_fionread(conversation.socket()).map_err(|error| error.to_string())?;
            let now = Instant::now();
            if come >= MOST || now > until {
                return Ok(None);
            }
            if come != before {
                (before, since) = (come, now);
            }
            // Replies that have not arrived are in the server's memory, except for the bytes held by a relay.
            if asked * answer < come + BETWEEN {
                for _ in 0..AT_A_TIME {
                    conversation.send(question)?;
                }
                asked += AT_A_TIME;
            } else if now - since > STILL {
                return Ok(Some(FlushGuard { conversation }));
            } else {
                std::thread::sleep(STILL / 10);
            }
        }
    }

    /// The first resource id of the guard's connection.
    pub(super) fn first(&self) -> u32 {
        self.conversation.setup().resource_id_base
    }
}
