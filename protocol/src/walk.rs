//! Finds message boundaries from the lengths of messages alone, without buffering more than a message's header.

use crate::ByteOrder;
use crate::header::{Found, Head, HeadKind, LONGEST, Phase, Side, find};

/// Consecutive bytes of one message, within the slice passed to `Walker::feed`.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The bytes of the piece; never empty.
    pub bytes: &'a [u8],
    /// The offset of the bytes in the slice passed to `Walker::feed`.
    pub at: usize,
    /// The header of the message; `None` in pieces before the length of the message is known.
    pub head: Option<Head>,
    /// The offset of `bytes` in the message.
    pub offset: u64,
    /// True if this is the last piece of the message.
    pub ends: bool,
    /// The reason why these and all later bytes of this direction have no message boundaries; otherwise `None`.
    pub lost: Option<&'static str>,
}

/// Finds the message boundaries in one direction of one connection.
#[derive(Debug, Clone)]
pub struct Walker {
    side: Side,
    order: Option<ByteOrder>,
    phase: Phase,
    /// The major opcode of BIG-REQUESTS, until the client has sent Enable.
    big_after: Option<u8>,
    /// The current message's header, once its length is known.
    head: Option<Head>,
    /// The current message's first bytes, until its length is known.
    start: [u8; LONGEST],
    /// The number of bytes of the current message so far.
    offset: u64,
}

impl Walker {
    /// Creates a walker at the start of a connection.
    pub fn new(side: Side) -> Walker {
        Walker {
            side,
            order: None,
            phase: Phase::Setup,
            big_after: None,
            head: None,
            start: [0; LONGEST],
            offset: 0,
        }
    }

    /// Creates a walker that starts at a message boundary in the middle of a connection. `order` is the connection's
    /// byte order.
    pub fn joined(side: Side, order: ByteOrder) -> Walker {
        Walker {
            order: Some(order),
            phase: Phase::Messages,
            ..Walker::new(side)
        }
    }

    /// Sets the byte order that the client chose, in a walker of the server's direction. Call it before `feed`.
    pub fn set_order(&mut self, order: ByteOrder) {
        self.order = Some(order);
    }

    /// Sets the major opcode of BIG-REQUESTS in a walker of the client's direction. Until the client enables the
    /// extension, a request of length 0 is only a header, which the server refuses. Without this call, a BIG-REQUESTS
    /// length always follows a length of 0.
    pub fn set_big_requests(&mut self, major: u8) {
        self.big_after = Some(major);
    }

    /// The number of bytes of the current message that have not arrived yet; 0 between messages. `None` before the
    /// message's length is known, and after message boundaries are lost.
    pub fn under_way(&self) -> Option<u64> {
        match (self.phase, self.head) {
            (Phase::Lost(_), _) => None,
            (_, Some(head)) => Some(head.len - self.offset),
            (_, None) => (self.offset == 0).then_some(0),
        }
    }

    /// The header of the current message; `None` before its length is known.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// True after the connection's setup in this direction.
    pub fn is_set_up(&self) -> bool {
        self.phase == Phase::Messages
    }

    /// The byte order of the connection; `None` before it is known.
    pub fn order(&self) -> Option<ByteOrder> {
        self.order
    }

    /// Processes the next bytes of the stream, and passes them to `on` in pieces, in order.
    #[inline]
    pub fn feed<'a>(&mut self, bytes: &'a [u8], mut on: impl FnMut(Piece<'a>)) {
        let mut at = 0;
        while let Some(piece) = self.next_piece(bytes, at) {
            at += piece.bytes.len();
            on(piece);
        }
    }

    /// Skips complete requests of at most `longest` bytes at the start of `bytes`, if a message of the client begins
    /// there. Passes their major and minor opcodes to `on`, and returns the number of skipped bytes. This is a fast
    /// path of [`feed`](Walker::feed) for the most frequent case.
    #[inline]
    pub fn short_requests(
        &mut self,
        bytes: &[u8],
        longest: usize,
        mut on: impl FnMut(u8, u8),
    ) -> usize {
        let (Side::Client, Phase::Messages, 0, None) =
            (self.side, self.phase, self.offset, self.big_after)
        else {
            return 0;
        };
        let Some(order) = self.order else { return 0 };
        let mut rest = bytes;
        while let Some(&[major, minor, a, b]) = rest.first_chunk() {
            let units = match order {
                ByteOrder::Little => u16::from_le_bytes([a, b]),
                ByteOrder::Big => u16::from_be_bytes([a, b]),
            };
            let len = usize::from(units) * 4;
            if len == 0 || len > longest {
                break;
            }
            let Some(after) = rest.get(len..) else { break };
            on(major, minor);
            rest = after;
        }
        bytes.len() - rest.len()
    }

    /// The next piece of a message, at offset `at` of `bytes`, as [`feed`](Walker::feed) passes it. `None` if `at` is
    /// not inside `bytes`.
    #[inline]
    pub fn next_piece<'a>(&mut self, bytes: &'a [u8], at: usize) -> Option<Piece<'a>> {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        Some(self.piece(rest, at))
    }

    /// Skips `n` missing bytes of the current message. Returns true if the message ends with them. If the length is
    /// unknown, or if `n` extends past the message, the boundaries are lost.
    pub fn skip(&mut self, n: u64) -> bool {
        if n == 0 {
            return false;
        }
        let Some(head) = self.head.filter(|head| n <= head.len - self.offset) else {
            self.lose("bytes are missing where a message's length was");
            return false;
        };
        self.offset += n;
        let ends = self.offset == head.len;
        if ends {
            self.end(head);
        }
        ends
    }

    /// Returns the piece at the start of `rest`, which is at the offset `at` in the slice fed.
    #[inline]
    fn piece<'a>(&mut self, rest: &'a [u8], at: usize) -> Piece<'a> {
        let found = match self.head {
            Some(head) => Found::Head(head),
            None => self.find(rest),
        };
        let (head, lost) = match found {
            Found::Head(head) => (Some(head), None),
            Found::Short => (None, None),
            Found::Lost(why) => (None, Some(why)),
        };
        if let Some(why) = lost {
            self.lose(why);
        }
        let offset = self.offset;
        // `offset` is less than `len`: a message ends when they are equal.
        let left = head.map_or(u64::MAX, |head| head.len - offset);
        let take = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
        let ends = take as u64 == left;
        match head {
            Some(head) if ends => self.end(head),
            head => {
                self.head = head;
                self.offset += take as u64;
            }
        }
        Piece {
            bytes: &rest[..take],
            at,
            head,
            offset,
            ends,
            lost,
        }
    }

    /// Finds the header of the current message. `rest` contains the message's next bytes.
    #[inline]
    fn find(&mut self, rest: &[u8]) -> Found {
        let big = self.big_after.is_none();
        if self.offset == 0 {
            let found = find(self.side, self.phase, big, &mut self.order, rest);
            if matches!(found, Found::Short) {
                self.hold(0, rest);
            }
            return found;
        }
        let held = match self.phase {
            // The offset also counts lost bytes without limit, so it must not be used as an index.
            Phase::Lost(why) => return Found::Lost(why),
            Phase::Setup | Phase::Messages => LONGEST.min(self.offset as usize),
        };
        let held = self.hold(held, rest);
        let start = self.start;
        find(self.side, self.phase, big, &mut self.order, &start[..held])
    }

    /// Stores the start of `bytes` after the `held` bytes of a header. Returns the number of stored bytes.
    fn hold(&mut self, held: usize, bytes: &[u8]) -> usize {
        let room = &mut self.start[held..];
        let n = room.len().min(bytes.len());
        room[..n].copy_from_slice(&bytes[..n]);
        held + n
    }

    /// Ends the message with this header.
    #[inline]
    fn end(&mut self, head: Head) {
        self.offset = 0;
        self.head = None;
        // Enable is the extension's only request, with minor opcode 0. It applies from the next request on.
        if self.big_after == Some(head.code) && head.data == 0 && head.kind == HeadKind::Request {
            self.big_after = None;
        }
        match (head.kind, head.code) {
            (HeadKind::ClientSetup, _) | (HeadKind::ServerSetup, 1) => {
                self.phase = Phase::Messages;
            }
            // Status 0, Failed: the server closes the connection (section "Connection Setup").
            (HeadKind::ServerSetup, 0) => {
                self.phase = Phase::Lost("the server had refused the connection");
            }
            // After status 2, Authenticate, another reply follows.
            _ => {}
        }
    }

    fn lose(&mut self, why: &'static str) {
        if !matches!(self.phase, Phase::Lost(_)) {
            self.phase = Phase::Lost(why);
            self.head = None;
            self.offset = 0;
        }
    }
}

#[cfg(test)]
mod tests;
