//! Parses the server's reply to a connection setup: the client's resource ids and the root windows. The reply may have
//! either byte order.

use x11prof_protocol::{ByteOrder, ServerSetup, SetupStatus};

/// The properties of a screen's root window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) id: u32,
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) depth: u8,
}

/// The memory layout of pixels of one depth in images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixmapFormat {
    /// The depth of pixels with this layout, in bits.
    pub depth: u8,
    /// The number of bits that a pixel occupies.
    pub bits: u8,
    /// The multiple of bits to which a row is padded.
    pub pad: u8,
}

/// The number of bytes for an image of this depth, width and height (in pixels); 0 for a depth that the server does not
/// support.
pub(crate) fn pixel_bytes(formats: &[PixmapFormat], depth: u8, (width, height): (u16, u16)) -> u64 {
    let format = formats.iter().find(|format| format.depth == depth);
    format.map_or(0, |format| {
        let row = u64::from(width) * u64::from(format.bits);
        let row = row.next_multiple_of(u64::from(format.pad.max(8))) / 8;
        row * u64::from(height)
    })
}

/// The parts of a successful connection setup that the session uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The first id of the client's range. The other ids of the range differ from this id only in bits of the mask.
    pub(crate) id_base: u32,
    pub(crate) id_mask: u32,
    pub(crate) formats: Vec<PixmapFormat>,
    pub(crate) roots: Vec<Root>,
}

impl Setup {
    /// Parses the server's reply to a connection setup; `None` if the client was not accepted, or if the bytes end
    /// before the ids.
    pub(crate) fn read(setup: &ServerSetup<'_>) -> Option<Setup> {
        if setup.status != SetupStatus::Success {
            return None;
        }
        let (bytes, order) = (setup.bytes, setup.order);
        let (id_base, id_mask) = (order.u32(bytes, 12)?, order.u32(bytes, 16)?);
        let mut roots = Vec::new();
        read_roots(bytes, order, &mut roots);
        Some(Setup {
            id_base,
            id_mask,
            formats: formats(bytes, order).unwrap_or_default(),
            roots,
        })
    }
}

fn formats(bytes: &[u8], order: ByteOrder) -> Option<Vec<PixmapFormat>> {
    let vendor = usize::from(order.u16(bytes, 24)?);
    let all = bytes
        .get(40 + vendor.next_multiple_of(4)..)?
        .chunks_exact(8);
    let all = all.take(usize::from(*bytes.get(29)?));
    let read = all.filter_map(|format| {
        Some(PixmapFormat {
            depth: *format.first()?,
            bits: *format.get(1)?,
            pad: *format.get(2)?,
        })
    });
    Some(read.collect())
}

/// Appends the root windows of the connection setup in `bytes` to `roots` (protocol, encoding of the setup). Returns
/// `None` if `bytes` is truncated; the complete root windows have then been appended.
fn read_roots(bytes: &[u8], order: ByteOrder, roots: &mut Vec<Root>) -> Option<()> {
    let vendor = usize::from(order.u16(bytes, 24)?);
    let (screens, formats) = (*bytes.get(28)?, *bytes.get(29)?);
    let mut at = 40 + vendor.next_multiple_of(4) + 8 * usize::from(formats);
    for _ in 0..screens {
        roots.push(Root {
            id: order.u32(bytes, at)?,
            width: order.u16(bytes, at + 20)?,
            height: order.u16(bytes, at + 22)?,
            depth: *bytes.get(at + 38)?,
        });
        let depths = *bytes.get(at + 39)?;
        at += 40;
        for _ in 0..depths {
            at += 8 + 24 * usize::from(order.u16(bytes, at + 2)?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{PixmapFormat, pixel_bytes};

    #[test]
    fn rows_are_padded() {
        let format = |depth, bits| PixmapFormat {
            depth,
            bits,
            pad: 32,
        };
        let formats = [format(1, 1), format(24, 32)];
        assert_eq!(pixel_bytes(&formats, 1, (33, 2)), 16);
        assert_eq!(pixel_bytes(&formats, 24, (10, 10)), 400);
        assert_eq!(pixel_bytes(&formats, 8, (10, 10)), 0);
    }
}
