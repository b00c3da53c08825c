//! What of a connection's bytes stays out of the trace: the secret of its setup, the bodies of
//! long images unless everything is asked for, and more where the recorder cannot keep up. By
//! lengths alone, without decoding.

use std::ops::Range;

use x11prof_protocol::{Head, HeadKind, Piece, Side, Walker};
use x11prof_trace::{Direction, Gap};

use crate::images::{ImageReplies, ImageRequests};

/// Messages up to this long are kept whole, as long as the recorder keeps up.
const LONGEST_KEPT: u64 = 4096;
/// What is kept of a longer one: its header and its fixed fields, with some to spare.
const KEPT_OF_LONG: u64 = 64;
/// Messages up to this long have no body to leave out.
const SHORT: u64 = 64;
/// The first bytes of a message that are looked at.
pub(crate) const START: usize = 16;

/// How much is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing but secrets.
    Secrets,
    /// The bodies of long images.
    Images,
    /// Those of short ones too: there are very many of them.
    AllImages,
    /// All long bodies: the recorder falls behind.
    LongBodies,
    /// All bodies behind what is kept of long ones: it falls behind still.
    Bodies,
}

/// Walks one connection and says what to leave out of each block.
pub(crate) struct Omission {
    to_server: Way,
    to_client: Way,
    requests: ImageRequests,
    replies: ImageReplies,
}

/// One direction.
struct Way {
    walker: Walker,
    /// A gap has begun in the current message, and goes on to its end.
    leaving: bool,
    /// The first bytes of the current message, where it is long or was split.
    start: [u8; START],
}

impl Omission {
    pub(crate) fn new(requests: ImageRequests) -> Omission {
        let way = |side| Way {
            walker: Walker::new(side),
            leaving: false,
            start: [0; START],
        };
        Omission {
            to_server: way(Side::Client),
            to_client: way(Side::Server),
            requests,
            replies: ImageReplies::default(),
        }
    }

    /// The gaps of the next block of a direction, into `gaps`; `secret` is one in any case. True
    /// where there is one that `level` alone has made, above that of images.
    pub(crate) fn gaps(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        secret: &Range<usize>,
        level: Level,
        gaps: &mut Vec<Gap>,
    ) -> bool {
        gaps.clear();
        if level == Level::Secrets && self.is_settled() {
            // Nothing to find any more.
            return false;
        }
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

    /// The byte order is known, which needs the setup's walk.
    fn is_settled(&self) -> bool {
        self.to_server.walker.order().is_some()
    }

    fn walk_requests(
        &mut self,
        bytes: &[u8],
        base: usize,
        level: Level,
        gaps: &mut Vec<Gap>,
    ) -> bool {
        let Way {
            walker,
            leaving,
            start,
        } = &mut self.to_server;
        let (requests, replies) = (&self.requests, &mut self.replies);
        // Requests come after the setup, which was a block of its own.
        let order = walker.order();
        let mut pressed = false;
        walker.feed(bytes, |piece| {
            // Most messages: short, and here as a whole.
            if let Some(head) = piece.head
                && piece.ends
                && piece.offset == 0
                && head.len <= SHORT
            {
                if head.kind == HeadKind::Request {
                    replies.requested(requests.is_answered_with_image(head.code, head.data));
                }
                return;
            }
            note(start, &piece);
            let Some(head) = piece.head else { return };
            if head.kind != HeadKind::Request {
                return;
            }
            if piece.ends {
                replies.requested(requests.is_answered_with_image(head.code, head.data));
            }
            let kept = requests.kept(head, start, order);
            let rule = rule(level, head, kept.is_some());
            pressed |= leave_out(
                &piece,
                kept.unwrap_or(KEPT_OF_LONG),
                rule,
                leaving,
                base,
                gaps,
            );
        });
        pressed
    }

    fn walk_answers(&mut self, bytes: &[u8], level: Level, gaps: &mut Vec<Gap>) -> bool {
        let Some(order) = self.to_server.walker.order() else {
            return false;
        };
        let Way {
            walker,
            leaving,
            start,
        } = &mut self.to_client;
        walker.set_order(order);
        let replies = &self.replies;
        let mut pressed = false;
        walker.feed(bytes, |piece| {
            if let Some(head) = piece.head
                && piece.ends
                && piece.offset == 0
                && head.len <= SHORT
            {
                return;
            }
            note(start, &piece);
            let Some(head) = piece.head else { return };
            if !matches!(head.kind, HeadKind::Reply | HeadKind::Event) {
                return;
            }
            let sequence = order.u16(start, 2).unwrap_or(0);
            let image = head.kind == HeadKind::Reply && replies.is_awaited(sequence);
            let rule = rule(level, head, image);
            pressed |= leave_out(&piece, KEPT_OF_LONG, rule, leaving, 0, gaps);
        });
        pressed
    }
}

/// Why a message's body is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Keep,
    Image,
    Pressure,
}

fn rule(level: Level, head: Head, image: bool) -> Rule {
    let long = head.len > LONGEST_KEPT;
    if image && (long && level >= Level::Images || level >= Level::AllImages) {
        Rule::Image
    } else if level == Level::Bodies || (long && level == Level::LongBodies) {
        Rule::Pressure
    } else {
        Rule::Keep
    }
}

/// Takes note of a message's first bytes.
fn note(start: &mut [u8; START], piece: &Piece<'_>) {
    if piece.offset < START as u64 {
        let room = start.iter_mut().skip(piece.offset as usize);
        for (kept, &byte) in room.zip(piece.bytes) {
            *kept = byte;
        }
    }
}

/// Leaves out what of a message's piece lies behind what is kept. True where that is for
/// pressure.
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

/// Adds a gap, joined to the one before where they touch.
fn push(gaps: &mut Vec<Gap>, at: u64, len: u64) {
    // A block is one socket read, far below 4 GiB.
    let (Ok(at), Ok(len)) = (u32::try_from(at), u32::try_from(len)) else {
        return;
    };
    match gaps.last_mut() {
        Some(last) if last.at.saturating_add(last.len) == at => last.len += len,
        _ => gaps.push(Gap { at, len }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUT_IMAGE: u8 = 72;
    const GET_IMAGE: u8 = 73;

    fn new() -> Omission {
        Omission::new(ImageRequests::default())
    }

    /// A client setup without authorization, in native order of the tests' numbers.
    const SETUP: [u8; 12] = [b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    /// The shortest success that frames: 8 bytes and no more.
    const ACCEPTED: [u8; 8] = [1, 0, 11, 0, 0, 0, 0, 0];

    fn request(opcode: u8, len: usize) -> Vec<u8> {
        let mut bytes = vec![opcode, 0];
        bytes.extend(u16::try_from(len / 4).unwrap().to_le_bytes());
        bytes.resize(len, 0xAA);
        bytes
    }

    fn reply(sequence: u16, len: usize) -> Vec<u8> {
        let mut bytes = vec![1, 24];
        bytes.extend(sequence.to_le_bytes());
        bytes.extend(u32::try_from((len - 32) / 4).unwrap().to_le_bytes());
        bytes.resize(len, 0xBB);
        bytes
    }

    /// The gaps of a stream when it comes in reads of `step` bytes, as offsets in the stream.
    fn gaps(
        omission: &mut Omission,
        direction: Direction,
        stream: &[u8],
        step: usize,
        level: Level,
    ) -> Vec<Gap> {
        let (mut all, mut some) = (Vec::new(), Vec::new());
        for (n, read) in stream.chunks(step).enumerate() {
            omission.gaps(direction, read, &(0..0), level, &mut some);
            for gap in &some {
                push(
                    &mut all,
                    u64::from(gap.at) + (n * step) as u64,
                    gap.len.into(),
                );
            }
        }
        all
    }

    #[test]
    fn only_long_put_images_lose_their_bodies() {
        let stream = [
            SETUP.to_vec(),
            request(PUT_IMAGE, 4096),
            request(65, 8000),
            request(PUT_IMAGE, 4100),
            request(127, 4),
            request(PUT_IMAGE, 9000),
        ]
        .concat();
        let first = 12 + 4096 + 8000;
        let expected = [(first + 24, 4100 - 24), (first + 4100 + 4 + 24, 9000 - 24)]
            .map(|(at, len)| Gap { at, len });
        for step in [1, 3, 63, 64, 65, 1000, stream.len()] {
            let gaps = |level| gaps(&mut new(), Direction::ToServer, &stream, step, level);
            assert_eq!(gaps(Level::Images), expected);
            assert_eq!(gaps(Level::Secrets), []);
        }
    }

    #[test]
    fn only_replies_to_get_image_lose_their_bodies() {
        let requests = [
            SETUP.to_vec(),
            request(20, 24),
            request(GET_IMAGE, 20),
            request(GET_IMAGE, 20),
        ]
        .concat();
        let answers = [
            ACCEPTED.to_vec(),
            reply(1, 8000),
            reply(2, 8000),
            reply(3, 4096),
        ]
        .concat();
        let expected = [Gap {
            at: 8 + 8000 + 64,
            len: 8000 - 64,
        }];
        for step in [1, 5, 33, 4096, answers.len()] {
            let mut omission = new();
            let mut gaps = |direction, stream: &[u8], step| {
                gaps(&mut omission, direction, stream, step, Level::Images)
            };
            assert_eq!(gaps(Direction::ToServer, &requests, 7), []);
            assert_eq!(gaps(Direction::ToClient, &answers, step), expected);
        }
    }

    #[test]
    fn under_pressure_long_bodies_go_and_then_all_of_them() {
        let stream = [
            SETUP.to_vec(),
            request(65, 8000),
            request(70, 400),
            request(127, 64),
            request(70, 68),
        ]
        .concat();
        for step in [1, 63, 100, 9000] {
            let mut omission = new();
            let long = gaps(
                &mut omission,
                Direction::ToServer,
                &stream,
                step,
                Level::LongBodies,
            );
            let expected = [(12 + 64, 8000 - 64)].map(|(at, len)| Gap { at, len });
            assert_eq!(long, expected, "{step}");
            let all = gaps(
                &mut new(),
                Direction::ToServer,
                &stream,
                step,
                Level::Bodies,
            );
            let expected = [
                (12 + 64, 8000 - 64),
                (8012 + 64, 400 - 64),
                (8012 + 464 + 64, 4),
            ]
            .map(|(at, len)| Gap { at, len });
            assert_eq!(all, expected, "{step}");
        }
    }

    #[test]
    fn where_there_are_very_many_short_images_lose_theirs_too() {
        let stream = [SETUP.to_vec(), request(PUT_IMAGE, 424), request(70, 5000)].concat();
        for step in [1, 25, 6000] {
            let found = gaps(
                &mut new(),
                Direction::ToServer,
                &stream,
                step,
                Level::AllImages,
            );
            assert_eq!(
                found,
                [Gap {
                    at: 12 + 24,
                    len: 400
                }]
            );
        }
    }

    #[test]
    fn a_gap_that_began_goes_on_when_the_pressure_has_gone() {
        let (mut omission, mut found) = (new(), Vec::new());
        let stream = [SETUP.to_vec(), request(65, 8000), request(65, 8000)].concat();
        let mut next = |bytes: &[u8], level| {
            let pressed = omission.gaps(Direction::ToServer, bytes, &(0..0), level, &mut found);
            (found.clone(), pressed)
        };
        assert_eq!(next(&stream[..1012], Level::Images), (vec![], false));
        let rest = vec![Gap { at: 0, len: 1000 }];
        assert_eq!(next(&stream[1012..2012], Level::LongBodies), (rest, true));
        let rest = vec![Gap { at: 0, len: 6000 }];
        assert_eq!(next(&stream[2012..], Level::Images), (rest, false));
    }

    #[test]
    fn the_secret_of_a_setup_is_a_gap_even_in_a_full_trace() {
        let mut setup = SETUP.to_vec();
        setup[6] = 4;
        setup[8] = 16;
        setup.extend(b"NAME");
        setup.extend([7; 16]);
        setup.extend(request(PUT_IMAGE, 5000));
        for (level, expected) in [(Level::Secrets, 1), (Level::Images, 2)] {
            let (mut omission, mut found) = (new(), Vec::new());
            omission.gaps(Direction::ToServer, &setup, &(16..32), level, &mut found);
            assert_eq!(found[0], Gap { at: 16, len: 16 });
            assert_eq!(found.len(), expected);
        }
    }
}
