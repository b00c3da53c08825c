//! The subject of a request: the window, pixmap or picture that it acts on, and the atom that it names. A
//! request with two drawables acts on its destination.
//!
//! Offsets are those of the protocol's and the extensions' encodings, from the first byte after the header.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Body, Event, Request, Symbol};

use crate::rendering::pictures::Pictures;
use crate::resources::atoms::Atoms;

/// The resource that a request acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A window or a pixmap.
    Drawable(u32),
    /// A RENDER picture.
    Picture {
        /// The picture's id.
        id: u32,
        /// The picture's drawable; `None` if unknown, or if the picture has none.
        drawable: Option<u32>,
    },
}

impl Target {
    /// The window or pixmap.
    pub fn drawable(self) -> Option<u32> {
        match self {
            Target::Drawable(id) => Some(id),
            Target::Picture { drawable, .. } => drawable,
        }
    }
}

/// Requests that act on a drawable whose id is their first field.
const DRAWABLE_FIRST: [&str; 61] = [
    "CreateWindow",
    "ChangeWindowAttributes",
    "GetWindowAttributes",
    "DestroyWindow",
    "DestroySubwindows",
    "ChangeSaveSet",
    "ReparentWindow",
    "MapWindow",
    "MapSubwindows",
    "UnmapWindow",
    "UnmapSubwindows",
    "ConfigureWindow",
    "CirculateWindow",
    "GetGeometry",
    "QueryTree",
    "ChangeProperty",
    "DeleteProperty",
    "GetProperty",
    "ListProperties",
    "RotateProperties",
    "SetSelectionOwner",
    "ConvertSelection",
    "SendEvent",
    "GrabPointer",
    "GrabButton",
    "UngrabButton",
    "GrabKeyboard",
    "GrabKey",
    "UngrabKey",
    "QueryPointer",
    "GetMotionEvents",
    "TranslateCoordinates",
    "SetInputFocus",
    "CreatePixmap",
    "FreePixmap",
    "ClearArea",
    "PutImage",
    "GetImage",
    "PolyPoint",
    "PolyLine",
    "PolySegment",
    "PolyRectangle",
    "PolyArc",
    "FillPoly",
    "PolyFillRectangle",
    "PolyFillArc",
    "PolyText8",
    "PolyText16",
    "ImageText8",
    "ImageText16",
    "MIT-SHM:PutImage",
    "MIT-SHM:GetImage",
    "MIT-SHM:CreatePixmap",
    "Present:Pixmap",
    "Present:NotifyMSC",
    "SHAPE:QueryExtents",
    "SHAPE:SelectInput",
    "SHAPE:GetRectangles",
    "XFIXES:SetWindowShapeRegion",
    "XInputExtension:XISelectEvents",
    "XInputExtension:XIQueryPointer",
];

/// Further requests that act on a drawable, with the offset of its id.
const DRAWABLE_AT: [(&str, usize); 16] = [
    ("XInputExtension:XISetFocus", 0),
    ("Composite:RedirectWindow", 0),
    ("Composite:RedirectSubwindows", 0),
    ("Composite:NameWindowPixmap", 0),
    ("DRI3:PixmapFromBuffer", 0),
    ("DRI3:PixmapFromBuffers", 0),
    ("CopyArea", 4),
    ("CopyPlane", 4),
    ("WarpPointer", 4),
    ("CreateGC", 4),
    ("SHAPE:Rectangles", 4),
    ("SHAPE:Mask", 4),
    ("SHAPE:Combine", 4),
    ("DAMAGE:Create", 4),
    ("Present:SelectInput", 4),
    ("RENDER:CreatePicture", 4),
];

/// Requests that act on a picture, with the offset of its id.
const PICTURE_AT: [(&str, usize); 15] = [
    ("RENDER:Composite", 12),
    ("RENDER:FillRectangles", 4),
    ("RENDER:Trapezoids", 8),
    ("RENDER:Triangles", 8),
    ("RENDER:TriStrip", 8),
    ("RENDER:TriFan", 8),
    ("RENDER:CompositeGlyphs8", 8),
    ("RENDER:CompositeGlyphs16", 8),
    ("RENDER:CompositeGlyphs32", 8),
    ("RENDER:ChangePicture", 0),
    ("RENDER:SetPictureClipRectangles", 0),
    ("RENDER:SetPictureTransform", 0),
    ("RENDER:SetPictureFilter", 0),
    ("RENDER:FreePicture", 0),
    ("RENDER:AddTraps", 0),
];

/// The place of the target's id in a request.
#[derive(Debug, Clone, Copy)]
enum TargetField {
    Drawable(usize),
    Picture(usize),
}

/// The place of the target's id, by request.
#[derive(Debug)]
pub(crate) struct Targets(FxHashMap<Symbol, TargetField>);

impl Targets {
    pub(crate) fn new() -> Targets {
        let first = DRAWABLE_FIRST.map(|name| (Symbol::new(name), TargetField::Drawable(0)));
        let drawables =
            DRAWABLE_AT.map(|(name, at)| (Symbol::new(name), TargetField::Drawable(at)));
        let pictures = PICTURE_AT.map(|(name, at)| (Symbol::new(name), TargetField::Picture(at)));
        Targets(first.into_iter().chain(drawables).chain(pictures).collect())
    }

    /// The target of a request that has not taken effect yet; `None` if it has none, or an unknown one.
    pub(crate) fn find(&self, request: &Request<'_>, pictures: &Pictures) -> Option<Target> {
        let body = Body::of(request);
        Some(match *self.0.get(&request.name)? {
            TargetField::Drawable(at) => Target::Drawable(body.u32(at)?),
            TargetField::Picture(at) => {
                let id = body.u32(at)?;
                let drawable = pictures.drawable(id);
                Target::Picture { id, drawable }
            }
        })
    }
}

/// The name of `atom`, or its number where the recording does not tell.
pub(crate) fn label(atoms: &Atoms, atom: u32) -> Symbol {
    match atoms.name(atom) {
        Some(name) => Symbol::new(name),
        None => Symbol::new(&format!("atom {atom}")),
    }
}

/// The property, selection or message type that `request` is about, or the name that it interns.
pub(crate) fn atom(atoms: &Atoms, request: &Request<'_>) -> Option<Symbol> {
    /// ClientMessage; its type is 8 bytes into the event, which begins at 8.
    const CLIENT_MESSAGE: u8 = 33;
    let body = Body::of(request);
    let atom = match request.name.as_str() {
        "InternAtom" => {
            let name = body.bytes(4, usize::from(body.u16(0)?))?;
            return Some(Symbol::new(&String::from_utf8_lossy(name)));
        }
        "GetAtomName" | "GetSelectionOwner" => body.u32(0),
        "ChangeProperty"
        | "DeleteProperty"
        | "GetProperty"
        | "SetSelectionOwner"
        | "ConvertSelection"
        | "XFIXES:SelectSelectionInput" => body.u32(4),
        "SendEvent" if body.u8(8).map(|code| code & 0x7F) == Some(CLIENT_MESSAGE) => body.u32(16),
        _ => None,
    };
    atom.map(|atom| label(atoms, atom))
}

/// The window that a core event was sent to; `None` for events without a window and for those of extensions.
pub fn event_window(event: &Event<'_>) -> Option<u32> {
    // Protocol, encoding of events: the window is the event's first word; in those of selections it follows
    // the time, in those of the pointer and the keyboard the time and the root.
    let at = match event.code {
        2..=8 => 12,
        9..=10 | 12..=28 | 32..=33 => 4,
        29..=31 => 8,
        _ => return None,
    };
    event.order.u32(event.bytes, at)
}
