//! RENDER's glyph sets, with the size of each glyph.

use rustc_hash::FxHashMap;
use x11prof_protocol::Body;

use x11rb_protocol::protocol::render;

use crate::ids::{By, IdMap, Made};

/// The maximum number of glyphs, summed over all sets.
const GLYPHS_LIMIT: usize = 1 << 20;

/// The size and position of a glyph (RENDER protocol, GLYPHINFO), in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Glyph {
    pub(crate) width: u16,
    pub(crate) height: u16,
    /// The horizontal position of the glyph's origin in its image, in pixels.
    pub(crate) x: i16,
    /// The vertical position of the glyph's origin in its image, in pixels.
    pub(crate) y: i16,
    /// The displacement from this glyph's origin to the next glyph's origin, in pixels.
    pub(crate) advance: (i16, i16),
    /// The glyph's part of the image bytes of its AddGlyphs request, in proportion to its area.
    pub(crate) bytes: u64,
}

impl Glyph {
    pub(crate) fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

type GlyphMap = FxHashMap<u32, Glyph>;

/// A glyph set, to which several ids may refer.
#[derive(Debug, Default)]
pub(crate) struct GlyphSet {
    /// The id of the glyph set's picture format.
    pub(crate) format: u32,
    glyphs: GlyphMap,
    /// The size of all glyphs' images, in bytes.
    bytes: u64,
    ids: u32,
}

impl GlyphSet {
    pub(crate) fn glyph(&self, id: u32) -> Option<&Glyph> {
        self.glyphs.get(&id)
    }

    /// The number of bytes of all glyphs' images.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The glyph sets of a display, by id.
#[derive(Debug, Default)]
pub(crate) struct Glyphs {
    ids: IdMap<Id>,
    sets: IdMap<GlyphSet>,
    next: u32,
    kept: usize,
}

#[derive(Debug, Clone, Copy)]
struct Id {
    set: u32,
    by: By,
}

impl Glyphs {
    /// The glyph set `id`; `None` if unknown.
    pub(crate) fn get(&self, id: u32) -> Option<&GlyphSet> {
        self.sets.get(self.ids.get(id)?.set)
    }

    /// Applies a request on glyph sets. Returns the id of the glyph set that the request creates; `None` if it creates
    /// none.
    pub(crate) fn apply(&mut self, by: By, minor: u8, body: &Body<'_>) -> Option<u32> {
        let id = body.u32(0)?;
        match minor {
            render::CREATE_GLYPH_SET_REQUEST => {
                self.free(id);
                let set = self.next;
                self.next = self.next.wrapping_add(1);
                let format = body.u32(4)?;
                let new = GlyphSet {
                    format,
                    ids: 1,
                    ..GlyphSet::default()
                };
                if self.sets.insert(set, new) {
                    self.ids.insert(id, Id { set, by });
                }
                return Some(id);
            }
            render::REFERENCE_GLYPH_SET_REQUEST => {
                self.free(id);
                let set = self.ids.get(body.u32(4)?)?.set;
                self.sets.get_mut(set)?.ids += 1;
                self.ids.insert(id, Id { set, by });
                return Some(id);
            }
            render::FREE_GLYPH_SET_REQUEST => self.free(id),
            render::ADD_GLYPHS_REQUEST => self.add(id, body)?,
            render::FREE_GLYPHS_REQUEST => self.free_glyphs(id, body)?,
            _ => {}
        }
        None
    }

    /// Adds the glyphs of an AddGlyphs request to the glyph set `id`. The body has the glyph ids, then the glyph infos,
    /// then the images.
    fn add(&mut self, id: u32, body: &Body<'_>) -> Option<()> {
        let set = self.sets.get_mut(self.ids.get(id)?.set)?;
        for (id, glyph) in added(body)? {
            if self.kept >= GLYPHS_LIMIT {
                break;
            }
            set.bytes = set.bytes.saturating_add(glyph.bytes);
            match set.glyphs.insert(id, glyph) {
                Some(old) => set.bytes = set.bytes.saturating_sub(old.bytes),
                None => self.kept += 1,
            }
        }
        Some(())
    }

    fn free_glyphs(&mut self, id: u32, body: &Body<'_>) -> Option<()> {
        let set = self.sets.get_mut(self.ids.get(id)?.set)?;
        for glyph in body.list(4, 4) {
            if let Some(old) = set.glyphs.remove(&glyph.u32(0)?) {
                set.bytes = set.bytes.saturating_sub(old.bytes);
                self.kept -= 1;
            }
        }
        Some(())
    }

    fn free(&mut self, id: u32) {
        let Some(Id { set, .. }) = self.ids.remove(id) else {
            return;
        };
        if let Some(shared) = self.sets.get_mut(set) {
            shared.ids -= 1;
            if shared.ids == 0 {
                self.kept -= shared.glyphs.len();
                self.sets.remove(set);
            }
        }
    }

    /// Removes the glyph set `id` if `made` returns true for the request that created it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        if self.ids.get(id).is_some_and(|known| made(known.by)) {
            self.free(id);
        }
    }
}

/// The ids and properties of the glyphs that AddGlyphs adds; `None` if the request is truncated. The iterator ends at
/// the end of the body, even if the request claims to have more glyphs.
pub(crate) fn added<'a>(body: &Body<'a>) -> Option<impl Iterator<Item = (u32, Glyph)> + use<'a>> {
    let count = body.u32(4)? as usize;
    let infos = count.checked_mul(4)?.checked_add(8)?;
    let images = body.wire_len().saturating_sub(8 + 16 * count as u64);
    let ids = body.list(8, 4).take(count);
    let infos = body.list(infos, 12).take(count);
    let pixels = infos.clone().filter_map(glyph).map(|glyph| glyph.pixels());
    let all_pixels = pixels.fold(0, u64::saturating_add);
    Some(ids.zip(infos).filter_map(move |(id, info)| {
        let glyph = glyph(info)?;
        let bytes = u128::from(images) * u128::from(glyph.pixels());
        let bytes = bytes.checked_div(u128::from(all_pixels)).unwrap_or(0);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Some((id.u32(0)?, Glyph { bytes, ..glyph }))
    }))
}

/// Parses a GLYPHINFO: the size and position of a glyph.
fn glyph(info: Body<'_>) -> Option<Glyph> {
    Some(Glyph {
        width: info.u16(0)?,
        height: info.u16(2)?,
        x: info.i16(4)?,
        y: info.i16(6)?,
        advance: (info.i16(8)?, info.i16(10)?),
        bytes: 0,
    })
}
