//! The table of requests that draw. There is no other.

use x11prof_protocol::Symbol;

/// The kind of drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    Shapes,
    Text,
    Copies,
    Images,
    /// An image that is ready, on a window that is not the request's target: a swap of buffers, a frame of
    /// a video.
    Frames,
}

impl Drawing {
    /// The drawing of a request, by the request's name.
    pub(crate) fn of(request: Symbol) -> Option<Drawing> {
        Some(match request.as_str() {
            "PolyPoint"
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
            | "RENDER:TriFan" => Drawing::Shapes,
            "PolyText8"
            | "PolyText16"
            | "ImageText8"
            | "ImageText16"
            | "RENDER:CompositeGlyphs8"
            | "RENDER:CompositeGlyphs16"
            | "RENDER:CompositeGlyphs32" => Drawing::Text,
            "CopyArea" | "CopyPlane" => Drawing::Copies,
            "PutImage" | "MIT-SHM:PutImage" => Drawing::Images,
            "GLX:SwapBuffers"
            | "DOUBLE-BUFFER:SwapBuffers"
            | "XVideo:PutImage"
            | "XVideo:ShmPutImage" => Drawing::Frames,
            _ => return None,
        })
    }

    /// True where the drawing is on the request's target.
    pub(crate) fn is_on_target(self) -> bool {
        self != Drawing::Frames
    }
}
