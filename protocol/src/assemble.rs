//! Whole messages from the pieces of one direction.

use crate::walk::{Head, Piece, Side, Walker};

/// Bytes kept of a message that does not lie in one slice; the rest counts in its length only.
const LONGEST_KEPT: usize = 1 << 20;
/// Buffers longer than this are given back after the message that needed them.
const LONGEST_IDLE: usize = 1 << 16;
/// Bytes shown of a stream that has no message boundaries.
const LOST_SHOWN: usize = 32;

/// What the assembler hands out.
pub(crate) enum Whole<'a> {
    /// A message that went by completely, and what was kept of it.
    Message(Head, &'a [u8]),
    /// Bytes that could not be framed: why, the first of them, and how many.
    Lost(&'static str, &'a [u8], u64),
}

/// Joins pieces into messages. A message inside the slice fed is handed on without a copy.
#[derive(Debug)]
pub(crate) struct Assembler {
    pub(crate) walker: Walker,
    /// The start of the message under way.
    held: Vec<u8>,
    /// Part of it is missing: what follows does not belong behind `held`.
    cut: bool,
    /// Its head, for a message whose end is missing.
    head: Option<Head>,
}

impl Assembler {
    pub(crate) fn new(side: Side) -> Assembler {
        Assembler {
            walker: Walker::new(side),
            held: Vec::new(),
            cut: false,
            head: None,
        }
    }

    #[inline]
    pub(crate) fn feed(&mut self, bytes: &[u8], mut on: impl FnMut(Whole<'_>)) {
        let Assembler {
            walker,
            held,
            cut,
            head,
        } = self;
        walker.feed(bytes, |piece| {
            if let Some(found) = piece.head
                && piece.ends
                && piece.offset == 0
            {
                return on(Whole::Message(found, piece.bytes));
            }
            if let Some(why) = piece.lost {
                let shown = &piece.bytes[..piece.bytes.len().min(LOST_SHOWN)];
                release(held, cut, head);
                return on(Whole::Lost(why, shown, piece.bytes.len() as u64));
            }
            keep(held, *cut, &piece);
            *head = piece.head;
            if let Some(found) = piece.head
                && piece.ends
            {
                on(Whole::Message(found, held));
                release(held, cut, head);
            }
        });
    }

    /// Passes over `n` bytes that are not there.
    pub(crate) fn omit(&mut self, n: u64, mut on: impl FnMut(Whole<'_>)) {
        self.cut |= n > 0;
        if self.walker.skip(n)
            && let Some(head) = self.head
        {
            on(Whole::Message(head, &self.held));
            release(&mut self.held, &mut self.cut, &mut self.head);
        }
    }
}

fn keep(held: &mut Vec<u8>, cut: bool, piece: &Piece<'_>) {
    if !cut {
        let room = LONGEST_KEPT.saturating_sub(held.len());
        held.extend_from_slice(&piece.bytes[..piece.bytes.len().min(room)]);
    }
}

fn release(held: &mut Vec<u8>, cut: &mut bool, head: &mut Option<Head>) {
    held.clear();
    held.shrink_to(LONGEST_IDLE);
    *cut = false;
    *head = None;
}

#[cfg(test)]
impl Assembler {
    /// Bytes that the assembler has room for.
    pub(crate) fn kept(&self) -> usize {
        self.held.capacity()
    }
}
