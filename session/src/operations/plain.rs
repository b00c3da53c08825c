//! The operations of the requests that no other module handles. Most of these requests have a constant cost; the cost
//! of a few grows with their contents.

use x11prof_protocol::{Body, Request, Symbol};
use x11rb_protocol::protocol::{glx, xfixes, xproto, xtest};

use crate::extension_kind::ExtensionKind;
use crate::geometry::target::Effect;
use crate::latin1::latin1;
use crate::operations::names::Names;
use crate::operations::operation::Operation;
use crate::state::State;
use crate::windows::drawables::pixmap_bytes;

/// Fills in the attributes and items of the `operation` of a core request that neither draws nor acts on windows.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let size = match request.major {
        xproto::CHANGE_WINDOW_ATTRIBUTES_REQUEST => set_cursor(operation, names, body),
        // Both clear, map or unmap memory.
        xproto::CREATE_PIXMAP_REQUEST => created_bytes(request, body),
        xproto::FREE_PIXMAP_REQUEST => body.u32(0).and_then(|id| state.drawables.bytes(id)),
        xproto::CHANGE_PROPERTY_REQUEST => property_bytes(body),
        xproto::INTERN_ATOM_REQUEST => body.u16(0).map(f64::from),
        xproto::OPEN_FONT_REQUEST => set_reading(operation, names, state, body, (4, 8), true),
        xproto::LIST_FONTS_WITH_INFO_REQUEST => {
            set_reading(operation, names, state, body, (2, 4), false)
        }
        xproto::LIST_FONTS_REQUEST => body.u16(2).map(f64::from),
        xproto::SET_CLIP_RECTANGLES_REQUEST => Some(pieces(request, 8, 8)),
        xproto::QUERY_FONT_REQUEST => {
            set_font(operation, names, state, body);
            Some(0.0)
        }
        xproto::QUERY_TEXT_EXTENTS_REQUEST => {
            set_font(operation, names, state, body);
            // The second byte shows that the last CHAR2B is padding.
            let odd = f64::from(request.minor & 1);
            Some((pieces(request, 4, 2) - odd).max(0.0))
        }
        _ => Some(0.0),
    };
    settle(operation, size);
}

/// Fills in the attributes and items of the `operation` of an extension's request that has no separate module.
pub(crate) fn extension(
    operation: &mut Operation,
    names: &Names,
    kind: Option<ExtensionKind>,
    request: &Request<'_>,
) {
    if kind == Some(ExtensionKind::Xtest) && request.minor == xtest::FAKE_INPUT_REQUEST {
        set_event(operation, names, &Body::of(request));
    }
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

/// Returns the number of bytes of the pixmap that a CreatePixmap request creates.
fn created_bytes(request: &Request<'_>, body: &Body<'_>) -> Option<f64> {
    let (width, height) = (body.u16(8)?, body.u16(10)?);
    // The second byte is the depth.
    Some(pixmap_bytes(width, height, Some(request.minor)))
}

fn settle(operation: &mut Operation, size: Option<f64>) {
    if size.is_none() {
        operation.effect = Effect::Unknown;
    }
    operation.op_size = size.unwrap_or(0.0);
    operation.items.push(operation.op_size);
}

/// The number of structures of `size` bytes in a request, from offset `at` of its body to its end, computed from the
/// request's length.
pub(crate) fn pieces(request: &Request<'_>, at: u64, size: u64) -> f64 {
    let before = request.header_len as u64 + at;
    (request.wire_len.saturating_sub(before) / size) as f64
}

/// Sets the attribute for the font that a QueryFont or similar request names. The id of a GC means the font of the GC.
fn set_font(operation: &mut Operation, names: &Names, state: &State, body: &Body<'_>) {
    let name = body.u32(0).and_then(|id| {
        let of_gc = || state.gcs.get(id)?.font_name();
        state.fonts.name(id).or_else(of_gc)
    });
    operation.attributes.append_name(names.fontname, name);
}

/// Sets the attributes of a request that names a font: the font's file, and `loaded` if the server need not read the
/// file. `length` and `name` are the offsets of the name's length and of the name in `body`. If the name is a pattern,
/// OpenFont reads one font (`reads_one`), and ListFontsWithInfo each font that is not open. Returns the length.
fn set_reading(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    body: &Body<'_>,
    (length, name): (usize, usize),
    reads_one: bool,
) -> Option<f64> {
    let length = body.u16(length)?;
    let name = body.from(name).get(..usize::from(length))?;
    let name = Symbol::new(&latin1(name).to_ascii_lowercase());
    let loaded = state.fonts.is_loaded(name);
    if !loaded && (reads_one || !name.as_str().contains(['*', '?'])) {
        operation
            .attributes
            .append_name(names.fontname, file_of(name));
    }
    let value = if loaded { names.yes } else { names.no };
    operation.attributes.append_name(names.loaded, value);
    Some(f64::from(length))
}

/// Returns the name of the font file that a server reads for the font `name`. A font with average width 0 is scaled
/// from another size (X Logical Font Description Conventions, section 4, "Scalable fonts"), so the returned name has no
/// sizes and resolutions.
fn file_of(name: Symbol) -> Symbol {
    /// The positions of the fields of a font name from the size in pixels to the vertical resolution.
    const SIZES: std::ops::RangeInclusive<usize> = 7..=10;
    const AVERAGE_WIDTH: usize = 12;
    let fields = || name.as_str().split('-').enumerate();
    if fields().count() != 15 || !fields().any(|field| field == (AVERAGE_WIDTH, "0")) {
        return name;
    }
    let fields: Vec<&str> = fields()
        .map(|(at, field)| if SIZES.contains(&at) { "0" } else { field })
        .collect();
    Symbol::new(&fields.join("-"))
}

/// Sets the attribute for whether a ChangeWindowAttributes request changes the cursor. If the pointer is in the window,
/// the server has to show the new cursor.
fn set_cursor(operation: &mut Operation, names: &Names, body: &Body<'_>) -> Option<f64> {
    /// The bit of the value mask for the cursor.
    const CURSOR: u32 = 1 << 14;
    let value = match body.u32(4)? & CURSOR {
        0 => names.no,
        _ => names.yes,
    };
    operation.attributes.append_name(names.cursor, value);
    Some(0.0)
}

/// Sets the attribute for the kind of event that a FakeInput request simulates, if the event is a core event.
fn set_event(operation: &mut Operation, names: &Names, body: &Body<'_>) {
    let kind = match body.u8(0) {
        Some(xproto::KEY_PRESS_EVENT | xproto::KEY_RELEASE_EVENT) => names.key,
        Some(xproto::BUTTON_PRESS_EVENT | xproto::BUTTON_RELEASE_EVENT) => names.button,
        Some(xproto::MOTION_NOTIFY_EVENT) => names.motion,
        _ => return,
    };
    operation.attributes.append_name(names.event, kind);
}

/// Returns the number of bytes that a ChangeProperty request writes: the number of values times 1, 2 or 4 bytes.
fn property_bytes(body: &Body<'_>) -> Option<f64> {
    let (format, values) = (body.u8(12)?, body.u32(16)?);
    Some(f64::from(values) * f64::from(format / 8))
}

#[cfg(test)]
mod tests {
    use super::file_of;

    #[test]
    fn scaled_font_maps_to_its_scalable_font() {
        let scaled = "-jis-fixed-medium-r-normal--17-120-100-100-c-0-jisx0208.1983-0";
        let from = "-jis-fixed-medium-r-normal--0-0-0-0-c-0-jisx0208.1983-0";
        assert_eq!(file_of(scaled.into()).as_str(), from);
        let plain = "-misc-fixed-bold-r-normal--13-120-75-75-c-70-iso10646-1";
        assert_eq!(file_of(plain.into()).as_str(), plain);
        assert_eq!(file_of("9x15".into()).as_str(), "9x15");
    }
}
