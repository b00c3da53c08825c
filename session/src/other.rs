//! All other requests: most cost the same each time; a few grow with what they carry.

use x11prof_protocol::Request;
use x11rb_protocol::protocol::{glx, xfixes, xproto};

use crate::body::Body;
use crate::names::{ExtensionKind, Names};
use crate::operation::{Effect, Operation, Value};
use crate::session::State;

/// Fills in the operation of a core request that neither draws nor touches windows.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let size = match request.major {
        xproto::CHANGE_PROPERTY_REQUEST => property_bytes(body),
        xproto::INTERN_ATOM_REQUEST => body.u16(0).map(f64::from),
        xproto::OPEN_FONT_REQUEST => body.u16(4).map(f64::from),
        xproto::LIST_FONTS_REQUEST | xproto::LIST_FONTS_WITH_INFO_REQUEST => {
            body.u16(2).map(f64::from)
        }
        xproto::SET_CLIP_RECTANGLES_REQUEST => Some(pieces(request, 8, 8)),
        xproto::QUERY_FONT_REQUEST => {
            set_font(operation, names, state, body);
            Some(0.0)
        }
        xproto::QUERY_TEXT_EXTENTS_REQUEST => {
            set_font(operation, names, state, body);
            // The second byte tells that the last CHAR2B is padding.
            let odd = f64::from(request.minor & 1);
            Some((pieces(request, 4, 2) - odd).max(0.0))
        }
        _ => Some(0.0),
    };
    settle(operation, size);
}

/// Fills in the operation of an extension's request that has none of its own.
pub(crate) fn extension(
    operation: &mut Operation,
    kind: Option<ExtensionKind>,
    request: &Request<'_>,
) {
    let size = match (kind, request.minor) {
        (Some(ExtensionKind::Glx), glx::RENDER_REQUEST | glx::RENDER_LARGE_REQUEST) => {
            request.wire_len as f64
        }
        (
            Some(ExtensionKind::Xfixes),
            xfixes::CREATE_REGION_REQUEST | xfixes::SET_REGION_REQUEST,
        ) => pieces(request, 4, 8),
        _ => 0.0,
    };
    settle(operation, Some(size));
}

fn settle(operation: &mut Operation, size: Option<f64>) {
    if size.is_none() {
        operation.effect = Effect::Unknown;
    }
    operation.op_size = size.unwrap_or(0.0);
    operation.items.push(operation.op_size);
}

/// How many structures of `size` bytes a request has from `at` in its body on, by its length.
pub(crate) fn pieces(request: &Request<'_>, at: u64, size: u64) -> f64 {
    let before = request.header_len as u64 + at;
    (request.wire_len.saturating_sub(before) / size) as f64
}

/// The font that a request asks about; it may be a GC, which stands for the font in it.
fn set_font(operation: &mut Operation, names: &Names, state: &State, body: &Body<'_>) {
    let name = body.u32(0).and_then(|id| {
        let of_gc = || state.gcs.get(id)?.font_name();
        state.fonts.name(id).or_else(of_gc)
    });
    if let Some(name) = name {
        operation
            .attributes
            .append(names.fontname, Value::Name(name));
    }
}

/// The bytes that a ChangeProperty writes: as many values as it says, of 8, 16 or 32 bits.
fn property_bytes(body: &Body<'_>) -> Option<f64> {
    let (format, values) = (body.u8(12)?, body.u32(16)?);
    Some(f64::from(values) * f64::from(format / 8))
}
