//! Encodes and decodes blocks (docs/FORMAT.md, "Blocks").

use bytes::{Buf, Bytes};

use crate::{Block, ConnectionId, Direction, Gap, Part, Timestamp, TraceError};

/// Length of a block before its gaps.
const HEADER_LEN: usize = 4 + 8 + 4 + 2 + 4;
const GAP_LEN: usize = 4 + 4;

/// The header of a block, for [`crate::Writer::write_block`]: the properties of one read of a socket, without its
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHead {
    /// The time at which the read of the socket returned.
    pub time: Timestamp,
    /// The connection of the socket.
    pub connection: ConnectionId,
    /// The direction in which the bytes were sent.
    pub direction: Direction,
    /// The number of bytes that were sent in this direction before the block.
    pub offset: u64,
    /// The number of file descriptors that were received with the bytes.
    pub fds: u16,
}

impl Block {
    /// The header of this block, for [`crate::Writer::write_block`].
    pub fn head(&self) -> BlockHead {
        BlockHead {
            time: self.time,
            connection: self.connection,
            direction: self.direction,
            offset: self.offset,
            fds: self.fds,
        }
    }
}

/// Clears `buffer` and writes a block into it. `parts` is iterated twice, so that the bytes are copied only once and
/// nothing is allocated.
pub(crate) fn encode<'a>(
    buffer: &mut Vec<u8>,
    head: &BlockHead,
    parts: impl Iterator<Item = Part<'a>> + Clone,
) -> Result<(), TraceError> {
    buffer.clear();
    buffer.extend_from_slice(&head.connection.0.to_le_bytes());
    buffer.extend_from_slice(&head.offset.to_le_bytes());
    // The length and the number of gaps are filled in later.
    buffer.extend_from_slice(&[0; 4]);
    buffer.extend_from_slice(&head.fds.to_le_bytes());
    buffer.extend_from_slice(&[0; 4]);

    let mut wire_len = 0_u64;
    let mut open: Option<(u64, u64)> = None;
    for part in parts.clone() {
        match part {
            Part::Kept([]) | Part::Left(0) => {}
            Part::Kept(bytes) => {
                push_gap(buffer, open.take())?;
                wire_len = wire_len.saturating_add(bytes.len() as u64);
            }
            Part::Left(len) => {
                let (at, before) = open.unwrap_or((wire_len, 0));
                open = Some((at, before.saturating_add(len)));
                wire_len = wire_len.saturating_add(len);
            }
        }
    }
    push_gap(buffer, open)?;
    let gap_count = (buffer.len() - HEADER_LEN) / GAP_LEN;
    buffer[12..16].copy_from_slice(&narrow(wire_len)?.to_le_bytes());
    buffer[18..22].copy_from_slice(&narrow(gap_count as u64)?.to_le_bytes());

    for part in parts {
        if let Part::Kept(bytes) = part {
            buffer.extend_from_slice(bytes);
        }
    }
    Ok(())
}

fn push_gap(buffer: &mut Vec<u8>, gap: Option<(u64, u64)>) -> Result<(), TraceError> {
    if let Some((at, len)) = gap {
        buffer.extend_from_slice(&narrow(at)?.to_le_bytes());
        buffer.extend_from_slice(&narrow(len)?.to_le_bytes());
    }
    Ok(())
}

fn narrow(n: u64) -> Result<u32, TraceError> {
    u32::try_from(n).map_err(|_| TraceError::unwritable("a block of 4 GiB or more"))
}

/// Decodes the block in `message`. The error describes lengths that are inconsistent.
pub(crate) fn decode(
    time: Timestamp,
    direction: Direction,
    mut message: Bytes,
) -> Result<Block, &'static str> {
    const SHORT: &str = "a block is too short for what it says of itself";
    if message.len() < HEADER_LEN {
        return Err(SHORT);
    }
    let connection = ConnectionId(message.get_u32_le());
    let offset = message.get_u64_le();
    let wire_len = message.get_u32_le();
    let fds = message.get_u16_le();
    let gap_count = message.get_u32_le() as usize;
    // Check before allocating: the count is untrusted.
    if gap_count > message.len() / GAP_LEN {
        return Err(SHORT);
    }
    let mut gaps = Vec::with_capacity(gap_count);
    for _ in 0..gap_count {
        gaps.push(Gap {
            at: message.get_u32_le(),
            len: message.get_u32_le(),
        });
    }
    check(wire_len, &gaps, message.len())?;
    Ok(Block {
        time,
        connection,
        direction,
        offset,
        wire_len,
        fds,
        gaps,
        bytes: message,
    })
}

/// Checks that the lengths of a block are consistent: `wire_len`, the lengths of the gaps, and the number of recorded
/// bytes, `kept`.
pub(crate) fn check(wire_len: u32, gaps: &[Gap], kept: usize) -> Result<(), &'static str> {
    let mut end = 0_u64;
    let mut left = 0_u64;
    for gap in gaps {
        if gap.len == 0 || u64::from(gap.at) < end {
            return Err("the gaps of a block overlap or are empty");
        }
        end = u64::from(gap.at) + u64::from(gap.len);
        left += u64::from(gap.len);
    }
    if end > u64::from(wire_len) || left + kept as u64 != u64::from(wire_len) {
        return Err("the gaps and the bytes of a block do not add up to its length");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head() -> BlockHead {
        BlockHead {
            time: Timestamp::from_nanos(7),
            connection: ConnectionId(0x0102_0304),
            direction: Direction::ToClient,
            offset: 0x1122_3344_5566_7788,
            fds: 0x0a0b,
        }
    }

    fn encoded(parts: &[Part<'_>]) -> Vec<u8> {
        let mut buffer = b"left over".to_vec();
        encode(&mut buffer, &head(), parts.iter().copied()).unwrap();
        buffer
    }

    fn decoded(bytes: &[u8]) -> Result<Block, &'static str> {
        decode(head().time, head().direction, Bytes::copy_from_slice(bytes))
    }

    #[test]
    fn block_layout_is_fixed() {
        assert_eq!(
            encoded(&[Part::Kept(b"ab"), Part::Left(5), Part::Kept(b"c")]),
            [
                4, 3, 2, 1, // connection
                0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // offset
                8, 0, 0, 0, // wire_len
                0x0b, 0x0a, // fds
                1, 0, 0, 0, // gap_count
                2, 0, 0, 0, 5, 0, 0, 0, // the gap
                b'a', b'b', b'c',
            ]
        );
    }

    #[test]
    fn adjacent_gaps_merge_and_empty_parts_vanish() {
        let bytes = encoded(&[
            Part::Left(3),
            Part::Kept(b""),
            Part::Left(0),
            Part::Left(4),
            Part::Kept(b"x"),
        ]);
        let block = decoded(&bytes).unwrap();
        assert_eq!(block.gaps, [Gap { at: 0, len: 7 }]);
        assert_eq!((block.wire_len, &block.bytes[..]), (8, &b"x"[..]));
    }

    #[test]
    fn inconsistent_blocks_are_rejected() {
        let good = encoded(&[Part::Kept(b"ab"), Part::Left(5), Part::Kept(b"c")]);
        assert!(decoded(&good).is_ok());
        for len in 0..good.len() {
            assert!(decoded(&good[..len]).is_err(), "{len} bytes");
        }
        let mut longer = good.clone();
        longer.push(0);
        assert!(decoded(&longer).is_err());
        // wire_len, gap_count, the gap's offset, the gap's length
        for (at, value) in [
            (12, 9),
            (18, 0),
            (18, 2),
            (22, 4),
            (26, 0),
            (26, 6),
            (29, 255),
        ] {
            let mut bad = good.clone();
            bad[at] = value;
            assert!(decoded(&bad).is_err(), "byte {at} is {value}");
        }
        let gap = |at, len| Gap { at, len };
        assert!(check(9, &[gap(4, 2), gap(2, 2)], 5).is_err());
        assert!(check(u32::MAX, &[gap(u32::MAX, u32::MAX)], 0).is_err());
    }

    #[test]
    fn block_of_4_gib_is_rejected() {
        let parts = [Part::Left(1 << 31), Part::Left(1 << 31)];
        let result = encode(&mut Vec::new(), &head(), parts.into_iter());
        assert!(matches!(result, Err(TraceError::Unwritable { .. })));
    }

    proptest! {
        #[test]
        fn block_round_trips(
            wire in proptest::collection::vec(any::<u8>(), 0..400),
            cuts in proptest::collection::vec((1_u32..40, 1_u32..40), 0..12),
            offset in any::<u64>(),
            fds in any::<u16>(),
        ) {
            let mut gaps = Vec::new();
            let mut at = 0;
            for (skip, len) in cuts {
                at += skip;
                if (at + len) as usize > wire.len() {
                    break;
                }
                gaps.push(Gap { at, len });
                at += len;
            }
            let head = BlockHead { offset, fds, ..head() };
            let mut buffer = Vec::new();
            encode(&mut buffer, &head, crate::cut(&wire, &gaps)).unwrap();
            let block = decoded(&buffer).unwrap();
            prop_assert_eq!(block.head(), head);
            prop_assert_eq!(block.wire_len as usize, wire.len());
            prop_assert_eq!(&block.gaps, &gaps);
            prop_assert!(block.parts().eq(crate::cut(&wire, &gaps)));
        }

        #[test]
        fn arbitrary_bytes_decode_or_give_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Ok(block) = decoded(&bytes) {
                let sum: u64 = block.parts().map(|part| match part {
                    Part::Kept(bytes) => bytes.len() as u64,
                    Part::Left(len) => len,
                }).sum();
                prop_assert_eq!(sum, u64::from(block.wire_len));
            }
        }
    }
}
