//! The ids in a request: the offsets of resources, atoms, times, visuals and picture formats.
//!
//! `table.txt` lists the requests of the core protocol and of 25 extensions. To replay a request on another server,
//! these ids are replaced by that server's ids.

mod kind;
mod table;

use crate::{ByteOrder, Extensions, Request};
pub use kind::IdKind;
use table::{Field, table};

/// The maximum number of list elements to read, which bounds the time for a malformed request.
const MOST_ELEMENTS: usize = 1 << 24;

impl Request<'_> {
    /// Calls `on` for each id in the request, with its offset in the bytes and its kind. Ids inside properties, events
    /// and pixels are not included.
    pub fn ids(&self, extensions: &Extensions, mut on: impl FnMut(usize, IdKind)) {
        let bytes = Fields {
            bytes: self.bytes,
            order: self.order,
            // The table's offsets assume a header of 4 bytes.
            more: self.header_len - 4,
        };
        for field in self.fields_with_ids(extensions) {
            bytes.each(field, &mut on);
        }
    }

    fn fields_with_ids(&self, extensions: &Extensions) -> &'static [Field] {
        match (self.major, extensions.by_major(self.major)) {
            (..128, _) => table().fields(None, self.major),
            (_, Some(extension)) => table().fields(Some(extension.name.as_str()), self.minor),
            (_, None) => &[],
        }
    }

    /// True if a list in the request contains ids.
    pub(crate) fn has_lists_of_ids(&self, extensions: &Extensions) -> bool {
        let fields = self.fields_with_ids(extensions);
        !fields.iter().all(|field| matches!(field, Field::At(..)))
    }
}

/// The bytes of a request, with the table's offsets.
struct Fields<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
    more: usize,
}

impl Fields<'_> {
    fn number(&self, at: usize, size: usize) -> Option<u32> {
        let at = at + self.more;
        match size {
            2 => self.order.u16(self.bytes, at).map(u32::from),
            _ => self.order.u32(self.bytes, at),
        }
    }

    fn id(&self, at: usize, kind: IdKind, on: &mut impl FnMut(usize, IdKind)) -> Option<()> {
        let at = at + self.more;
        self.bytes.get(at..at + 4)?;
        on(at, kind);
        Some(())
    }

    fn each(&self, field: &Field, on: &mut impl FnMut(usize, IdKind)) -> Option<()> {
        match field {
            Field::At(at, kind) => self.id(*at, *kind, on)?,
            Field::Values {
                mask,
                size,
                values,
                bits,
            } => {
                let mask = self.number(*mask, *size)?;
                for (bit, kind) in bits.iter().filter(|(bit, _)| mask & (1 << bit) != 0) {
                    let before = (mask & ((1 << bit) - 1)).count_ones() as usize;
                    self.id(values + 4 * before, *kind, on)?;
                }
            }
            Field::List {
                begin,
                size,
                count,
                ids,
            } => {
                let count = match count {
                    Some((at, size)) => self.number(*at, *size)? as usize,
                    None => MOST_ELEMENTS,
                };
                for element in 0..count.min(MOST_ELEMENTS) {
                    for (at, kind) in ids {
                        self.id(begin + element * size + at, *kind, on)?;
                    }
                }
            }
            Field::TextItems { begin, character } => self.text_items(*begin, *character, on)?,
            Field::Glyphs { begin, glyph } => self.glyphs(*begin, *glyph, on)?,
        }
        Some(())
    }

    /// Calls `on` for each font id in the text items from offset `begin` on (section "PolyText8"). A font id follows a
    /// length of 255. `character` is the number of bytes of a character.
    fn text_items(
        &self,
        begin: usize,
        character: usize,
        on: &mut impl FnMut(usize, IdKind),
    ) -> Option<()> {
        let mut at = begin;
        while let Some(len) = self.bytes.get(at + self.more) {
            if *len == 255 {
                self.id(at + 1, IdKind::FontItem, on)?;
                at += 5;
            } else {
                at += 2 + usize::from(*len) * character;
            }
        }
        Some(())
    }

    /// Calls `on` for each id of a glyph set in the glyph elements from offset `begin` on (RENDER, "CompositeGlyphs8").
    /// Such an id follows a length of 255. `glyph` is the number of bytes of a glyph id.
    fn glyphs(&self, begin: usize, glyph: usize, on: &mut impl FnMut(usize, IdKind)) -> Option<()> {
        let mut at = begin;
        while let Some(len) = self.bytes.get(at + self.more) {
            at += 8;
            if *len == 255 {
                self.id(at, IdKind::Resource, on)?;
                at += 4;
            } else {
                at += (usize::from(*len) * glyph).next_multiple_of(4);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::IdKind::{Atom, FontItem, PictFormat, Resource, Time};
    use super::*;
    use crate::{Extension, SequenceNumber, Symbol};

    fn request(bytes: &[u8], header_len: usize) -> Vec<(usize, IdKind)> {
        let mut extensions = Extensions::new();
        extensions.insert(Extension {
            name: Symbol::new("RENDER"),
            major: 139,
            first_event: 0,
            first_error: 0,
        });
        let request = Request {
            sequence: SequenceNumber(1),
            name: Symbol::new("any"),
            major: bytes[0],
            minor: bytes[1],
            order: ByteOrder::Big,
            bytes,
            wire_len: bytes.len() as u64,
            header_len,
            has_reply: false,
        };
        let mut all = Vec::new();
        request.ids(&extensions, |at, kind| all.push((at, kind)));
        all
    }

    #[test]
    fn fixed_fields_are_found_after_either_header() {
        let mut bytes = [0; 28];
        bytes[0] = 24; // ConvertSelection
        let expected = [(4, Resource), (8, Atom), (12, Atom), (16, Atom), (20, Time)];
        assert_eq!(request(&bytes[..24], 4), expected);
        let later = expected.map(|(at, kind)| (at + 4, kind));
        assert_eq!(request(&bytes, 8), later);
    }

    #[test]
    fn mask_selects_the_values_present() {
        // ChangeWindowAttributes: background-pixel, event-mask, cursor.
        let mut bytes = [0; 24];
        (bytes[0], bytes[10], bytes[11]) = (2, 0x48, 0x02);
        assert_eq!(request(&bytes, 4), [(4, Resource), (20, Resource)]);
    }

    #[test]
    fn list_count_is_limited_by_the_message_length() {
        let mut bytes = [0; 20];
        (bytes[0], bytes[9]) = (114, 2); // RotateProperties
        let expected = [(4, Resource), (12, Atom), (16, Atom)];
        assert_eq!(request(&bytes, 4), expected);
        bytes[9] = 200;
        assert_eq!(request(&bytes, 4), expected);
    }

    #[test]
    fn font_and_glyph_set_changes_in_text_are_found() {
        let mut text = vec![74, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        text.extend([2, 0, b'a', b'b', 255, 0, 0, 0, 9, 1, 0, b'c']);
        let expected = [(4, Resource), (8, Resource), (21, FontItem)];
        assert_eq!(request(&text, 4), expected);
        let mut glyphs = vec![0; 28];
        (glyphs[0], glyphs[1]) = (139, 24);
        glyphs.extend([3, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 0, 0]);
        glyphs.extend([255, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7]);
        let expected = [
            (8, Resource),
            (12, Resource),
            (16, PictFormat),
            (20, Resource),
            (52, Resource),
        ];
        assert_eq!(request(&glyphs, 4), expected);
    }

    #[test]
    fn embedded_table_parses() {
        assert!(table().len() > 300);
    }
}
