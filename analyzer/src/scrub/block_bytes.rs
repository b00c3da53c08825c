//! The bytes of a block within a range of its stream: they are overwritten or left out.

use std::ops::Range;

use x11prof_trace::{Block, Gap};

/// Returns the parts of a block in wire order. Each has its range in the stream, and its index in the `kept` recorded
/// bytes (`None` for a gap).
pub(super) fn pieces(block: &Block, kept: usize) -> Vec<(Range<u64>, Option<usize>)> {
    let mut pieces = Vec::with_capacity(2 * block.gaps.len() + 1);
    let (mut at, mut from) = (0_u64, 0_usize);
    let mut keep = |at: &mut u64, until: u64, pieces: &mut Vec<_>| {
        let len = until.saturating_sub(*at).min((kept - from) as u64);
        if len > 0 {
            pieces.push((block.offset + *at..block.offset + *at + len, Some(from)));
            from += len as usize;
            *at += len;
        }
    };
    for gap in &block.gaps {
        keep(&mut at, u64::from(gap.at), &mut pieces);
        let end = at + u64::from(gap.len);
        pieces.push((block.offset + at..block.offset + end, None));
        at = end;
    }
    keep(&mut at, u64::MAX, &mut pieces);
    pieces
}

/// Replaces the recorded bytes of `range` of the stream by `scrubbed`, followed by zeros.
pub(super) fn overwrite(block: &Block, bytes: &mut [u8], range: Range<u64>, scrubbed: &[u8]) {
    for (place, from) in pieces(block, bytes.len()) {
        let Some(from) = from else { continue };
        for at in place.start.max(range.start)..place.end.min(range.end) {
            let byte = scrubbed.get((at - range.start) as usize);
            bytes[from + (at - place.start) as usize] = byte.copied().unwrap_or(0);
        }
    }
}

/// Turns the part of the stream's `range` that lies in the block into a gap.
pub(super) fn leave_out(block: &mut Block, bytes: &mut Vec<u8>, range: Range<u64>) {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut gaps: Vec<Gap> = Vec::with_capacity(block.gaps.len() + 1);
    let offset = block.offset;
    let mut gap = |place: Range<u64>| {
        if place.is_empty() {
            return;
        }
        // The range is within a block, whose length is 32 bits.
        let (at, len) = (
            (place.start - offset) as u32,
            (place.end - place.start) as u32,
        );
        match gaps.last_mut() {
            Some(last) if last.at + last.len == at => last.len += len,
            _ => gaps.push(Gap { at, len }),
        }
    };
    for (place, from) in pieces(block, bytes.len()) {
        let Some(from) = from else {
            gap(place);
            continue;
        };
        let begin = range.start.clamp(place.start, place.end);
        let end = range.end.clamp(begin, place.end);
        let within = |at: u64| from + (at - place.start) as usize;
        kept.extend_from_slice(&bytes[from..within(begin)]);
        gap(begin..end);
        kept.extend_from_slice(&bytes[within(end)..within(place.end)]);
    }
    block.gaps = gaps;
    *bytes = kept;
}
