//! Replacements of properties, names and text.

use super::bytes::split;
use super::glyphs::GlyphIds;
use super::keys::KeyCodes;
use super::secrets::Secrets;

/// Types of properties with numeric ids: ATOM, BITMAP, COLORMAP, CURSOR, DRAWABLE, FONT, PIXMAP, VISUALID, WINDOW
/// (protocol, "Predefined Atoms"). Later requests use these ids.
const NUMBERS: [u32; 9] = [4, 5, 7, 8, 17, 18, 20, 32, 33];

/// The replacements of texts and IDs in requests and replies.
#[derive(Debug)]
pub(super) struct Replacements {
    pub(super) secrets: Secrets,
    pub(super) keys: KeyCodes,
    pub(super) glyphs: GlyphIds,
}

impl Replacements {
    /// Replaces the value of a property: text becomes letters, IDs are kept, and all other data is removed.
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
            _ => self.secrets.blank(value),
        }
    }

    /// A name of `len` bytes, and its padding.
    pub(super) fn name(&mut self, bytes: &mut [u8], len: usize, stays: fn(&[u8]) -> bool) {
        let (name, padding) = split(bytes, len);
        if !stays(name) {
            self.secrets.word(name);
        }
        padding.fill(0);
    }

    /// Strings, each after a byte with its length (protocol, LISTofSTR).
    pub(super) fn strings(&mut self, mut bytes: &mut [u8], stays: fn(&[u8]) -> bool) {
        while let Some((len, rest)) = std::mem::take(&mut bytes).split_first_mut() {
            let (name, rest) = split(rest, usize::from(*len));
            if !stays(name) {
                self.secrets.word(name);
            }
            bytes = rest;
        }
    }

    /// The items of PolyText; fonts among them are kept.
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
