//! How many bytes pixels take on a server: the pixmap formats of its connection setup.

use x11prof_protocol::{ServerSetup, SetupStatus};

use crate::resources::requests::{ResourceKind, Shape};

/// The formats, and the depths of the root windows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PixelFormats {
    /// Depth, bits per pixel, and what rows are padded to, in bits.
    formats: Vec<(u8, u8, u8)>,
    roots: Vec<(u32, u8)>,
}

impl PixelFormats {
    /// Learns from the first connection that was accepted; the others are told the same.
    pub(crate) fn learn(&mut self, setup: &ServerSetup<'_>) {
        if self.roots.is_empty() && setup.status == SetupStatus::Success {
            let mut read = PixelFormats::default();
            if read.read(setup).is_some() {
                *self = read;
            }
        }
    }

    /// Reads up to where the bytes end (protocol, encoding of the setup).
    fn read(&mut self, setup: &ServerSetup<'_>) -> Option<()> {
        let (bytes, order) = (setup.bytes, setup.order);
        let vendor = usize::from(order.u16(bytes, 24)?);
        let (screens, formats) = (*bytes.get(28)?, usize::from(*bytes.get(29)?));
        let mut at = 40 + vendor.next_multiple_of(4);
        for _ in 0..formats {
            let format = bytes.get(at..at + 3)?;
            self.formats.push((format[0], format[1], format[2]));
            at += 8;
        }
        for _ in 0..screens {
            self.roots
                .push((order.u32(bytes, at)?, *bytes.get(at + 38)?));
            let depths = *bytes.get(at + 39)?;
            at += 40;
            for _ in 0..depths {
                at += 8 + 24 * usize::from(order.u16(bytes, at + 2)?);
            }
        }
        Some(())
    }

    /// The depth of a root window.
    pub(crate) fn root_depth(&self, window: u32) -> Option<u8> {
        let root = self.roots.iter().find(|(root, _)| *root == window)?;
        Some(root.1)
    }

    /// Depth, bits per pixel and padding of the rows in bits, of each format.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, u8, u8)> {
        self.formats.iter().copied()
    }

    /// What a pixmap takes, or a window if its pixels are kept; 0 for other resources and for
    /// depths that the server does not have.
    pub(crate) fn bytes(&self, kind: ResourceKind, shape: &Shape) -> u64 {
        if let Some(bytes) = shape.bytes {
            return bytes;
        }
        if !matches!(kind, ResourceKind::Pixmap | ResourceKind::Window) {
            return 0;
        }
        let mut formats = self.formats.iter();
        let format = formats.find(|(depth, _, _)| *depth == shape.depth);
        format.map_or(0, |(_, bits, pad)| {
            let row = u64::from(shape.width) * u64::from(*bits);
            let row = row.next_multiple_of(u64::from((*pad).max(8))) / 8;
            row * u64::from(shape.height)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PixelFormats;
    use crate::resources::requests::{ResourceKind, Shape};

    #[test]
    fn rows_are_padded() {
        let formats = PixelFormats {
            formats: vec![(1, 1, 32), (24, 32, 32)],
            roots: Vec::new(),
        };
        let bytes = |kind, width, height, depth| {
            let shape = Shape {
                width,
                height,
                depth,
                ..Shape::default()
            };
            formats.bytes(kind, &shape)
        };
        assert_eq!(bytes(ResourceKind::Pixmap, 33, 2, 1), 16);
        assert_eq!(bytes(ResourceKind::Window, 10, 10, 24), 400);
        assert_eq!(bytes(ResourceKind::Gc, 10, 10, 24), 0);
        assert_eq!(bytes(ResourceKind::Pixmap, 10, 10, 8), 0);
    }
}
