//! The operations of text requests. Each string is an item; its size is its number of characters, and the font
//! determines its cost.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::xproto;

use crate::operations::drawing::settle;
use crate::operations::names::Names;
use crate::operations::operation::Operation;
use crate::rendering::gc::Component;
use crate::state::State;

/// Fills in the attributes and items of the `operation` of PolyText8, PolyText16, ImageText8 or ImageText16.
///
/// The text items of PolyText may change the GC's font. The operation's font is the font of the first string.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &mut State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let gc = body.u32(4);
    let mut font = gc.and_then(|id| state.gcs.get(id)?.font_name());
    let mut drawn = false;
    let wide = [xproto::POLY_TEXT16_REQUEST, xproto::IMAGE_TEXT16_REQUEST];
    let bytes_per_character = if wide.contains(&request.major) { 2 } else { 1 };
    match request.major {
        xproto::IMAGE_TEXT8_REQUEST | xproto::IMAGE_TEXT16_REQUEST => {
            drawn = request.minor > 0;
            operation.items.push(f64::from(request.minor));
        }
        _ => {
            let items = TextItems {
                bytes: body.from(12),
                bytes_per_character,
            };
            for item in items {
                match item {
                    TextItem::Font(id) => {
                        if let Some(gc) = gc.and_then(|gc| state.gcs.get_mut(gc)) {
                            gc.set_font(id, &state.fonts);
                        }
                        if !drawn {
                            font = state.fonts.name(id);
                        }
                    }
                    // An item without characters only moves the position.
                    TextItem::String(0) => {}
                    TextItem::String(count) => {
                        drawn = true;
                        operation.items.push(f64::from(count));
                    }
                }
            }
        }
    }
    let (target, gc) = state.with_gc(body.u32(0), gc);
    let attributes = &mut operation.attributes;
    // ImageText does not use these GC components (protocol, ImageText8).
    let poly = request.major <= xproto::POLY_TEXT16_REQUEST;
    let of = |component| gc.filter(|_| poly).and_then(|gc| gc.get(component));
    let style = of(Component::FillStyle).and_then(|v| names.fill_style(v));
    attributes.append_name(names.fillstyle, style);
    attributes.append_name(names.fontname, font);
    let function = of(Component::Function).and_then(|v| names.function(v));
    attributes.append_name(names.gxmode, function);
    let drawn = drawn && !target.area.is_empty();
    settle(operation, &target, body, drawn);
}

/// An element of the list of text items (TEXTITEM8, TEXTITEM16) in a PolyText request.
#[derive(Debug, PartialEq)]
enum TextItem {
    /// The text continues in the font with this id.
    Font(u32),
    /// The text continues with a string of this many characters.
    String(u8),
}

/// Iterates over the text items in `bytes`. A truncated string counts, because its length is known.
struct TextItems<'a> {
    bytes: &'a [u8],
    bytes_per_character: usize,
}

impl Iterator for TextItems<'_> {
    type Item = TextItem;

    fn next(&mut self) -> Option<TextItem> {
        /// The value of a text item's length field that marks a font id.
        const FONT_SHIFT: u8 = 255;
        match *self.bytes {
            // A font id has its most significant byte first in both byte orders.
            [FONT_SHIFT, a, b, c, d, ref rest @ ..] => {
                self.bytes = rest;
                Some(TextItem::Font(u32::from_be_bytes([a, b, c, d])))
            }
            [FONT_SHIFT, ..] => None,
            // Two bytes or fewer at the end are padding.
            [count, _delta, ref rest @ ..] if !rest.is_empty() => {
                let length = usize::from(count) * self.bytes_per_character;
                self.bytes = rest.get(length..).unwrap_or(&[]);
                Some(TextItem::String(count))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TextItem::{Font, String};
    use super::{TextItem, TextItems};

    fn items(bytes: &[u8], bytes_per_character: usize) -> Vec<TextItem> {
        TextItems {
            bytes,
            bytes_per_character,
        }
        .collect()
    }

    #[test]
    fn strings_and_font_changes_are_parsed() {
        let bytes = [
            3, 0, b'a', b'b', b'c', 255, 0x00, 0x20, 0x00, 0x07, 1, 9, b'd', 0, 0,
        ];
        let expected = [String(3), Font(0x0020_0007), String(1)];
        assert_eq!(items(&bytes, 1), expected);
        assert_eq!(items(&[2, 0, 0, b'a', 0, b'b', 0, 0], 2), [String(2)]);
    }

    #[test]
    fn padding_and_truncated_items_end_the_list() {
        assert_eq!(items(&[0, 0, 0], 1), [String(0)]);
        assert_eq!(items(&[0, 0], 1), []);
        assert_eq!(items(&[255, 1, 2], 1), []);
        assert_eq!(items(&[200, 0, b'a'], 1), [String(200)]);
    }
}
