//! The picture formats of a server, by their short names: `a8r8g8b8`, `x8r8g8b8`, `a8`, `a1`.

use x11prof_protocol::{ByteOrder, Reply, Symbol};

use crate::ids::IdMap;

/// The known properties of a server's picture format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PictFormat {
    pub(crate) name: Symbol,
    pub(crate) depth: u8,
    /// True if the format has red, green and blue, so that a mask in this format can have an alpha value for each
    /// colour.
    pub(crate) has_colour: bool,
}

/// Maximum number of formats. A server has some dozens.
const FORMATS_LIMIT: usize = 1 << 12;

/// The picture formats of a server by id, from its reply to QueryPictFormats.
#[derive(Debug, Default)]
pub(crate) struct PictFormats(IdMap<PictFormat>);

impl PictFormats {
    pub(crate) fn get(&self, id: u32) -> Option<&PictFormat> {
        self.0.get(id)
    }

    /// Stores the formats in the reply to QueryPictFormats (RENDER protocol, PICTFORMINFO). `None` if the reply is
    /// truncated.
    pub(crate) fn learn(&mut self, reply: &Reply<'_>) -> Option<()> {
        const SIZE: usize = 28;
        let (bytes, order) = (reply.bytes, reply.order);
        let count = order.u32(bytes, 8)? as usize;
        for info in bytes
            .get(32..)?
            .chunks_exact(SIZE)
            .take(count.min(FORMATS_LIMIT))
        {
            self.0.insert(order.u32(info, 0)?, read(info, order)?);
        }
        Some(())
    }
}

fn read(info: &[u8], order: ByteOrder) -> Option<PictFormat> {
    const INDEXED: u8 = 0;
    let (kind, depth) = (*info.get(4)?, *info.get(5)?);
    let channel = |letter, at| {
        let (shift, mask) = (order.u16(info, at)?, order.u16(info, at + 2)?);
        Some((letter, u32::from(shift), mask.count_ones()))
    };
    let channels = [
        channel('r', 8)?,
        channel('g', 12)?,
        channel('b', 16)?,
        channel('a', 20)?,
    ];
    let name = if kind == INDEXED {
        format!("c{depth}")
    } else {
        spell(channels, u32::from(depth))
    };
    Some(PictFormat {
        name: Symbol::new(&name),
        depth,
        has_colour: kind == INDEXED || channels.iter().take(3).any(|(_, _, bits)| *bits > 0),
    })
}

/// Returns the short name of a picture format, such as `a8r8g8b8`, with the channels from the highest bit down. A
/// channel is a letter, the position of its lowest bit, and its number of bits. The letter `x` marks the unused bits of
/// a pixel. A pixel occupies `depth` bits, rounded up to a power of two.
fn spell(channels: [(char, u32, u32); 4], depth: u32) -> String {
    let mut channels: Vec<_> = channels
        .into_iter()
        .filter(|(_, _, bits)| *bits > 0)
        .collect();
    channels.sort_by_key(|(_, shift, _)| std::cmp::Reverse(*shift));
    // Pixels are stored in units of the next power of two (protocol, "Format" in the setup).
    let mut above = depth.max(1).next_power_of_two();
    let mut name = String::new();
    let mut add = |letter: char, bits: u32| {
        if bits > 0 {
            name.push(letter);
            name.push_str(&bits.to_string());
        }
    };
    for (letter, shift, bits) in channels {
        add('x', above.saturating_sub(shift.saturating_add(bits)));
        add(letter, bits);
        above = shift;
    }
    add('x', above);
    name
}

#[cfg(test)]
mod tests {
    use super::spell;

    #[test]
    fn formats_are_named_by_their_channels() {
        let rgb = |r, g, b, a| [('r', r, 8), ('g', g, 8), ('b', b, 8), ('a', 24, a)];
        assert_eq!(spell(rgb(16, 8, 0, 8), 32), "a8r8g8b8");
        assert_eq!(spell(rgb(16, 8, 0, 0), 24), "x8r8g8b8");
        assert_eq!(spell(rgb(0, 8, 16, 8), 32), "a8b8g8r8");
        let bgrx = [('r', 8, 8), ('g', 16, 8), ('b', 24, 8), ('a', 0, 0)];
        assert_eq!(spell(bgrx, 32), "b8g8r8x8");
        let alpha = |bits| [('r', 0, 0), ('g', 0, 0), ('b', 0, 0), ('a', 0, bits)];
        assert_eq!(spell(alpha(8), 8), "a8");
        assert_eq!(spell(alpha(1), 1), "a1");
        let high = [('r', 11, 5), ('g', 5, 6), ('b', 0, 5), ('a', 0, 0)];
        assert_eq!(spell(high, 16), "r5g6b5");
        let low = [('r', 10, 5), ('g', 5, 5), ('b', 0, 5), ('a', 0, 0)];
        assert_eq!(spell(low, 15), "x1r5g5b5");
    }
}
