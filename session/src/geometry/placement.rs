//! The positions and sizes of drawables.

use x11prof_protocol::ByteOrder;

use crate::geometry::clip::Area;

/// The position and size of a drawable in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Geometry {
    /// The horizontal position of the outer upper left corner in the parent, in pixels; 0 for a pixmap.
    pub x: i16,
    /// The vertical position of the outer upper left corner in the parent, in pixels; 0 for a pixmap.
    pub y: i16,
    /// The width without the border, in pixels.
    pub width: u16,
    /// The height without the border, in pixels.
    pub height: u16,
    /// The width of the border in pixels; 0 for a pixmap.
    pub border_width: u16,
}

impl Geometry {
    /// Reads the five numbers at the offset `at` of a message; `None` if the message is too short.
    pub(crate) fn parse(bytes: &[u8], order: ByteOrder, at: usize) -> Option<Geometry> {
        Some(Geometry {
            x: order.i16(bytes, at)?,
            y: order.i16(bytes, at + 2)?,
            width: order.u16(bytes, at + 4)?,
            height: order.u16(bytes, at + 6)?,
            border_width: order.u16(bytes, at + 8)?,
        })
    }

    /// The rectangle of the window including its border, in the parent's coordinates.
    pub(crate) fn outer(self) -> Area {
        let (x, y) = (i32::from(self.x), i32::from(self.y));
        let borders = 2 * i32::from(self.border_width);
        let (width, height) = (i32::from(self.width), i32::from(self.height));
        Area::between(x, y, x + width + borders, y + height + borders)
    }
}
