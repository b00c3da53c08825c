//! What requests do to the resources that clients hold in the server: which they create, with
//! what size, and which they free. Offsets are those of the encodings, behind the header.

use std::fmt;

use x11prof_protocol::{Body, Request};

/// Glyphs in one request that are told apart at most.
const MOST_GLYPHS: usize = 4096;

/// A kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A window.
    Window,
    /// A pixmap.
    Pixmap,
    /// A graphics context.
    Gc,
    /// An open font.
    Font,
    /// A cursor.
    Cursor,
    /// A colormap.
    Colormap,
    /// RENDER's picture.
    Picture,
    /// RENDER's set of glyphs.
    GlyphSet,
    /// XFIXES' region.
    Region,
    /// MIT-SHM's segment.
    Segment,
    /// DAMAGE's object.
    Damage,
    /// SYNC's counter.
    Counter,
    /// SYNC's alarm.
    Alarm,
    /// SYNC's and DRI3's fence.
    Fence,
    /// DOUBLE-BUFFER's back buffer.
    BackBuffer,
}

impl ResourceKind {
    /// As it is called in results.
    pub fn name(self) -> &'static str {
        match self {
            ResourceKind::Window => "window",
            ResourceKind::Pixmap => "pixmap",
            ResourceKind::Gc => "gc",
            ResourceKind::Font => "font",
            ResourceKind::Cursor => "cursor",
            ResourceKind::Colormap => "colormap",
            ResourceKind::Picture => "picture",
            ResourceKind::GlyphSet => "glyph set",
            ResourceKind::Region => "region",
            ResourceKind::Segment => "segment",
            ResourceKind::Damage => "damage",
            ResourceKind::Counter => "counter",
            ResourceKind::Alarm => "alarm",
            ResourceKind::Fence => "fence",
            ResourceKind::BackBuffer => "back buffer",
        }
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a new resource is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shape {
    pub(crate) width: u16,
    pub(crate) height: u16,
    /// 0 where it is its parent's.
    pub(crate) depth: u8,
    /// A window's parent; the drawable that a picture, a damage or a named pixmap is of.
    pub(crate) of: u32,
    /// Bytes that the request itself names.
    pub(crate) bytes: Option<u64>,
}

/// What a request does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Create(ResourceKind, u32, Shape),
    Free(u32),
    DestroySubwindows(u32),
    Reparent {
        window: u32,
        parent: u32,
    },
    Resize {
        window: u32,
        mask: u16,
        sizes: [u32; 2],
    },
    AddGlyphs {
        set: u32,
        glyphs: Vec<(u32, u64)>,
    },
    FreeGlyphs {
        set: u32,
        glyphs: Vec<u32>,
    },
    CloseDownMode(u8),
}

/// What `request` creates, and under which id; `None` where it creates nothing.
pub fn created(request: &Request<'_>) -> Option<(ResourceKind, u32)> {
    match action(request)? {
        Action::Create(kind, id, _) => Some((kind, id)),
        _ => None,
    }
}

/// What `request` does to resources; `None` where it does nothing, or its bytes were left out.
pub(crate) fn action(request: &Request<'_>) -> Option<Action> {
    use ResourceKind::{
        Alarm, BackBuffer, Colormap, Counter, Cursor, Damage, Fence, Font, Gc, GlyphSet, Picture,
        Pixmap, Region, Segment,
    };
    let body = Body::of(request);
    let first = body.u32(0)?;
    let create = |kind, id, shape| Some(Action::Create(kind, id, shape));
    let plain = Shape::default();
    let of = |at| {
        Some(Shape {
            of: body.u32(at)?,
            ..plain
        })
    };
    match request.name.as_str() {
        "CreateWindow" => create(ResourceKind::Window, first, window(request, &body)?),
        "CreatePixmap" => create(Pixmap, first, pixmap(request.minor, &body, 8)?),
        "MIT-SHM:CreatePixmap" => create(Pixmap, first, pixmap(body.u8(12)?, &body, 8)?),
        "DRI3:PixmapFromBuffer" => {
            let mut shape = pixmap(body.u8(18)?, &body, 12)?;
            shape.bytes = body.u32(8).map(u64::from);
            create(Pixmap, first, shape)
        }
        "DRI3:PixmapFromBuffers" => create(Pixmap, first, pixmap(body.u8(44)?, &body, 12)?),
        // It names memory that the window has already.
        "Composite:NameWindowPixmap" => {
            let shape = Shape {
                of: first,
                bytes: Some(0),
                ..plain
            };
            create(Pixmap, body.u32(4)?, shape)
        }
        "CreateGC" => create(Gc, first, plain),
        "OpenFont" => create(Font, first, plain),
        "CreateCursor"
        | "CreateGlyphCursor"
        | "RENDER:CreateCursor"
        | "RENDER:CreateAnimCursor" => create(Cursor, first, plain),
        "CreateColormap" | "CopyColormapAndFree" => create(Colormap, first, plain),
        "RENDER:CreatePicture" => create(Picture, first, of(4)?),
        "RENDER:CreateSolidFill"
        | "RENDER:CreateLinearGradient"
        | "RENDER:CreateRadialGradient"
        | "RENDER:CreateConicalGradient" => create(Picture, first, plain),
        "RENDER:CreateGlyphSet" | "RENDER:ReferenceGlyphSet" => create(GlyphSet, first, plain),
        "RENDER:AddGlyphs" => glyphs(&body, request.wire_len),
        "RENDER:FreeGlyphs" => freed_glyphs(&body, request.wire_len),
        "XFIXES:CreateRegion"
        | "XFIXES:CreateRegionFromBitmap"
        | "XFIXES:CreateRegionFromWindow"
        | "XFIXES:CreateRegionFromGC"
        | "XFIXES:CreateRegionFromPicture" => create(Region, first, plain),
        "MIT-SHM:Attach" | "MIT-SHM:AttachFd" => create(Segment, first, plain),
        "MIT-SHM:CreateSegment" => {
            let bytes = body.u32(4).map(u64::from);
            create(Segment, first, Shape { bytes, ..plain })
        }
        "DAMAGE:Create" => create(Damage, first, of(4)?),
        "SYNC:CreateCounter" => create(Counter, first, plain),
        "SYNC:CreateAlarm" => create(Alarm, first, plain),
        "SYNC:CreateFence" | "DRI3:FenceFromFD" => create(Fence, body.u32(4)?, plain),
        "DOUBLE-BUFFER:AllocateBackBuffer" => {
            create(BackBuffer, body.u32(4)?, Shape { of: first, ..plain })
        }
        "DestroyWindow"
        | "FreePixmap"
        | "FreeGC"
        | "CloseFont"
        | "FreeCursor"
        | "FreeColormap"
        | "RENDER:FreePicture"
        | "RENDER:FreeGlyphSet"
        | "XFIXES:DestroyRegion"
        | "MIT-SHM:Detach"
        | "DAMAGE:Destroy"
        | "SYNC:DestroyCounter"
        | "SYNC:DestroyAlarm"
        | "SYNC:DestroyFence"
        | "DOUBLE-BUFFER:DeallocateBackBuffer" => Some(Action::Free(first)),
        "DestroySubwindows" => Some(Action::DestroySubwindows(first)),
        "ReparentWindow" => Some(Action::Reparent {
            window: first,
            parent: body.u32(4)?,
        }),
        "ConfigureWindow" => resize(first, &body),
        _ => None,
    }
}

/// SetCloseDownMode, whose only field is in the header.
pub(crate) fn close_down_mode(request: &Request<'_>) -> Option<Action> {
    (request.name.as_str() == "SetCloseDownMode").then_some(Action::CloseDownMode(request.minor))
}

fn window(request: &Request<'_>, body: &Body<'_>) -> Option<Shape> {
    /// InputOnly: it has no pixels.
    const INPUT_ONLY: u16 = 2;
    let input_only = body.u16(18)? == INPUT_ONLY;
    Some(Shape {
        width: body.u16(12)?,
        height: body.u16(14)?,
        depth: request.minor,
        of: body.u32(4)?,
        bytes: input_only.then_some(0),
    })
}

fn pixmap(depth: u8, body: &Body<'_>, at: usize) -> Option<Shape> {
    Some(Shape {
        width: body.u16(at)?,
        height: body.u16(at + 2)?,
        depth,
        of: 0,
        bytes: None,
    })
}

/// ConfigureWindow: a list of values, one for each bit of the mask; width is bit 2, height bit 3.
fn resize(window: u32, body: &Body<'_>) -> Option<Action> {
    let mask = body.u16(4)?;
    let value = |bit: u16| {
        let before = (mask & ((1 << bit) - 1)).count_ones() as usize;
        if mask & 1 << bit == 0 {
            Some(0)
        } else {
            body.u32(8 + 4 * before)
        }
    };
    (mask & 0b1100 != 0).then_some(Action::Resize {
        window,
        mask,
        sizes: [value(2)?, value(3)?],
    })
}

/// AddGlyphs: ids, 12 bytes of measures each, then the images. What the images take is shared
/// out by area.
fn glyphs(body: &Body<'_>, wire_len: u64) -> Option<Action> {
    let (set, count) = (body.u32(0)?, usize::try_from(body.u32(4)?).ok()?);
    let images = wire_len.saturating_sub(12 + 16 * count as u64);
    let count = count.min(MOST_GLYPHS);
    let infos = 8 + 4 * count;
    let area = |n: usize| -> Option<u64> {
        let (width, height) = (body.u16(infos + 12 * n)?, body.u16(infos + 12 * n + 2)?);
        Some(u64::from(width) * u64::from(height))
    };
    let areas: Option<Vec<u64>> = (0..count).map(area).collect();
    let areas = areas?;
    let all = areas
        .iter()
        .fold(0_u64, |sum, area| sum.saturating_add(*area));
    let glyphs: Option<Vec<(u32, u64)>> = areas
        .iter()
        .enumerate()
        .map(|(n, area)| {
            let bytes = u128::from(images) * u128::from(*area);
            let bytes = bytes.checked_div(u128::from(all)).unwrap_or(0);
            Some((
                body.u32(8 + 4 * n)?,
                u64::try_from(bytes).unwrap_or(u64::MAX),
            ))
        })
        .collect();
    Some(Action::AddGlyphs {
        set,
        glyphs: glyphs?,
    })
}

fn freed_glyphs(body: &Body<'_>, wire_len: u64) -> Option<Action> {
    let count = usize::try_from(wire_len.saturating_sub(8) / 4).ok()?;
    let ids = (0..count.min(MOST_GLYPHS)).map_while(|n| body.u32(4 + 4 * n));
    Some(Action::FreeGlyphs {
        set: body.u32(0)?,
        glyphs: ids.collect(),
    })
}
