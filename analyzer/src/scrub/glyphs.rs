//! Replaces glyph ids by other ids, separately for each glyph set, because ids reveal the letters to anyone with the
//! font. Sizes are kept, because costs depend on them; glyph images are removed.

use rustc_hash::FxHashMap;
use x11prof_protocol::ByteOrder;

use super::bytes::{from, split};
use super::secrets::Secrets;

/// Maximum number of additional glyph set IDs that are tracked.
const IDS_LIMIT: usize = 1 << 16;

/// The glyph sets, with the set that each further id of a set refers to.
#[derive(Debug, Default)]
pub(super) struct GlyphIds {
    sets: FxHashMap<u32, u32>,
}

impl GlyphIds {
    pub(super) fn created(&mut self, order: ByteOrder, body: &[u8]) {
        if let Some(id) = order.u32(body, 0) {
            self.sets.remove(&id);
        }
    }

    pub(super) fn referenced(&mut self, order: ByteOrder, body: &[u8]) {
        if let (Some(id), Some(known)) = (order.u32(body, 0), order.u32(body, 4))
            && self.sets.len() < IDS_LIMIT
        {
            self.sets.insert(id, self.set(known));
        }
    }

    /// Replaces the ids in AddGlyphs, whose body contains the ids, then the sizes, then the images. The images are
    /// replaced by zeros.
    pub(super) fn added(&self, secrets: &mut Secrets, order: ByteOrder, body: &mut [u8]) {
        let count = order.u32(body, 4).unwrap_or(0) as usize;
        let images = count.saturating_mul(16).saturating_add(8);
        let set = order.u32(body, 0);
        secrets.blank(from(body, images));
        let ids = from(body, 8);
        let len = count.saturating_mul(4).min(ids.len());
        self.replace(secrets, order, set, &mut ids[..len], 4);
    }

    pub(super) fn freed(&self, secrets: &Secrets, order: ByteOrder, body: &mut [u8]) {
        let set = order.u32(body, 0);
        self.replace(secrets, order, set, from(body, 4), 4);
    }

    /// Replaces the ids in CompositeGlyphs8, 16 and 32, whose ids have `width` bytes. The body contains runs of glyphs,
    /// each with its count and position; a count of 255 changes the set (RENDER protocol, GLYPHITEM).
    pub(super) fn drawn(&self, secrets: &Secrets, order: ByteOrder, body: &mut [u8], width: usize) {
        let mut set = order.u32(body, 16);
        let mut at = 24;
        while let Some(&count) = body.get(at) {
            split(from(body, at + 1), 3).0.fill(0);
            at += 8;
            if count == 255 {
                set = order.u32(body, at);
                at += 4;
                continue;
            }
            let len = usize::from(count) * width;
            let (run, rest) = split(from(body, at), len);
            self.replace(secrets, order, set, run, width);
            split(rest, len.next_multiple_of(4) - len).0.fill(0);
            at += len.next_multiple_of(4);
        }
    }

    fn replace(
        &self,
        secrets: &Secrets,
        order: ByteOrder,
        set: Option<u32>,
        glyphs: &mut [u8],
        width: usize,
    ) {
        let set = set.map_or(0, |id| self.set(id));
        for glyph in glyphs.chunks_exact_mut(width) {
            match glyph {
                [one] => *one = secrets.glyph(set, u32::from(*one)) as u8,
                two @ [_, _] => {
                    let number = order.u16(two, 0).unwrap_or(0);
                    let number = secrets.glyph(set, u32::from(number)) as u16;
                    two.copy_from_slice(&order.u16_bytes(number));
                }
                four => {
                    let number = order.u32(four, 0).unwrap_or(0);
                    order.put_u32(four, 0, secrets.glyph(set, number));
                }
            }
        }
    }

    fn set(&self, id: u32) -> u32 {
        self.sets.get(&id).copied().unwrap_or(id)
    }
}
