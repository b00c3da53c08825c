//! A client's questions about the server: extensions, fonts, keyboard, pointer.

use x11rb_protocol::protocol::xproto::{
    Char2b, GetFontPathRequest, GetInputFocusRequest, GetKeyboardControlRequest,
    GetKeyboardMappingRequest, GetModifierMappingRequest, GetPointerControlRequest,
    GetPointerMappingRequest, GetScreenSaverRequest, ListExtensionsRequest, ListFontsRequest,
    ListFontsWithInfoRequest, ListHostsRequest, QueryBestSizeRequest, QueryExtensionRequest,
    QueryFontRequest, QueryKeymapRequest, QueryShapeOf, QueryTextExtentsRequest,
};

use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    loads.plain(core(GetInputFocusRequest));
    loads.plain(core(QueryExtensionRequest {
        name: b"BIG-REQUESTS".into(),
    }));
    loads.plain(core(ListExtensionsRequest));
    loads.plain(core(GetModifierMappingRequest));
    loads.plain(core(GetPointerMappingRequest));
    loads.plain(core(GetPointerControlRequest));
    loads.plain(core(GetKeyboardControlRequest));
    loads.plain(core(GetScreenSaverRequest));
    loads.plain(core(QueryKeymapRequest));
    loads.plain(core(GetFontPathRequest));
    loads.plain(core(ListHostsRequest));
    loads.plain(core(QueryBestSizeRequest {
        class: QueryShapeOf::LARGEST_CURSOR,
        drawable: client.window,
        width: 32,
        height: 32,
    }));
    loads.costly(core(keyboard_mapping(client)));
    let pattern = b"*fixed*".into();
    loads.costly(core(ListFontsRequest {
        max_names: 10,
        pattern,
    }));
    // A reply for the font, which is open, and one more; the probe `fonts` measures the reading of font files.
    let pattern = b"fixed";
    loads.costly(core(ListFontsWithInfoRequest {
        max_names: 1,
        pattern: pattern.into(),
    }));
    if let Some(font) = client.font("fixed")? {
        loads.costly(core(QueryFontRequest { font }));
        let string: Vec<Char2b> = (b'a'..=b'p')
            .map(|byte2| Char2b { byte1: 0, byte2 })
            .collect();
        loads.plain(core(QueryTextExtentsRequest {
            font,
            string: (&string).into(),
        }));
    }
    Ok(())
}

/// The whole mapping, as Xlib asks for it.
fn keyboard_mapping(client: &Client) -> GetKeyboardMappingRequest {
    let (first, last) = (client.raw.setup.min_keycode, client.raw.setup.max_keycode);
    GetKeyboardMappingRequest {
        first_keycode: first,
        count: last.saturating_sub(first).saturating_add(1),
    }
}
