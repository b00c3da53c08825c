//! Chooses the bytes of a connection that are omitted from the trace: the secret of its setup, the bodies of long
//! images (unless the user requests them), and more if the recorder falls behind. The module uses only the lengths of
//! messages and does not decode them.

use std::ops::Range;

use x11prof_protocol::{ByteOrder, Head, HeadKind, Piece, Side, Walker};
use x11prof_trace::{Direction, Gap};

use crate::recorder::images::{Body, ImageReplies, ImageRequests, START};

/// The maximum length in bytes of a message that is kept whole as long as the recorder keeps up.
const LONGEST_KEPT: u64 = 4096;
/// The number of bytes that are kept of a message whose body is omitted: its header and its fixed fields, with a margin.
const KEPT_OF_LONG: u64 = 64;
/// Messages up to this length have no body that could be omitted.
const SHORT: usize = 64;
/// The event that has no sequence number (protocol, "KeymapNotify").
const KEYMAP_NOTIFY: u8 = 11;
/// The server's reply to a setup that it accepts, and the offset of the client's first resource id in it (protocol
/// encoding, "Connection Setup").
const ACCEPTED: u8 = 1;
const FIRST_ID_AT: usize = 12;
/// The kinds of bytes to omit. Each level also omits the bytes of the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Omits secrets from the trace.
    Secrets,
    /// Omits the bodies of long images.
    Images,
    /// Omits also the bodies of short images, because there are very many.
    AllImages,
    /// Also omits the bodies of messages over 4 KiB, because the recorder falls behind.
    LongBodies,
    /// Also omits the bodies of shorter messages, because the recorder still falls behind.
    Bodies,
}

/// Follows one connection, and finds the gaps of each block.
pub(crate) struct Omission {
    to_server: DirectionWalk,
    to_client: DirectionWalk,
    requests: ImageRequests,
    replies: ImageReplies,
    /// The client's first resource id; `None` until the server has accepted its setup.
    pub(crate) first_id: Option<u32>,
    /// The parts of QueryClientIds replies in the last block: the offset of each part in its reply, and its range in
    /// the block.
    pub(crate) client_ids: Vec<(u64, Range<usize>)>,
}

/// A direction of the connection.
struct DirectionWalk {
    walker: Walker,
    /// True if a gap has begun in the current message and extends to its end.
    leaving: bool,
    /// The first bytes of the current message, if it is long or was split.
    start: [u8; START],
}

impl Omission {
    pub(crate) fn new(requests: ImageRequests) -> Omission {
        let way = |side| DirectionWalk {
            walker: Walker::new(side),
            leaving: false,
            start: [0; START],
        };
        Omission {
            to_server: way(Side::Client),
            to_client: way(Side::Server),
            requests,
            replies: ImageReplies::default(),
            first_id: None,
            client_ids: Vec::new(),
        }
    }

    /// The byte order of the connection; `None` until the client has sent its setup.
    pub(crate) fn order(&self) -> Option<ByteOrder> {
        self.to_server.walker.order()
    }

    /// Creates the state in the middle of a connection of this byte order, after the request `last_request`. With
    /// `setup`, the server's side begins with its reply to the setup.
    pub(crate) fn joined(
        requests: ImageRequests,
        order: ByteOrder,
        last_request: u64,
        setup: bool,
    ) -> Omission {
        let mut omission = Omission::new(requests);
        omission.to_server.walker = Walker::joined(Side::Client, order);
        if !setup {
            omission.to_client.walker = Walker::joined(Side::Server, order);
        }
        omission.replies = ImageReplies::after(last_request);
        omission
    }

    /// Adds a gap of `len` bytes after `at` bytes of the block, for missing bytes of the server's current message.
    pub(crate) fn missing(&mut self, at: usize, len: u32, gaps: &mut Vec<Gap>) {
        self.to_client.walker.skip(u64::from(len));
        self.to_client.leaving = false;
        push(gaps, at as u64, u64::from(len));
    }

    /// Writes the gaps of the next block of a direction to `gaps`, always including the range `secret`. Returns true if
    /// `level` caused a gap that `Level::Images` would not cause.
    pub(crate) fn gaps(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        secret: &Range<usize>,
        level: Level,
        gaps: &mut Vec<Gap>,
    ) -> bool {
        gaps.clear();
        self.client_ids.clear();
        match direction {
            Direction::ToServer if !secret.is_empty() => {
                let before = bytes.get(..secret.start).unwrap_or_default();
                let after = bytes.get(secret.end..).unwrap_or_default();
                self.walk_requests(before, 0, level, gaps);
                self.to_server.walker.skip(secret.len() as u64);
                push(gaps, secret.start as u64, secret.len() as u64);
                self.walk_requests(after, secret.end, level, gaps)
            }
            Direction::ToServer => self.walk_requests(bytes, 0, level, gaps),
            Direction::ToClient => self.walk_answers(bytes, level, gaps),
        }
    }

    fn walk_requests(
        &mut self,
        bytes: &[u8],
        base: usize,
        level: Level,
        gaps: &mut Vec<Gap>,
    ) -> bool {
        let DirectionWalk {
            walker,
            leaving,
            start,
        } = &mut self.to_server;
        let (requests, replies) = (&self.requests, &mut self.replies);
        // Requests follow the setup, which was a separate block.
        let order = walker.order();
        let mut pressed = false;
        let mut at = 0;
        loop {
            // Fast path for most requests: short and complete.
            let rest = bytes.get(at..).unwrap_or_default();
            at += walker.short_requests(rest, SHORT, |major, minor| {
                replies.requested(requests.answer(major, minor));
            });
            let Some(piece) = walker.next_piece(bytes, at) else {
                return pressed;
            };
            at += piece.bytes.len();
            note(start, &piece);
            let Some(head) = piece.head else { continue };
            if head.kind != HeadKind::Request {
                continue;
            }
            if piece.ends {
                replies.requested(requests.answer(head.code, head.data));
            }
            let kept = requests.kept(head, start, order);
            let rule = rule(level, head, kept.map(|_| Body::Image));
            pressed |= leave_out(
                &piece,
                kept.unwrap_or(KEPT_OF_LONG),
                rule,
                leaving,
                base,
                gaps,
            );
        }
    }

    fn walk_answers(&mut self, bytes: &[u8], level: Level, gaps: &mut Vec<Gap>) -> bool {
        let Some(order) = self.to_server.walker.order() else {
            return false;
        };
        let DirectionWalk {
            walker,
            leaving,
            start,
        } = &mut self.to_client;
        walker.set_order(order);
        let (replies, first_id) = (&mut self.replies, &mut self.first_id);
        let client_ids = &mut self.client_ids;
        let mut pressed = false;
        walker.feed(bytes, |piece| {
            note(start, &piece);
            let Some(head) = piece.head else { return };
            let come = piece.offset + piece.bytes.len() as u64;
            let numbered = match head.kind {
                HeadKind::ServerSetup if head.code == ACCEPTED && come >= START as u64 => {
                    *first_id = order.u32(start, FIRST_ID_AT);
                    return;
                }
                HeadKind::Reply | HeadKind::Error => true,
                HeadKind::Event => head.code & 0x7F != KEYMAP_NOTIFY,
                _ => return,
            };
            // The number arrived with these bytes or before.
            let number = order.u16(start, 2).filter(|_| numbered && come >= 4);
            let body = number.and_then(|number| replies.answered(number));
            let body = body.filter(|_| head.kind == HeadKind::Reply);
            if body == Some(Body::ClientIds) {
                let end = piece.at + piece.bytes.len();
                client_ids.push((piece.offset, piece.at..end));
            }
            let kept = match body {
                Some(Body::Secret) => u64::from(head.header_len),
                _ => KEPT_OF_LONG,
            };
            let rule = rule(level, head, body);
            pressed |= leave_out(&piece, kept, rule, leaving, 0, gaps);
        });
        pressed
    }
}

/// The reason for omitting a message's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Keep,
    /// The content of the message is an image or a secret.
    Image,
    Pressure,
}

fn rule(level: Level, head: Head, body: Option<Body>) -> Rule {
    let long = head.len > LONGEST_KEPT;
    let left_out = match body {
        Some(Body::Secret) => true,
        Some(Body::Image) => long && level >= Level::Images || level >= Level::AllImages,
        Some(Body::ClientIds) | None => false,
    };
    if left_out {
        Rule::Image
    } else if level == Level::Bodies || (long && level == Level::LongBodies) {
        Rule::Pressure
    } else {
        Rule::Keep
    }
}

/// Copies the first bytes of the current message from its part `piece` to `start`.
fn note(start: &mut [u8; START], piece: &Piece<'_>) {
    if piece.offset < START as u64 {
        let room = start.iter_mut().skip(piece.offset as usize);
        for (kept, &byte) in room.zip(piece.bytes) {
            *kept = byte;
        }
    }
}

/// If `rule` omits the message's body, adds a gap for the bytes of the message's part `piece` after the first `kept`
/// bytes of the message. `base` is the offset of the walked bytes in the block. Returns true if a gap begins here
/// because the queue is filling.
fn leave_out(
    piece: &Piece<'_>,
    kept: u64,
    rule: Rule,
    leaving: &mut bool,
    base: usize,
    gaps: &mut Vec<Gap>,
) -> bool {
    let len = piece.bytes.len() as u64;
    let went_on = *leaving;
    let mut pressed = false;
    if *leaving {
        push(gaps, (base + piece.at) as u64, len);
    } else if rule != Rule::Keep && piece.offset + len > kept {
        let kept = kept.saturating_sub(piece.offset);
        push(gaps, (base + piece.at) as u64 + kept, len - kept);
        *leaving = true;
        pressed = rule == Rule::Pressure;
    }
    if piece.ends {
        *leaving = false;
    }
    pressed && !went_on
}

/// Adds a gap, or extends the previous one if they are adjacent.
fn push(gaps: &mut Vec<Gap>, at: u64, len: u64) {
    // A block is one socket read, far smaller than 4 GiB.
    let (Ok(at), Ok(len)) = (u32::try_from(at), u32::try_from(len)) else {
        return;
    };
    match gaps.last_mut() {
        Some(last) if last.at.saturating_add(last.len) == at => last.len += len,
        _ => gaps.push(Gap { at, len }),
    }
}

#[cfg(test)]
mod tests;
