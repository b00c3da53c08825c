//! A block as a sequence of recorded bytes and lengths of gaps.

use crate::{Block, Gap, Part};

impl Block {
    /// The parts of the block in wire order. The recorded and the omitted bytes add up to `wire_len` in every block
    /// that a [`crate::Reader`] returned.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> + Clone {
        Parts {
            kept: &self.bytes,
            gaps: &self.gaps,
            at: 0,
            whole: false,
        }
    }
}

/// The parts of `wire`, the bytes of one read, for [`crate::Writer::write_block`]. The bytes in `gaps` are left out;
/// `gaps` must be in order and must not overlap.
pub fn cut<'a>(wire: &'a [u8], gaps: &'a [Gap]) -> impl Iterator<Item = Part<'a>> + Clone {
    Parts {
        kept: wire,
        gaps,
        at: 0,
        whole: true,
    }
}

#[derive(Clone)]
struct Parts<'a> {
    /// The remaining recorded bytes, including those in gaps if `whole` is true.
    kept: &'a [u8],
    gaps: &'a [Gap],
    /// The offset in the block as read off the socket.
    at: u64,
    whole: bool,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let Some((gap, later)) = self.gaps.split_first() else {
            let rest = std::mem::take(&mut self.kept);
            return (!rest.is_empty()).then_some(Part::Kept(rest));
        };
        // Moves an out-of-range gap (possible only in blocks that no reader returned) to the nearest valid position.
        let before = u64::from(gap.at).saturating_sub(self.at);
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let (kept, rest) = self.kept.split_at(before.min(self.kept.len()));
        if !kept.is_empty() {
            self.kept = rest;
            self.at += kept.len() as u64;
            return Some(Part::Kept(kept));
        }
        self.gaps = later;
        self.at += u64::from(gap.len);
        if self.whole {
            let len = usize::try_from(gap.len).unwrap_or(usize::MAX);
            self.kept = self.kept.get(len..).unwrap_or_default();
        }
        Some(Part::Left(u64::from(gap.len)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectionId, Direction, Timestamp};

    fn block(wire_len: u32, gaps: &[(u32, u32)], bytes: &'static [u8]) -> Block {
        Block {
            time: Timestamp::from_nanos(1),
            connection: ConnectionId(1),
            direction: Direction::ToServer,
            offset: 0,
            wire_len,
            fds: 0,
            gaps: gaps.iter().map(|&(at, len)| Gap { at, len }).collect(),
            bytes: bytes.into(),
        }
    }

    #[test]
    fn gaps_at_start_middle_and_end() {
        let block = block(12, &[(0, 2), (4, 3), (9, 3)], b"abcd");
        let parts: Vec<_> = block.parts().collect();
        assert_eq!(
            parts,
            [
                Part::Left(2),
                Part::Kept(b"ab"),
                Part::Left(3),
                Part::Kept(b"cd"),
                Part::Left(3),
            ]
        );
    }

    #[test]
    fn gapless_block_is_one_part_and_empty_block_has_no_parts() {
        assert_eq!(
            block(2, &[], b"ab").parts().collect::<Vec<_>>(),
            [Part::Kept(b"ab")]
        );
        assert_eq!(block(0, &[], b"").parts().count(), 0);
    }

    #[test]
    fn cut_omits_the_bytes_of_gaps() {
        let gaps = [Gap { at: 1, len: 2 }, Gap { at: 4, len: 2 }];
        let parts: Vec<_> = cut(b"abcdef", &gaps).collect();
        assert_eq!(
            parts,
            [
                Part::Kept(b"a"),
                Part::Left(2),
                Part::Kept(b"d"),
                Part::Left(2)
            ]
        );
    }

    #[test]
    fn inconsistent_gaps_do_not_panic() {
        let gaps = [
            Gap {
                at: 9,
                len: u32::MAX,
            },
            Gap { at: 0, len: 1 },
        ];
        assert_eq!(cut(b"ab", &gaps).count(), 3);
        assert_eq!(block(3, &[(7, 1), (7, u32::MAX)], b"ab").parts().count(), 3);
    }
}
