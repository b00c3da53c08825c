//! What of a connection's bytes stays out of the trace: the secret of its setup, and, unless
//! everything is asked for, the bodies of long images. By lengths alone, without decoding.

use std::collections::HashSet;
use std::ops::Range;

use x11prof_protocol::{Head, HeadKind, Piece, Side, Walker};
use x11prof_trace::{Direction, Gap};

/// Image messages up to this long are kept whole.
const LONGEST_KEPT_IMAGE: u64 = 4096;
/// What is kept of a longer one: its header and its fixed fields, with some to spare.
const KEPT_OF_IMAGE: u64 = 64;

/// Core opcodes (protocol encoding, "Requests").
const PUT_IMAGE: u8 = 72;
const GET_IMAGE: u8 = 73;

/// Walks one connection and says what to leave out of each block.
pub(crate) struct Omission {
    full: bool,
    to_server: Walker,
    to_client: Walker,
    images: ImageReplies,
    /// The first bytes of the server's current message: code, data, sequence number.
    reply_start: [u8; 4],
}

impl Omission {
    pub(crate) fn new(full: bool) -> Omission {
        Omission {
            full,
            to_server: Walker::new(Side::Client),
            to_client: Walker::new(Side::Server),
            images: ImageReplies::default(),
            reply_start: [0; 4],
        }
    }

    /// The gaps of the next block of a direction, into `gaps`; `secret` is one in any case.
    pub(crate) fn gaps(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        secret: &Range<usize>,
        gaps: &mut Vec<Gap>,
    ) {
        gaps.clear();
        match direction {
            Direction::ToServer if !secret.is_empty() => {
                let before = bytes.get(..secret.start).unwrap_or_default();
                let after = bytes.get(secret.end..).unwrap_or_default();
                self.requests(before, 0, gaps);
                self.to_server.skip(secret.len() as u64);
                push(gaps, secret.start as u64, secret.len() as u64);
                self.requests(after, secret.end, gaps);
            }
            Direction::ToServer => self.requests(bytes, 0, gaps),
            Direction::ToClient => self.answers(bytes, gaps),
        }
    }

    fn requests(&mut self, bytes: &[u8], base: usize, gaps: &mut Vec<Gap>) {
        if self.full {
            // Nothing to find but the byte order, which needs no walk behind the setup.
            return;
        }
        let images = &mut self.images;
        self.to_server.feed(bytes, |piece| {
            let Some(head) = piece.head else { return };
            if head.kind == HeadKind::Request {
                if piece.ends {
                    images.requested(head.code);
                }
                if head.code == PUT_IMAGE {
                    leave_out(&piece, head, base, gaps);
                }
            }
        });
    }

    fn answers(&mut self, bytes: &[u8], gaps: &mut Vec<Gap>) {
        if self.full {
            return;
        }
        let Some(order) = self.to_server.order() else {
            return;
        };
        self.to_client.set_order(order);
        let (images, start) = (&mut self.images, &mut self.reply_start);
        self.to_client.feed(bytes, |piece| {
            if piece.offset < start.len() as u64 {
                for (kept, &byte) in start
                    .iter_mut()
                    .skip(piece.offset as usize)
                    .zip(piece.bytes)
                {
                    *kept = byte;
                }
            }
            let Some(head) = piece.head else { return };
            if head.kind == HeadKind::Reply && head.len > LONGEST_KEPT_IMAGE {
                let sequence = order.u16(start, 2).unwrap_or(0);
                if images.is_awaited(sequence) {
                    leave_out(&piece, head, 0, gaps);
                }
            }
        });
    }
}

/// Leaves out what of a long image's piece lies behind what is kept.
fn leave_out(piece: &Piece<'_>, head: Head, base: usize, gaps: &mut Vec<Gap>) {
    let len = piece.bytes.len() as u64;
    if head.len <= LONGEST_KEPT_IMAGE || piece.offset + len <= KEPT_OF_IMAGE {
        return;
    }
    let kept = KEPT_OF_IMAGE.saturating_sub(piece.offset);
    push(gaps, (base + piece.at) as u64 + kept, len - kept);
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

/// Which replies are GetImage's, by the 16 bits of a sequence number that a reply carries.
#[derive(Debug, Default)]
struct ImageReplies {
    requests: u16,
    awaited: HashSet<u16>,
}

impl ImageReplies {
    fn requested(&mut self, opcode: u8) {
        self.requests = self.requests.wrapping_add(1);
        if opcode == GET_IMAGE {
            self.awaited.insert(self.requests);
        } else if !self.awaited.is_empty() {
            // The number has come round, so its earlier bearer was answered long ago.
            self.awaited.remove(&self.requests);
        }
    }

    fn is_awaited(&self, sequence: u16) -> bool {
        self.awaited.contains(&sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn gaps(omission: &mut Omission, direction: Direction, stream: &[u8], step: usize) -> Vec<Gap> {
        let (mut all, mut some) = (Vec::new(), Vec::new());
        for (n, read) in stream.chunks(step).enumerate() {
            omission.gaps(direction, read, &(0..0), &mut some);
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
        let expected = [(first + 64, 4100 - 64), (first + 4100 + 4 + 64, 9000 - 64)]
            .map(|(at, len)| Gap { at, len });
        for step in [1, 3, 63, 64, 65, 1000, stream.len()] {
            let mut omission = Omission::new(false);
            assert_eq!(
                gaps(&mut omission, Direction::ToServer, &stream, step),
                expected
            );
            let mut omission = Omission::new(true);
            assert_eq!(gaps(&mut omission, Direction::ToServer, &stream, step), []);
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
            let mut omission = Omission::new(false);
            assert_eq!(gaps(&mut omission, Direction::ToServer, &requests, 7), []);
            assert_eq!(
                gaps(&mut omission, Direction::ToClient, &answers, step),
                expected
            );
        }
    }

    #[test]
    fn a_number_that_came_round_is_no_image() {
        let mut images = ImageReplies::default();
        images.requested(GET_IMAGE);
        assert!(images.is_awaited(1));
        for _ in 0..=u16::MAX {
            images.requested(127);
        }
        assert!(!images.is_awaited(1));
    }

    #[test]
    fn the_secret_of_a_setup_is_a_gap_even_in_a_full_trace() {
        let mut setup = SETUP.to_vec();
        setup[6] = 4;
        setup[8] = 16;
        setup.extend(b"NAME");
        setup.extend([7; 16]);
        setup.extend(request(PUT_IMAGE, 5000));
        for full in [false, true] {
            let mut omission = Omission::new(full);
            let mut found = Vec::new();
            omission.gaps(Direction::ToServer, &setup, &(16..32), &mut found);
            assert_eq!(found[0], Gap { at: 16, len: 16 });
            assert_eq!(found.len(), if full { 1 } else { 2 });
        }
    }
}
