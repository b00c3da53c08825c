//! Copies a trace without typed or displayed text. Lengths and times are kept, so all reports are the same except for
//! names. Unused bytes become zeros, so requests that differed only in these bytes are repeated ones in the copy.
//!
//! The name of each request, reply and event determines which of its parts are replaced (requests.rs, answers.rs). Only
//! the headers of messages of unknown extensions are kept.

mod answers;
mod block_bytes;
mod bytes;
mod cleared;
mod control;
mod events;
mod glyphs;
mod keys;
mod pending_records;
mod replacements;
mod requests;
mod secrets;
#[cfg(test)]
mod tests;
mod well_known;

use rustc_hash::FxHashSet;
use x11prof_protocol::Message;
use x11prof_trace::{Control, Direction, Record, Started, Timestamp};

use crate::pipeline::{MessageContext, Observation, Pipeline};
use answers::GENERIC_EVENT;
use bytes::from;
use cleared::ClearedBytes;
use glyphs::GlyphIds;
use keys::KeyCodes;
use pending_records::{PendingRecords, Stream};
use replacements::Replacements;
use secrets::Secrets;

/// The number of bytes of an error that have a meaning ("X Window System Protocol", section 4). Servers send memory of
/// earlier events in the others.
const END_OF_ERROR: usize = 11;

/// Replaces text in the records of a trace. Call [`begin`](Scrubber::begin) for the first record, and
/// [`feed`](Scrubber::feed) for each other one, then remove the available ones with [`next`](Scrubber::next). Call
/// [`finish`](Scrubber::finish) after the last record.
pub struct Scrubber {
    pipeline: Pipeline,
    held: PendingRecords,
    editor: Editor,
}

/// The number of changes that a scrubber has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scrubbed {
    /// The number of messages in the trace.
    pub messages: u64,
    /// The number of messages in which a part was replaced.
    pub changed: u64,
    /// The number of bytes in which no messages could be found; all of them were replaced by zeros.
    pub lost_bytes: u64,
}

/// Replaces the private parts of messages.
struct Editor {
    replacements: Replacements,
    cleared: ClearedBytes,
    /// Streams after a malformed message. The message boundaries behind it may be anywhere, also in text.
    lost: FxHashSet<Stream>,
    /// The current message.
    bytes: Vec<u8>,
    scrubbed: Scrubbed,
}

impl Default for Scrubber {
    fn default() -> Scrubber {
        Scrubber::new()
    }
}

impl Scrubber {
    /// Creates a scrubber with a new random key.
    pub fn new() -> Scrubber {
        let secrets = Secrets::default();
        let keys = KeyCodes::new(secrets.first_key());
        Scrubber {
            pipeline: Pipeline::new(),
            held: PendingRecords::default(),
            editor: Editor {
                replacements: Replacements {
                    secrets,
                    keys,
                    glyphs: GlyphIds::default(),
                },
                cleared: ClearedBytes::default(),
                lost: FxHashSet::default(),
                bytes: Vec::new(),
                scrubbed: Scrubbed::default(),
            },
        }
    }

    /// Processes the first record of a trace. Returns its scrubbed form, with which the copy begins.
    pub fn begin(&mut self, time: Timestamp, started: Started) -> Started {
        let record = Record::Control(time, Control::Started(started.clone()));
        self.pipeline.take(&record, |_| {});
        self.held.push(Record::Control(time, Control::Scrubbed {}));
        control::started(started)
    }

    /// Processes another record of the trace.
    pub fn feed(&mut self, record: Record) {
        let (pipeline, held, editor) = (&mut self.pipeline, &mut self.held, &mut self.editor);
        match &record {
            Record::Block(block) => {
                let stream = (block.connection, block.direction);
                held.push(record.clone());
                pipeline.take(&record, |observation| match observation {
                    Observation::Message(seen) => {
                        let wire_len = wire_len(seen.message);
                        let scrubbed = editor.message(seen, block.direction);
                        held.message(stream, wire_len, scrubbed);
                    }
                    Observation::Lost(block) => {
                        editor.scrubbed.lost_bytes += u64::from(block.wire_len);
                        held.lost(stream);
                    }
                    _ => {}
                });
                if editor.lost.contains(&stream) {
                    held.lost(stream);
                }
            }
            Record::Control(time, control) => {
                pipeline.take(&record, |_| {});
                if let Control::Opened(opened) = control {
                    editor.end(held, opened.connection);
                }
                if let Control::Closed { connection, .. } = control {
                    editor.end(held, *connection);
                }
                if let Control::Joined(joined) = control {
                    editor.end(held, joined.connection);
                    let [there, back] = joined.under_way;
                    held.join((joined.connection, Direction::ToServer), there);
                    held.join((joined.connection, Direction::ToClient), back);
                }
                let secrets = &editor.replacements.secrets;
                let control = control::scrub(control.clone(), secrets);
                held.push(Record::Control(*time, control));
            }
            Record::Schedule(_) | Record::HandlerTimes(_) => held.push(record),
        }
    }

    /// Removes and returns the next record of the copy; `None` if it is not ready.
    #[expect(
        clippy::should_implement_trait,
        reason = "none now does not mean none later, as with an Iterator"
    )]
    pub fn next(&mut self) -> Option<Record> {
        self.held.pop()
    }

    /// Ends the trace, so that the pending records become available. Returns the numbers of changes.
    pub fn finish(&mut self) -> Scrubbed {
        self.held.end_all();
        self.editor.scrubbed
    }
}

impl Editor {
    /// The scrubbed bytes of a message; `None` if the message is unchanged.
    fn message(&mut self, seen: &MessageContext<'_>, direction: Direction) -> Option<&[u8]> {
        self.scrubbed.messages += 1;
        let before = match seen.message {
            Message::ClientSetup(setup) => setup.bytes,
            Message::ServerSetup(setup) => setup.bytes,
            Message::Request(request) => request.bytes,
            Message::Reply(reply) => reply.bytes,
            Message::Event(event) => event.bytes,
            Message::Error(error) => error.bytes,
            Message::Malformed(malformed) => malformed.bytes,
        };
        self.bytes.clear();
        self.bytes.extend_from_slice(before);
        let (bytes, to) = (&mut self.bytes, &mut self.replacements);
        match seen.message {
            // The header and the name of the authorization protocol.
            Message::ClientSetup(setup) => {
                let name = 12 + setup.authorization.len();
                from(bytes, name).fill(0);
            }
            Message::ServerSetup(setup) => Replacements::setup(setup, bytes),
            Message::Request(request) => {
                to.request(seen.connection, request, from(bytes, request.header_len));
                self.cleared.clear_unused(request, seen.extensions, bytes);
            }
            Message::Reply(reply) => to.reply(reply, bytes),
            Message::Event(event) => {
                // Of an event without known fields only the header is kept.
                let is_decoded = event.code != GENERIC_EVENT
                    || self.cleared.clear_modifiers(event, seen.extensions, bytes);
                to.event(seen.connection, event, is_decoded, bytes);
            }
            Message::Error(_) => from(bytes, END_OF_ERROR).fill(0),
            Message::Malformed(_) => {
                bytes.fill(0);
                self.lost.insert((seen.connection, direction));
            }
        }
        // Of a truncated message the pass has only the first bytes, so the rest is removed.
        let is_part = (before.len() as u64) < wire_len(seen.message);
        let is_changed = self.bytes != before;
        self.scrubbed.changed += u64::from(is_changed);
        (is_changed || is_part).then_some(&self.bytes)
    }

    /// Ends the streams of a connection that has ended, or whose number another connection now has.
    fn end(&mut self, held: &mut PendingRecords, connection: x11prof_trace::ConnectionId) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            held.end((connection, direction));
            self.lost.remove(&(connection, direction));
        }
        self.replacements.keys.closed(connection);
    }
}

/// Returns the number of bytes of a message on the wire.
fn wire_len(message: &Message<'_>) -> u64 {
    match message {
        Message::ClientSetup(setup) => setup.wire_len,
        Message::ServerSetup(setup) => setup.wire_len,
        Message::Request(request) => request.wire_len,
        Message::Reply(reply) => reply.wire_len,
        Message::Event(event) => event.wire_len,
        Message::Error(_) => 32,
        Message::Malformed(malformed) => malformed.wire_len,
    }
}
