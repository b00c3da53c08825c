//! Kinds of requests, as far as the shape of an episode depends on them.
//!
//! What a client makes and frees to draw with (GCs, pixmaps, glyphs, regions) is no kind: whether it
//! makes it now or kept it from last time would make two patterns of one action.

use x11prof_protocol::Symbol;

/// A set of kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Kinds(u16);

const NAMES: [&str; 9] = [
    "windows",
    "properties",
    "messages",
    "grabs and focus",
    "drawing",
    "text",
    "copies",
    "images",
    "frames",
];

/// Drawing, text, copies, images.
const DRAWING: u16 = 0b1111 << 4;

impl Kinds {
    /// The kind of a request of this name, if it has one.
    pub(crate) fn of(request: Symbol) -> Kinds {
        let kind = match request.as_str() {
            "CreateWindow"
            | "ChangeWindowAttributes"
            | "DestroyWindow"
            | "DestroySubwindows"
            | "ReparentWindow"
            | "MapWindow"
            | "MapSubwindows"
            | "UnmapWindow"
            | "UnmapSubwindows"
            | "ConfigureWindow"
            | "CirculateWindow" => 0,
            "ChangeProperty" | "DeleteProperty" | "RotateProperties" => 1,
            "SendEvent" | "SetSelectionOwner" | "ConvertSelection" => 2,
            "UngrabPointer" | "GrabButton" | "UngrabButton" | "UngrabKeyboard" | "GrabKey"
            | "UngrabKey" | "AllowEvents" | "GrabServer" | "UngrabServer" | "WarpPointer"
            | "SetInputFocus" => 3,
            "ClearArea"
            | "PolyPoint"
            | "PolyLine"
            | "PolySegment"
            | "PolyRectangle"
            | "PolyArc"
            | "FillPoly"
            | "PolyFillRectangle"
            | "PolyFillArc"
            | "RENDER:FillRectangles"
            | "RENDER:Composite"
            | "RENDER:Trapezoids"
            | "RENDER:Triangles"
            | "RENDER:TriStrip"
            | "RENDER:TriFan" => 4,
            "PolyText8"
            | "PolyText16"
            | "ImageText8"
            | "ImageText16"
            | "RENDER:CompositeGlyphs8"
            | "RENDER:CompositeGlyphs16"
            | "RENDER:CompositeGlyphs32" => 5,
            "CopyArea" | "CopyPlane" => 6,
            "PutImage" | "MIT-SHM:PutImage" => 7,
            "Present:Pixmap" | "GLX:SwapBuffers" => 8,
            _ => return Kinds::default(),
        };
        Kinds(1 << kind)
    }

    /// Whether it draws, on a window or on what is copied to one later.
    pub(crate) fn draws(self) -> bool {
        self.0 & DRAWING != 0
    }

    /// Adds those of `more`.
    pub(crate) fn add(&mut self, more: Kinds) {
        self.0 |= more.0;
    }

    /// Their names.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let named = NAMES.into_iter().enumerate();
        named
            .filter(move |(n, _)| self.0 >> n & 1 == 1)
            .map(|(_, name)| name)
    }
}
