//! The state of RENDER: pictures, picture formats, and glyph sets.

use x11prof_protocol::{Body, Symbol};

use crate::geometry::target::DrawTarget;
use crate::ids::{By, Made};
use crate::rendering::glyphs::Glyphs;
use crate::rendering::pict_formats::PictFormats;
use crate::rendering::pictures::{Pictures, Source};
use crate::windows::drawables::Drawables;

/// The pictures, the picture formats, and the glyph sets of a display.
#[derive(Debug, Default)]
pub(crate) struct Render {
    pub(crate) formats: PictFormats,
    pub(crate) pictures: Pictures,
    pub(crate) glyphs: Glyphs,
}

impl Render {
    /// Applies a RENDER request. Returns the id of the picture or glyph set that the request creates; `None` if it
    /// creates none.
    pub(crate) fn apply(
        &mut self,
        by: By,
        minor: u8,
        body: &Body<'_>,
        drawables: &Drawables,
    ) -> Option<u32> {
        /// The minor opcodes of requests on glyph sets, from CreateGlyphSet to FreeGlyphs.
        const ON_GLYPHS: std::ops::RangeInclusive<u8> = 17..=22;
        if ON_GLYPHS.contains(&minor) {
            self.glyphs.apply(by, minor, body)
        } else {
            self.pictures.apply(by, minor, body, drawables)
        }
    }

    /// Removes the picture or glyph set `id` if `made` returns true for the request that created it.
    pub(crate) fn undo(&mut self, id: u32, made: Made<'_>) {
        self.pictures.undo(id, made);
        self.glyphs.undo(id, made);
    }

    /// The picture `id` as the destination of a request, and the name of its format.
    pub(crate) fn target<'a>(
        &'a self,
        drawables: &Drawables,
        id: Option<u32>,
    ) -> (DrawTarget<'a>, Option<Symbol>) {
        let Some(picture) = id.and_then(|id| self.pictures.get(id)) else {
            return (DrawTarget::UNKNOWN, None);
        };
        let format = match picture.source {
            Source::Drawable { format, .. } => self.formats.get(format).map(|format| format.name),
            _ => None,
        };
        (picture.target(drawables), format)
    }
}
