//! Assembles whole messages from consecutive slices of the bytes that one side of a connection sent.

use crate::header::{Head, HeadKind, Side};
use crate::walk::{Piece, Walker};

/// The maximum number of stored bytes of a message that spans several slices, unless the caller sets another limit. The
/// length of the message also counts the bytes that are not stored.
const LONGEST_KEPT: usize = 1 << 20;
/// The maximum number of bytes that a [`Whole::Lost`] contains.
const LOST_SHOWN: usize = 32;

/// Memory for messages that arrive in several slices. Connections share the memory, because few connections have an
/// incomplete message at the same time.
#[derive(Debug, Default)]
pub struct ScratchBuffers(Vec<u8>);

/// An item that the assembler returns.
pub(crate) enum Whole<'a> {
    /// A complete message: its header, its recorded bytes, and the number of equal messages in a row.
    Message(Head, &'a [u8], u64),
    /// Bytes without message boundaries: the reason why, the first bytes, and the number of bytes.
    Lost(&'static str, &'a [u8], u64),
}

impl Whole<'_> {
    /// The number of equal messages that this message represents.
    pub(crate) fn times(&self) -> u64 {
        match self {
            Whole::Message(_, _, times) => *times,
            Whole::Lost(..) => 1,
        }
    }
}

/// Joins slices into messages. A message that lies within one slice is passed to the caller without a copy.
#[derive(Debug)]
pub(crate) struct Assembler {
    pub(crate) walker: Walker,
    /// The stored bytes of the current message, from its first byte on.
    held: Vec<u8>,
    /// True if a part of the current message is missing. Later bytes of the message are then not appended to `held`.
    cut: bool,
    /// The header of the current message, if its end is missing.
    head: Option<Head>,
    /// The maximum number of stored bytes of a message that does not lie within one slice.
    pub(crate) longest: usize,
    /// A function that returns true for the major opcodes whose equal requests are coalesced; `None` if none are
    /// coalesced.
    pub(crate) together: Option<fn(u8) -> bool>,
}

impl Assembler {
    pub(crate) fn new(side: Side) -> Assembler {
        Assembler::with(Walker::new(side))
    }

    /// Creates an assembler that continues at the position of `walker`.
    pub(crate) fn with(walker: Walker) -> Assembler {
        Assembler {
            walker,
            held: Vec::new(),
            cut: false,
            head: None,
            longest: LONGEST_KEPT,
            together: None,
        }
    }

    /// Moves the memory of `room` into the assembler, unless the assembler has part of a message.
    #[inline]
    pub(crate) fn enter(&mut self, room: &mut ScratchBuffers) {
        if self.held.is_empty() {
            std::mem::swap(&mut self.held, &mut room.0);
        }
    }

    /// Moves the assembler's memory back to `room`, unless the assembler has part of a message.
    #[inline]
    pub(crate) fn leave(&mut self, room: &mut ScratchBuffers) {
        if self.held.is_empty() {
            if self.held.capacity() > room.0.capacity() {
                std::mem::swap(&mut self.held, &mut room.0);
            }
            self.held = Vec::new();
        }
    }

    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8], mut on: impl FnMut(Whole<'_>)) {
        let Assembler {
            walker,
            held,
            cut,
            head,
            longest,
            together,
        } = self;
        let mut at = 0;
        while let Some(piece) = walker.next_piece(bytes, at) {
            at += piece.bytes.len();
            if let Some(found) = piece.head
                && piece.ends
                && piece.offset == 0
            {
                let alike = match together {
                    // A request of length 0 may be malformed, so it is not coalesced.
                    Some(together)
                        if found.kind == HeadKind::Request
                            && found.header_len == 4
                            && together(found.code)
                            && piece.bytes[2..4] != [0, 0] =>
                    {
                        repetitions(&bytes[at..], piece.bytes)
                    }
                    _ => 0,
                };
                at += alike * piece.bytes.len();
                on(Whole::Message(found, piece.bytes, 1 + alike as u64));
                continue;
            }
            if let Some(why) = piece.lost {
                let shown = &piece.bytes[..piece.bytes.len().min(LOST_SHOWN)];
                release(held, cut, head);
                on(Whole::Lost(why, shown, piece.bytes.len() as u64));
                continue;
            }
            keep(held, *longest, *cut, &piece);
            *head = piece.head;
            if let Some(found) = piece.head
                && piece.ends
            {
                on(Whole::Message(found, held, 1));
                release(held, cut, head);
            }
        }
    }

    /// Skips `n` bytes of a message that are missing in the trace. If the message ends with these bytes, passes the
    /// message to `on`.
    pub(crate) fn omit(&mut self, n: u64, mut on: impl FnMut(Whole<'_>)) {
        self.cut |= n > 0;
        if self.walker.skip(n)
            && let Some(head) = self.head
        {
            on(Whole::Message(head, &self.held, 1));
            release(&mut self.held, &mut self.cut, &mut self.head);
        }
    }
}

/// The number of consecutive copies of `message` at the start of `bytes`.
fn repetitions(bytes: &[u8], message: &[u8]) -> usize {
    let next = bytes.chunks_exact(message.len());
    next.take_while(|next| *next == message).count()
}

fn keep(held: &mut Vec<u8>, longest: usize, cut: bool, piece: &Piece<'_>) {
    if !cut {
        // Allocates the whole message at once, because a long message arrives in many pieces.
        if let Some(head) = piece.head {
            let wanted = head.len.min(longest as u64) as usize;
            held.reserve_exact(wanted.saturating_sub(held.len()));
        }
        let room = longest.saturating_sub(held.len());
        held.extend_from_slice(&piece.bytes[..piece.bytes.len().min(room)]);
    }
}

fn release(held: &mut Vec<u8>, cut: &mut bool, head: &mut Option<Head>) {
    held.clear();
    *cut = false;
    *head = None;
}

#[cfg(test)]
impl Assembler {
    /// The size of the assembler's memory in bytes.
    pub(crate) fn kept(&self) -> usize {
        self.held.capacity()
    }
}
