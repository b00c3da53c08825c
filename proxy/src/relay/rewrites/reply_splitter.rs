//! Splits the bytes of a server into messages, so that replies can be inserted between them.

use x11prof_protocol::ByteOrder;

/// The length in bytes of every message except longer replies and generic events (protocol encoding, "Replies").
const SHORT: usize = 32;
/// Codes of messages. All other codes are events.
const ERROR: u8 = 0;
const REPLY: u8 = 1;
/// The event that has no sequence number (protocol, "KeymapNotify").
const KEYMAP_NOTIFY: u8 = 11;
/// The event that can be longer (Generic Event Extension).
const GENERIC: u8 = 35;

/// The kind of a server's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Reply,
    Error,
    Event,
    /// The message is an event without a sequence number.
    Unnumbered,
}

/// The result of [`ReplySplitter::next`]: the next part of the server's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplyPiece {
    /// More bytes must arrive before the next part can be found.
    Wait,
    /// The given number of bytes belong to the current message.
    Rest(usize),
    /// A message begins, and its first 32 bytes have arrived. `alone` is true if the message has no more bytes.
    Message { kind: MessageKind, alone: bool },
}

/// Splits the bytes from a server into messages. Stores the position in the current message.
#[derive(Debug)]
pub(super) struct ReplySplitter {
    order: ByteOrder,
    is_setup: bool,
    /// The number of bytes of the current message that have not been processed.
    rest: u64,
}

impl ReplySplitter {
    pub(super) fn new(order: ByteOrder) -> ReplySplitter {
        ReplySplitter {
            order,
            is_setup: true,
            rest: 0,
        }
    }

    /// True if the last processed byte was the end of a message.
    pub(super) fn are_between(&self) -> bool {
        self.rest == 0 && !self.is_setup
    }

    /// Finds the next part at the start of `bytes`, which must begin at the end of the previous part.
    pub(super) fn next(&mut self, bytes: &[u8]) -> ReplyPiece {
        if self.is_setup {
            // All three kinds of setup reply have their length at byte 6 (protocol encoding, "Connection Setup").
            let Some(units) = self.order.u16(bytes, 6) else {
                return ReplyPiece::Wait;
            };
            self.is_setup = false;
            self.rest = 8 + 4 * u64::from(units);
        }
        if self.rest > 0 {
            let here = usize::try_from(self.rest).map_or(bytes.len(), |rest| rest.min(bytes.len()));
            self.rest -= here as u64;
            return ReplyPiece::Rest(here);
        }
        let (Some(&code), true) = (bytes.first(), bytes.len() >= SHORT) else {
            return ReplyPiece::Wait;
        };
        let kind = match code {
            ERROR => MessageKind::Error,
            REPLY => MessageKind::Reply,
            event if event & 0x7F == KEYMAP_NOTIFY => MessageKind::Unnumbered,
            _ => MessageKind::Event,
        };
        if code == REPLY || code & 0x7F == GENERIC {
            self.rest = 4 * u64::from(self.order.u32(bytes, 4).unwrap_or(0));
        }
        let alone = self.rest == 0;
        ReplyPiece::Message { kind, alone }
    }
}
