//! What a request acts on: the window, pixmap or picture that its bytes name.
//!
//! Offsets are those of the protocol's and the extensions' encodings, from the first byte behind
//! the header. A request with two drawables acts on its destination.

use x11prof_protocol::{Body, Event, Request};

/// What a request acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A window or a pixmap.
    Drawable(u32),
    /// A RENDER picture, which stands for a drawable.
    Picture(u32),
}

/// The target of `request`; `None` where it has none that is known here.
pub(crate) fn target(request: &Request<'_>) -> Option<Target> {
    let body = Body::of(request);
    let name = request.name.as_str();
    if let Some(render) = name.strip_prefix("RENDER:") {
        return match render {
            "CreatePicture" => body.u32(4).map(Target::Drawable),
            "Composite" => body.u32(12).map(Target::Picture),
            "FillRectangles" => body.u32(4).map(Target::Picture),
            "Trapezoids" | "Triangles" | "TriStrip" | "TriFan" | "CompositeGlyphs8"
            | "CompositeGlyphs16" | "CompositeGlyphs32" => body.u32(8).map(Target::Picture),
            "ChangePicture"
            | "SetPictureClipRectangles"
            | "SetPictureTransform"
            | "SetPictureFilter"
            | "FreePicture"
            | "AddTraps" => body.u32(0).map(Target::Picture),
            _ => None,
        };
    }
    let at = match name {
        "CreateWindow"
        | "ChangeWindowAttributes"
        | "GetWindowAttributes"
        | "DestroyWindow"
        | "DestroySubwindows"
        | "ChangeSaveSet"
        | "ReparentWindow"
        | "MapWindow"
        | "MapSubwindows"
        | "UnmapWindow"
        | "UnmapSubwindows"
        | "ConfigureWindow"
        | "CirculateWindow"
        | "GetGeometry"
        | "QueryTree"
        | "ChangeProperty"
        | "DeleteProperty"
        | "GetProperty"
        | "ListProperties"
        | "RotateProperties"
        | "SetSelectionOwner"
        | "ConvertSelection"
        | "SendEvent"
        | "GrabPointer"
        | "GrabButton"
        | "UngrabButton"
        | "GrabKeyboard"
        | "GrabKey"
        | "UngrabKey"
        | "QueryPointer"
        | "GetMotionEvents"
        | "TranslateCoordinates"
        | "SetInputFocus"
        | "CreatePixmap"
        | "FreePixmap"
        | "ClearArea"
        | "PutImage"
        | "GetImage"
        | "PolyPoint"
        | "PolyLine"
        | "PolySegment"
        | "PolyRectangle"
        | "PolyArc"
        | "FillPoly"
        | "PolyFillRectangle"
        | "PolyFillArc"
        | "PolyText8"
        | "PolyText16"
        | "ImageText8"
        | "ImageText16"
        | "MIT-SHM:PutImage"
        | "MIT-SHM:GetImage"
        | "MIT-SHM:CreatePixmap"
        | "Present:Pixmap"
        | "Present:NotifyMSC"
        | "SHAPE:QueryExtents"
        | "SHAPE:SelectInput"
        | "SHAPE:GetRectangles"
        | "XFIXES:SetWindowShapeRegion"
        | "XInputExtension:XISelectEvents"
        | "XInputExtension:XIQueryPointer"
        | "XInputExtension:XISetFocus"
        | "Composite:RedirectWindow"
        | "Composite:RedirectSubwindows"
        | "Composite:NameWindowPixmap"
        | "DRI3:PixmapFromBuffer"
        | "DRI3:PixmapFromBuffers" => 0,
        "CopyArea"
        | "CopyPlane"
        | "WarpPointer"
        | "CreateGC"
        | "SHAPE:Rectangles"
        | "SHAPE:Mask"
        | "SHAPE:Combine"
        | "DAMAGE:Create"
        | "Present:SelectInput" => 4,
        _ => return None,
    };
    body.u32(at).map(Target::Drawable)
}

/// The window that a core event was sent to; `None` for events without one and for those of
/// extensions.
pub(crate) fn event_window(event: &Event<'_>) -> Option<u32> {
    // Protocol, encoding of events: the window is the event's first word, behind the time in
    // those of selections, behind time and root in those of the pointer and the keyboard.
    let at = match event.code {
        2..=8 => 12,
        9..=10 | 12..=28 | 32..=33 => 4,
        29..=31 => 8,
        _ => return None,
    };
    event.order.u32(event.bytes, at)
}
