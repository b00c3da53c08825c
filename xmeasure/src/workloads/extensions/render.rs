//! RENDER's formats, and requests for pictures, gradients and glyph sets.

use std::borrow::Cow;

use x11rb_protocol::protocol::render::{
    AddGlyphsRequest, Color, CreateGlyphSetRequest, CreateLinearGradientRequest, CreatePictureAux,
    CreatePictureRequest, CreateRadialGradientRequest, CreateSolidFillRequest,
    FillRectanglesRequest, Glyphinfo, PictOp, PictType, Pointfix, QueryPictFormatsReply,
    SetPictureFilterRequest, SetPictureTransformRequest, Transform,
};
use x11rb_protocol::protocol::xproto::Rectangle;

use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::Major;

/// The number 1 in RENDER's 16.16 fixed point.
pub(super) const ONE: i32 = 1 << 16;

/// RENDER's major opcode, and the ids of its picture formats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Render {
    pub(super) major: Major,
    /// The picture format of the root's visual.
    pub(super) root: u32,
    /// The format with 32 bits per pixel and alpha.
    pub(super) argb32: u32,
    /// The format with 24 bits per pixel without alpha.
    pub(super) rgb24: u32,
    /// The format with 8 bits of alpha only.
    pub(super) a8: u32,
    /// The format with 1 bit of alpha only.
    pub(super) a1: u32,
}

/// A translucent colour with half red.
pub(crate) const TRANSLUCENT: Color = Color {
    red: 0x8000,
    green: 0x4000,
    blue: 0,
    alpha: 0x8000,
};
/// The colour black, opaque.
pub(super) const OPAQUE: Color = Color {
    red: 0,
    green: 0,
    blue: 0,
    alpha: 0xFFFF,
};

/// The picture format of the root's visual; `None` if there is none.
pub(crate) fn root_format(client: &Client, known: &QueryPictFormatsReply) -> Option<u32> {
    let visual = client.screen.root_visual;
    let depths = known.screens.iter().flat_map(|screen| &screen.depths);
    let mut visuals = depths.flat_map(|depth| &depth.visuals);
    Some(visuals.find(|known| known.visual == visual)?.format)
}

impl Render {
    pub(super) fn new(
        client: &Client,
        major: Major,
        known: &QueryPictFormatsReply,
    ) -> Option<Render> {
        let root = root_format(client, known)?;
        let direct = |depth: u8, alpha: u16, red: u16| {
            let mut formats = known.formats.iter();
            let found = formats.find(|format| {
                format.type_ == PictType::DIRECT
                    && format.depth == depth
                    && (format.direct.alpha_mask, format.direct.red_mask) == (alpha, red)
            });
            found.map(|format| format.id)
        };
        Some(Render {
            major,
            root,
            argb32: direct(32, 0xFF, 0xFF)?,
            rgb24: direct(24, 0, 0xFF)?,
            a8: direct(8, 0xFF, 0)?,
            a1: direct(1, 1, 0)?,
        })
    }

    pub(super) fn picture(&self, pid: u32, drawable: u32, format: u32) -> Vec<u8> {
        self.picture_with(pid, drawable, format, &CreatePictureAux::new())
    }

    pub(super) fn picture_with(
        &self,
        pid: u32,
        drawable: u32,
        format: u32,
        values: &CreatePictureAux,
    ) -> Vec<u8> {
        let value_list = Cow::Borrowed(values);
        self.major.bytes(CreatePictureRequest {
            pid,
            drawable,
            format,
            value_list,
        })
    }

    /// Creates a picture of a new square pixmap with this depth and format, and fills it. Returns the picture's id.
    pub(super) fn filled(
        &self,
        client: &mut Client,
        (depth, format): (u8, u32),
        side: u16,
        values: &CreatePictureAux,
    ) -> Result<u32, MeasureError> {
        let (pixmap, picture) = (client.pixmap(depth, side)?, client.id());
        client.send_bytes(&self.picture_with(picture, pixmap, format, values))?;
        let whole = [Rectangle {
            x: 0,
            y: 0,
            width: side,
            height: side,
        }];
        client.send_bytes(&self.fill(PictOp::SRC, picture, &whole))?;
        Ok(picture)
    }

    /// The bytes of a request that fills rectangles of the picture `dst` with a translucent colour.
    pub(super) fn fill(&self, op: PictOp, dst: u32, rectangles: &[Rectangle]) -> Vec<u8> {
        self.major.bytes(FillRectanglesRequest {
            op,
            dst,
            color: TRANSLUCENT,
            rects: rectangles.into(),
        })
    }

    pub(super) fn solid(&self, picture: u32, color: Color) -> Vec<u8> {
        self.major.bytes(CreateSolidFillRequest { picture, color })
    }

    pub(super) fn linear(&self, picture: u32) -> Vec<u8> {
        let at = |x, y| Pointfix {
            x: x * ONE,
            y: y * ONE,
        };
        self.major.bytes(CreateLinearGradientRequest {
            picture,
            p1: at(0, 0),
            p2: at(500, 500),
            stops: (&[0, ONE]).into(),
            colors: (&[TRANSLUCENT, OPAQUE]).into(),
        })
    }

    pub(super) fn radial(&self, picture: u32) -> Vec<u8> {
        let at = |x, y| Pointfix {
            x: x * ONE,
            y: y * ONE,
        };
        self.major.bytes(CreateRadialGradientRequest {
            picture,
            inner: at(250, 250),
            outer: at(250, 250),
            inner_radius: 0,
            outer_radius: 300 * ONE,
            stops: (&[0, ONE]).into(),
            colors: (&[TRANSLUCENT, OPAQUE]).into(),
        })
    }

    pub(super) fn filter(&self, picture: u32, filter: &'static [u8]) -> Vec<u8> {
        let values = (&[]).into();
        let filter = filter.into();
        self.major.bytes(SetPictureFilterRequest {
            picture,
            filter,
            values,
        })
    }

    /// The bytes of a request that scales a picture by `scale` (16.16 fixed point).
    pub(super) fn transform(&self, picture: u32, scale: i32) -> Vec<u8> {
        self.transformed(picture, [[scale, 0], [0, scale]])
    }

    /// The bytes of a request that rotates a picture by about ten degrees. Cosine and sine are multiples of 1/64.
    pub(super) fn turn(&self, picture: u32) -> Vec<u8> {
        let [cosine, sine] = [63, 11].map(|part| ONE / 64 * part);
        self.transformed(picture, [[cosine, -sine], [sine, cosine]])
    }

    fn transformed(&self, picture: u32, rows: [[i32; 2]; 2]) -> Vec<u8> {
        let [[matrix11, matrix12], [matrix21, matrix22]] = rows;
        let transform = Transform {
            matrix11,
            matrix12,
            matrix21,
            matrix22,
            matrix33: ONE,
            ..Transform::default()
        };
        self.major
            .bytes(SetPictureTransformRequest { picture, transform })
    }

    /// Creates a glyph set with `count` glyphs of `side` by `side` pixels in shades of grey, numbered from 0. Returns
    /// its id.
    pub(super) fn glyph_set(
        &self,
        client: &mut Client,
        side: u16,
        count: u32,
    ) -> Result<u32, MeasureError> {
        let gsid = self.empty_glyph_set(client)?;
        client.send_bytes(&self.add_glyphs(gsid, 0, count, side))?;
        Ok(gsid)
    }

    /// Creates an empty glyph set of alpha only. Returns its id.
    pub(super) fn empty_glyph_set(&self, client: &mut Client) -> Result<u32, MeasureError> {
        let gsid = client.id();
        let format = self.a8;
        client.send_bytes(&self.major.bytes(CreateGlyphSetRequest { gsid, format }))?;
        Ok(gsid)
    }

    pub(super) fn add_glyphs(&self, glyphset: u32, first: u32, count: u32, side: u16) -> Vec<u8> {
        let glyph = glyph_info(side, side);
        let line = usize::from(side).next_multiple_of(4);
        let length = line * usize::from(side) * count as usize;
        // Each glyph has different pixels, because the server shares equal glyphs.
        let data: Vec<u8> = (0..length)
            .map(|at| (at * 7 + first as usize * 31) as u8)
            .collect();
        let glyphs = (first..first + count).map(|id| (id, glyph));
        self.add_glyphs_of(glyphset, glyphs, &data)
    }

    /// The bytes of a request that adds these glyphs. `data` has their consecutive pixels.
    pub(super) fn add_glyphs_of(
        &self,
        glyphset: u32,
        glyphs: impl Iterator<Item = (u32, Glyphinfo)>,
        data: &[u8],
    ) -> Vec<u8> {
        let (glyphids, glyphs): (Vec<u32>, Vec<Glyphinfo>) = glyphs.unzip();
        self.major.bytes(AddGlyphsRequest {
            glyphset,
            glyphids: glyphids.into(),
            glyphs: glyphs.into(),
            data: data.into(),
        })
    }
}

/// The properties of a glyph with this size, whose origin is on the baseline.
pub(super) fn glyph_info(width: u16, height: u16) -> Glyphinfo {
    Glyphinfo {
        width,
        height,
        x: 0,
        y: height.cast_signed(),
        x_off: width.cast_signed(),
        y_off: 0,
    }
}
