//! Replacements of properties, names and displayed text in messages.

use super::bytes::split;
use super::glyphs::GlyphIds;
use super::keys::KeyCodes;
use super::secrets::Secrets;

/// Types of properties with numeric ids: ATOM, BITMAP, COLORMAP, CURSOR, DRAWABLE, FONT, PIXMAP, VISUALID, WINDOW
/// (protocol, "Predefined Atoms"). Later requests use these ids.
const NUMBERS: [u32; 9] = [4, 5, 7, 8, 17, 18, 20, 32, 33];

/// Replaces texts and ids in requests, replies and events.
#[derive(Debug)]
pub(super) struct Replacements {
    pub(super) secrets: Secrets,
    pub(super) keys: KeyCodes,
    pub(super) glyphs: GlyphIds,
}

impl Replacements {
    /// Replaces the value of a property, which has `count` items of `format` bits. `kind` is the atom of its type. Text
    /// becomes letters, ids are kept, and all other data is removed.
    pub(super) fn property(
        &mut self,
        kind: Option<u32>,
        format: Option<u8>,
        count: usize,
        value: &mut [u8],
    ) {
        match (format, kind) {
            (Some(8), _) => {
                let (text, padding) = split(value, count);
                self.secrets.words(text);
                padding.fill(0);
            }
            (Some(32), Some(kind)) if NUMBERS.contains(&kind) => {}
            _ => self.secrets.blank_property(value),
        }
    }

    /// Replaces a name of `len` bytes, and zeroes its padding. A name for which `stays` returns true is kept.
    pub(super) fn name(&mut self, bytes: &mut [u8], len: usize, stays: fn(&[u8]) -> bool) {
        let (name, padding) = split(bytes, len);
        if !stays(name) {
            self.secrets.word(name);
        }
        padding.fill(0);
    }

    /// Replaces strings, each after a byte with its length (protocol, LISTofSTR). A string for which `stays` returns
    /// true is kept.
    pub(super) fn strings(&mut self, mut bytes: &mut [u8], stays: fn(&[u8]) -> bool) {
        while let Some((len, rest)) = std::mem::take(&mut bytes).split_first_mut() {
            let (name, rest) = split(rest, usize::from(*len));
            if !stays(name) {
                self.secrets.word(name);
            }
            bytes = rest;
        }
    }

    /// Replaces the characters in the items of PolyText. Changes of the font among the items are kept.
    pub(super) fn text_items(&mut self, bytes: &mut [u8], bytes_per_character: usize) {
        let mut at = 0;
        while let Some(&[count, _, ..]) = bytes.get(at..) {
            // 255 marks a font change.
            if count == 255 {
                at += 5;
                continue;
            }
            let end = at + 2 + usize::from(count) * bytes_per_character;
            let end = end.min(bytes.len());
            let text = &mut bytes[at + 2..end];
            match bytes_per_character {
                1 => self.secrets.drawn(text),
                _ => self.secrets.drawn_wide(text),
            }
            at = end;
        }
    }
}
