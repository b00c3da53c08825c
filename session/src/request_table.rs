//! The only table of requests: the resources that each request acts on, reads, draws, creates and frees.
//!
//! Offsets are from the first byte after the header, as in the protocol's and the extensions' encodings.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Extensions, Request, Symbol, request_name};

use crate::rendering::pictures::Pictures;
use crate::resources::resource::ResourceKind;

/// The resource that a request acts on. A request with two drawables acts on its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A window or a pixmap.
    Drawable(u32),
    /// A RENDER picture.
    Picture {
        /// The id of the picture.
        id: u32,
        /// The id of the picture's drawable; `None` if unknown, or if the picture has none.
        drawable: Option<u32>,
    },
}

impl Target {
    /// The id of the window or pixmap that the request acts on; `None` if unknown, or if the picture has none.
    pub fn drawable(self) -> Option<u32> {
        match self {
            Target::Drawable(id) => Some(id),
            Target::Picture { drawable, .. } => drawable,
        }
    }

    fn picture(id: u32, pictures: &Pictures) -> Target {
        let drawable = pictures.drawable(id);
        Target::Picture { id, drawable }
    }
}

/// The kind of drawing that a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// The request draws points, lines and areas.
    Shapes,
    /// The request draws characters.
    Text,
    /// The request copies a part of another drawable.
    Copies,
    /// The request draws pixels that the client sends.
    Images,
    /// The request shows a finished image on a window that is not its target: a swap of buffers, or a video frame.
    Frames,
}

impl Drawing {
    /// The kind of drawing of the request with this name; `None` if the request does not draw.
    pub fn of(request: Symbol) -> Option<Drawing> {
        named(request).iter().find_map(|fact| match fact {
            Draws(drawing) => Some(*drawing),
            _ => None,
        })
    }
}

/// A property of a request. The numbers are offsets in the request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The request acts on the drawable whose id is at this offset.
    On(usize),
    /// The request acts on the picture whose id is at this offset.
    OnPicture(usize),
    /// The request reads pixels of the drawable whose id is at this offset.
    Reads(usize),
    /// The request reads pixels of the picture whose id is at this offset.
    ReadsPicture(usize),
    /// The request draws in this way.
    Draws(Drawing),
    /// The request fills areas. The x and y coordinates of the first area are at this offset.
    Fills(usize),
    /// The request creates a resource of this kind, whose id is at this offset.
    Makes(ResourceKind, usize),
    /// The request creates a resource of this kind, whose id is at the first offset. The server frees the resource
    /// together with the window whose id is at the second offset. (A picture keeps its pixmap alive, but not its
    /// window.)
    MakesOfWindow(ResourceKind, usize, usize),
    /// The request frees the resource whose id is its first field.
    Frees,
}
use Drawing::{Copies, Frames, Images, Shapes, Text};
use Fact::{Draws, Fills, Frees, Makes, MakesOfWindow, On, OnPicture, Reads, ReadsPicture};
use ResourceKind::{
    Alarm, BackBuffer, Colormap, Counter, Cursor, Damage, Fence, Font, Gc, GlyphSet, Picture,
    Pixmap, Region, Segment, Window,
};

/// The names of requests, with the properties of each request.
const REQUESTS: &[(&str, &[Fact])] = &[
    (
        "ChangeWindowAttributes GetWindowAttributes DestroySubwindows ChangeSaveSet ReparentWindow \
         MapWindow MapSubwindows UnmapWindow UnmapSubwindows ConfigureWindow CirculateWindow \
         GetGeometry QueryTree ChangeProperty DeleteProperty GetProperty ListProperties \
         RotateProperties SetSelectionOwner ConvertSelection SendEvent GrabPointer GrabButton \
         UngrabButton GrabKeyboard GrabKey UngrabKey QueryPointer GetMotionEvents \
         TranslateCoordinates SetInputFocus GetImage MIT-SHM:GetImage Present:NotifyMSC \
         SHAPE:QueryExtents SHAPE:SelectInput SHAPE:GetRectangles XFIXES:SetWindowShapeRegion \
         XInputExtension:XISelectEvents XInputExtension:XIQueryPointer XInputExtension:XISetFocus \
         Composite:RedirectWindow Composite:RedirectSubwindows",
        &[On(0)],
    ),
    (
        "WarpPointer SHAPE:Rectangles SHAPE:Mask SHAPE:Combine Present:SelectInput",
        &[On(4)],
    ),
    (
        "RENDER:ChangePicture RENDER:SetPictureClipRectangles RENDER:SetPictureTransform \
         RENDER:SetPictureFilter RENDER:AddTraps",
        &[OnPicture(0)],
    ),
    (
        "PolyPoint PolyLine PolySegment PolyRectangle PolyArc FillPoly PolyFillArc",
        &[On(0), Draws(Shapes)],
    ),
    ("PolyFillRectangle", &[On(0), Draws(Shapes), Fills(8)]),
    ("ClearArea", &[On(0), Fills(4)]),
    (
        "PolyText8 PolyText16 ImageText8 ImageText16",
        &[On(0), Draws(Text)],
    ),
    ("PutImage", &[On(0), Draws(Images), Fills(12)]),
    ("MIT-SHM:PutImage", &[On(0), Draws(Images), Fills(20)]),
    ("CopyArea", &[On(4), Reads(0), Draws(Copies), Fills(16)]),
    ("CopyPlane", &[On(4), Reads(0), Draws(Copies)]),
    ("Present:Pixmap", &[On(0), Reads(4)]),
    (
        "GLX:SwapBuffers DOUBLE-BUFFER:SwapBuffers XVideo:PutImage XVideo:ShmPutImage",
        &[Draws(Frames)],
    ),
    (
        "RENDER:Composite",
        &[
            OnPicture(12),
            ReadsPicture(4),
            ReadsPicture(8),
            Draws(Shapes),
            Fills(24),
        ],
    ),
    (
        "RENDER:FillRectangles",
        &[OnPicture(4), Draws(Shapes), Fills(16)],
    ),
    (
        "RENDER:Trapezoids RENDER:Triangles RENDER:TriStrip RENDER:TriFan",
        &[OnPicture(8), ReadsPicture(4), Draws(Shapes)],
    ),
    (
        "RENDER:CompositeGlyphs8 RENDER:CompositeGlyphs16 RENDER:CompositeGlyphs32",
        &[OnPicture(8), ReadsPicture(4), Draws(Text)],
    ),
    ("CreateWindow", &[On(0), Makes(Window, 0)]),
    ("DestroyWindow FreePixmap", &[On(0), Frees]),
    (
        "CreatePixmap MIT-SHM:CreatePixmap DRI3:PixmapFromBuffer DRI3:PixmapFromBuffers",
        &[On(0), Makes(Pixmap, 0)],
    ),
    ("Composite:NameWindowPixmap", &[On(0), Makes(Pixmap, 4)]),
    ("CreateGC", &[On(4), Makes(Gc, 0)]),
    ("OpenFont", &[Makes(Font, 0)]),
    ("CreateColormap CopyColormapAndFree", &[Makes(Colormap, 0)]),
    (
        "CreateCursor CreateGlyphCursor RENDER:CreateCursor RENDER:CreateAnimCursor",
        &[Makes(Cursor, 0)],
    ),
    (
        "RENDER:CreatePicture",
        &[On(4), MakesOfWindow(Picture, 0, 4)],
    ),
    (
        "RENDER:CreateSolidFill RENDER:CreateLinearGradient RENDER:CreateRadialGradient \
         RENDER:CreateConicalGradient",
        &[Makes(Picture, 0)],
    ),
    ("RENDER:FreePicture", &[OnPicture(0), Frees]),
    (
        "RENDER:CreateGlyphSet RENDER:ReferenceGlyphSet",
        &[Makes(GlyphSet, 0)],
    ),
    (
        "MIT-SHM:Attach MIT-SHM:AttachFd MIT-SHM:CreateSegment",
        &[Makes(Segment, 0)],
    ),
    ("SYNC:CreateCounter", &[Makes(Counter, 0)]),
    ("SYNC:CreateAlarm", &[Makes(Alarm, 0)]),
    ("SYNC:CreateFence DRI3:FenceFromFD", &[Makes(Fence, 4)]),
    ("DAMAGE:Create", &[On(4), MakesOfWindow(Damage, 0, 4)]),
    (
        "XFIXES:CreateRegion XFIXES:CreateRegionFromBitmap XFIXES:CreateRegionFromWindow \
         XFIXES:CreateRegionFromGC XFIXES:CreateRegionFromPicture",
        &[Makes(Region, 0)],
    ),
    (
        "DOUBLE-BUFFER:AllocateBackBuffer",
        &[MakesOfWindow(BackBuffer, 4, 0)],
    ),
    (
        "CloseFont FreeGC FreeColormap FreeCursor RENDER:FreeGlyphSet MIT-SHM:Detach \
         SYNC:DestroyCounter SYNC:DestroyAlarm SYNC:DestroyFence DAMAGE:Destroy \
         XFIXES:DestroyRegion DOUBLE-BUFFER:DeallocateBackBuffer",
        &[Frees],
    ),
];

/// The rows of the request table, indexed by name. Core requests are also indexed by opcode, because they are the most
/// frequent.
#[derive(Debug)]
struct Table {
    named: FxHashMap<Symbol, &'static [Fact]>,
    core: [&'static [Fact]; 128],
}

impl Table {
    fn new() -> Table {
        let rows = REQUESTS.iter();
        let named = rows.flat_map(|(names, facts)| {
            let names = names.split(' ');
            names.map(|name| (Symbol::new(name), *facts))
        });
        let named: FxHashMap<_, _> = named.collect();
        let none = Extensions::default();
        let core = std::array::from_fn(|major| {
            let name = request_name(major as u8, 0, &none);
            named.get(&name).copied().unwrap_or_default()
        });
        Table { named, core }
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// Returns the properties of a request; empty for requests that are not in the table.
#[inline]
pub(crate) fn facts(request: &Request<'_>) -> &'static [Fact] {
    match TABLE.core.get(usize::from(request.major)) {
        Some(facts) => facts,
        None => named(request.name),
    }
}

fn named(request: Symbol) -> &'static [Fact] {
    TABLE.named.get(&request).copied().unwrap_or_default()
}

/// Returns the target of a request. Call the function before the request takes effect. `None` if the request has no
/// target, or if its id is truncated.
pub(crate) fn target(request: &Request<'_>, pictures: &Pictures) -> Option<Target> {
    let id = |at| Body::of(request).u32(at);
    facts(request).iter().find_map(|fact| match fact {
        On(at) => id(*at).map(Target::Drawable),
        OnPicture(at) => id(*at).map(|id| Target::picture(id, pictures)),
        _ => None,
    })
}

/// The drawables and pictures whose pixels a request reads.
pub(crate) fn sources(request: &Request<'_>, pictures: &Pictures) -> impl Iterator<Item = Target> {
    let body = Body::of(request);
    let facts = facts(request).iter();
    facts.filter_map(move |fact| match fact {
        Reads(at) => body.u32(*at).map(Target::Drawable),
        ReadsPicture(at) => body.u32(*at).map(|id| Target::picture(id, pictures)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::REQUESTS;

    #[test]
    fn every_request_is_known_and_listed_once() {
        let (mut seen, known) = (HashSet::new(), x11prof_protocol::known_names());
        for name in REQUESTS.iter().flat_map(|(names, _)| names.split(' ')) {
            assert!(seen.insert(name), "{name} is there twice");
            assert!(known.iter().any(|known| known == name), "{name}");
        }
    }
}
