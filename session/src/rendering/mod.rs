//! The state that drawing requests use: GCs, and RENDER's pictures, formats and glyph sets.

pub(crate) mod gc;
pub(crate) mod glyphs;
pub(crate) mod pict_formats;
pub(crate) mod pictures;
pub(crate) mod render;
