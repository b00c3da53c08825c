//! Connections that never read, so that X.Org's server writes to the recorder what it should.
//!
//! Its FlushClient (os/io.c) first counts what waits for a client, and then lets RECORD add to it. Where the client is the
//! recorder, the socket to which is full now and then, what RECORD adds is lost; where it makes the buffer
//! overflow, the server writes nothing for ever. RECORD adds when the output of *any* client is written, and FlushAllOutput
//! writes in the order in which output began to wait. So a client whose output always waits, and began to before the
//! recorder's, has RECORD add what it has before the recorder's turn. That may end the recorder's waiting, and
//! FlushAllOutput, which has looked up its next client before, must not come to one that waits no more: it would for ever
//! go from that one to itself. So there are two such clients, one after the other.

use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use x11rb_protocol::protocol::xproto::GetKeyboardMappingRequest;

use super::conversation::Conversation;

/// Questions at a time: some 7 kB of answers each.
const AT_A_TIME: u64 = 16;
/// The most that a server's socket may hold before it is full, in bytes.
const MOST: u64 = 64 << 20;
/// Bytes that a relay between the server and us may hold.
const BETWEEN: u64 = 1 << 20;
/// How long answers may take that find room.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection whose output waits, while it lives.
pub(super) struct FlushGuard {
    conversation: Conversation,
}

/// The two that stand before the recorder's connection; fewer where the server's output does not come to wait.
pub(super) fn stand(
    begin: impl Fn() -> Result<Conversation, String>,
    other: &mut Conversation,
) -> Result<Vec<FlushGuard>, String> {
    let mut guards = Vec::new();
    for _ in 0..2 {
        guards.extend(FlushGuard::stand(begin()?, other)?);
    }
    Ok(guards)
}

impl FlushGuard {
    /// Has the server write to a `conversation` of its own until no more fits. `other` is a second one, by which it is
    /// known how far the server is. `None` where that does not come about.
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
        let (mut asked, mut before) = (0, 0);
        loop {
            // It takes turns with its clients: after two of another's questions it has dealt with ours.
            other.settle()?;
            other.settle()?;
            let come = ioctl_fionread(conversation.socket()).map_err(|error| error.to_string())?;
            if come >= asked * answer && come < MOST {
                for _ in 0..AT_A_TIME {
                    conversation.send(question)?;
                }
                asked += AT_A_TIME;
            } else if come == before {
                // Whoever stands between, such as a recorder's relay, holds some more.
                for _ in 0..BETWEEN / answer {
                    conversation.send(question)?;
                }
                other.settle()?;
                other.settle()?;
                return Ok(Some(FlushGuard { conversation }));
            } else if come >= MOST || Instant::now() > until {
                return Ok(None);
            }
            before = come;
        }
    }

    /// The first of its resource ids.
    pub(super) fn first(&self) -> u32 {
        self.conversation.setup().resource_id_base
    }
}
