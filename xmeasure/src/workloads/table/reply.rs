//! Reads numbers in replies, as the lines `ask` and `find` of a table describe.

/// Returns true for a part of the form `name=offset:width`, which names a number in a reply.
pub(super) fn is_asked(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, place)| {
        place.contains(':') && name.starts_with(|first: char| first.is_ascii_alphabetic())
    })
}

/// Returns the number at a position in a reply: `offset:width`, or `32+4*16:4` for the position after as many words as
/// the two bytes at offset 16 specify.
pub(super) fn taken(reply: &[u8], place: &str) -> Option<u32> {
    let (offset, width) = place.split_once(':')?;
    let at = match offset.split_once("+4*") {
        Some((start, count)) => {
            let count = number_at(reply, count.parse().ok()?, "2")?;
            start.parse::<usize>().ok()? + 4 * count as usize
        }
        None => offset.parse().ok()?,
    };
    number_at(reply, at, width)
}

/// Searches a reply after its header for the numbers `expected`, by their places relative to a position. The positions
/// are `step` bytes apart. Returns the number at `place` relative to the first position with all expected numbers.
pub(super) fn found(reply: &[u8], step: i64, expected: &[(&str, u32)], place: &str) -> Option<u32> {
    let positions = (32..reply.len()).step_by(step.max(1) as usize);
    let mut rests = positions.filter_map(|position| reply.get(position..));
    let is_match = |(place, value): &(&str, u32), rest| taken(rest, place) == Some(*value);
    let rest = rests.find(|rest| expected.iter().all(|expected| is_match(expected, rest)))?;
    taken(rest, place)
}

/// Returns the number of the given width at the offset `at`.
fn number_at(bytes: &[u8], at: usize, width: &str) -> Option<u32> {
    let bytes = bytes.get(at..)?;
    match width {
        "1" => bytes.first().map(|byte| u32::from(*byte)),
        "2" => bytes
            .first_chunk()
            .map(|two| u32::from(u16::from_ne_bytes(*two))),
        _ => bytes.first_chunk().map(|four| u32::from_ne_bytes(*four)),
    }
}
