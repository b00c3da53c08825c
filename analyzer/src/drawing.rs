//! Which requests draw.

use x11prof_protocol::Request;

/// Whether a request draws on its target.
pub(crate) fn draws(request: &Request<'_>) -> bool {
    // CopyArea to ImageText16 (protocol, appendix B): drawing, and among it only GetImage does not.
    const CORE: std::ops::RangeInclusive<u8> = 62..=77;
    const GET_IMAGE: u8 = 73;
    if request.major < 128 {
        return CORE.contains(&request.major) && request.major != GET_IMAGE;
    }
    matches!(
        request.name.as_str(),
        "MIT-SHM:PutImage"
            | "RENDER:Composite"
            | "RENDER:FillRectangles"
            | "RENDER:Trapezoids"
            | "RENDER:Triangles"
            | "RENDER:TriStrip"
            | "RENDER:TriFan"
            | "RENDER:CompositeGlyphs8"
            | "RENDER:CompositeGlyphs16"
            | "RENDER:CompositeGlyphs32"
    )
}

/// Whether a request shows an image that is ready on a window that is not its target: a swap of buffers, a
/// frame of a video.
pub(crate) fn shows_image(request: &Request<'_>) -> bool {
    matches!(
        request.name.as_str(),
        "GLX:SwapBuffers" | "DOUBLE-BUFFER:SwapBuffers" | "XVideo:PutImage" | "XVideo:ShmPutImage"
    )
}
