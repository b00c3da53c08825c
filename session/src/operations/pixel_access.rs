//! The pixels that a request reads and writes, and thereby loads into the processor's caches.
//!
//! An area is identified by its first pixel, and a group of areas by the first pixel of the first area. Requests that
//! do not draw areas (lines, text) have no pixel access here.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::xproto;

use crate::operations::operation::Operation;
use crate::request_table::{Fact, Target, facts, sources, target};
use crate::state::State;
use crate::windows::drawables::DrawableKind;

/// An area in a drawable, identified by its first pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PixelArea {
    /// The id of the window or pixmap.
    pub drawable: u32,
    /// The column and row of the first pixel, in the drawable's coordinates.
    pub begin: (i16, i16),
    /// The number of pixels in the area.
    pub pixels: f64,
}

/// The pixels that a request reads and writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PixelAccess {
    /// The request creates the pixmap with this id. The server clears its memory.
    Makes(u32),
    /// The request writes pixels, and may read others.
    Writes {
        /// The pixels of another drawable that the request reads; `None` if it reads none.
        reads: Option<PixelArea>,
        /// The pixels that the request writes.
        writes: PixelArea,
        /// True if the request also reads the same number of pixels from memory that is shared with its client.
        from_client: bool,
    },
}

/// Returns the pixels that `request` reads and writes. `request` must be the last request that the session observed,
/// and `operation` its operation. `None` if the pixels are unknown, or if the request draws no areas.
pub(crate) fn pixel_access(
    state: &State,
    request: &Request<'_>,
    operation: &Operation,
) -> Option<PixelAccess> {
    let body = Body::of(request);
    let fills = facts(request).iter().find_map(|fact| match fact {
        Fact::Fills(at) => Some(*at),
        _ => None,
    });
    let Some(at) = fills else {
        let makes = request.major == xproto::CREATE_PIXMAP_REQUEST;
        return body.u32(0).filter(|_| makes).map(PixelAccess::Makes);
    };
    let begin = (body.i16(at)?, body.i16(at + 2)?);
    let pictures = &state.render.pictures;
    let drawable = match target(request, pictures)? {
        Target::Drawable(id) => id,
        Target::Picture { id, drawable } => drawable.unwrap_or(id),
    };
    let writes = PixelArea {
        drawable,
        begin,
        pixels: operation.items.iter().sum(),
    };
    // A picture without a drawable has no pixels, and masks are small.
    let source = sources(request, pictures).next().and_then(Target::drawable);
    let reads = source.map(|drawable| {
        // If the pixmap is smaller than the area, the server reads its pixels repeatedly.
        let all = pixels_of_pixmap(state, drawable).unwrap_or(f64::INFINITY);
        PixelArea {
            drawable,
            pixels: writes.pixels.min(all),
            ..writes
        }
    });
    Some(PixelAccess::Writes {
        reads,
        writes,
        from_client: request.name.as_str() == "MIT-SHM:PutImage",
    })
}

/// Returns the number of pixels of the pixmap `id`; `None` for windows and unknown ids.
fn pixels_of_pixmap(state: &State, id: u32) -> Option<f64> {
    let drawable = state.drawables.get(id)?;
    let pixels = f64::from(drawable.geometry.width) * f64::from(drawable.geometry.height);
    (drawable.kind == DrawableKind::Pixmap).then_some(pixels)
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, Extensions, Message, Request, SequenceNumber};

    use super::{PixelAccess, PixelArea};
    use crate::ids::ClientId;
    use crate::operations::operation::Operation;
    use crate::session::Session;

    fn request<'a>(name: &'static str, bytes: &'a [u8]) -> Request<'a> {
        Request {
            sequence: SequenceNumber(1),
            name: name.into(),
            major: bytes[0],
            minor: 0,
            order: ByteOrder::Little,
            bytes,
            wire_len: bytes.len() as u64,
            header_len: 4,
            has_reply: false,
        }
    }

    fn words(opcode: u8, words: &[u32]) -> Vec<u8> {
        let mut bytes = vec![opcode, 24, words.len() as u8 + 1, 0];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn access(session: &Session, name: &'static str, bytes: &[u8]) -> Option<PixelAccess> {
        let mut operation = Operation::new(name.into());
        operation.items = vec![9000.0];
        session.pixel_access(&request(name, bytes), &operation)
    }

    #[test]
    fn copy_reads_are_limited_to_the_pixmap_size() {
        let mut session = Session::new();
        let create = words(53, &[7, 1, 500 | 10 << 16]);
        let copy = words(62, &[7, 8, 3, 0, 20 | 30 << 16, 100 | 90 << 16]);
        let area = |drawable, pixels| PixelArea {
            drawable,
            begin: (20, 30),
            pixels,
        };
        let copied = |reads| {
            Some(PixelAccess::Writes {
                reads: Some(area(7, reads)),
                writes: area(8, 9000.0),
                from_client: false,
            })
        };
        assert_eq!(access(&session, "CopyArea", &copy), copied(9000.0));
        let message = Message::Request(request("CreatePixmap", &create));
        session.observe(ClientId(1), &message, &Extensions::new());
        assert_eq!(access(&session, "CopyArea", &copy), copied(5000.0));
        let made = access(&session, "CreatePixmap", &create);
        assert_eq!(made, Some(PixelAccess::Makes(7)));
    }

    #[test]
    fn requests_without_areas_have_no_pixel_access() {
        let session = Session::new();
        assert_eq!(access(&session, "PolyLine", &words(65, &[8, 3])), None);
        // The position was truncated.
        assert_eq!(access(&session, "ClearArea", &words(61, &[8])), None);
    }
}
