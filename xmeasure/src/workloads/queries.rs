//! A client's questions about the server: extensions, fonts, keyboard, pointer.

use x11rb_protocol::protocol::xproto::{
    Char2b, GetFontPathRequest, GetInputFocusRequest, GetKeyboardControlRequest,
    GetKeyboardMappingRequest, GetModifierMappingRequest, GetPointerControlRequest,
    GetPointerMappingRequest, GetScreenSaverRequest, ListExtensionsRequest, ListFontsRequest,
    ListFontsWithInfoRequest, ListHostsRequest, QueryBestSizeRequest, QueryExtensionRequest,
    QueryFontRequest, QueryKeymapRequest, QueryShapeOf, QueryTextExtentsRequest,
};

use super::{costly, plain};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    plain(loads, GetInputFocusRequest);
    plain(
        loads,
        QueryExtensionRequest {
            name: b"BIG-REQUESTS".into(),
        },
    );
    plain(loads, ListExtensionsRequest);
    plain(loads, GetModifierMappingRequest);
    plain(loads, GetPointerMappingRequest);
    plain(loads, GetPointerControlRequest);
    plain(loads, GetKeyboardControlRequest);
    plain(loads, GetScreenSaverRequest);
    plain(loads, QueryKeymapRequest);
    plain(loads, GetFontPathRequest);
    plain(loads, ListHostsRequest);
    plain(
        loads,
        QueryBestSizeRequest {
            class: QueryShapeOf::LARGEST_CURSOR,
            drawable: client.window,
            width: 32,
            height: 32,
        },
    );
    costly(loads, keyboard_mapping(client));
    let pattern = b"*fixed*".into();
    let few = ListFontsRequest {
        max_names: 10,
        pattern,
    };
    costly(loads, few);
    // A reply for the font, which is open, and one more; the probe `fonts` measures the reading of font files.
    let pattern = b"fixed";
    costly(
        loads,
        ListFontsWithInfoRequest {
            max_names: 1,
            pattern: pattern.into(),
        },
    );
    if let Some(font) = client.font("fixed")? {
        costly(loads, QueryFontRequest { font });
        let string: Vec<Char2b> = (b'a'..=b'p')
            .map(|byte2| Char2b { byte1: 0, byte2 })
            .collect();
        plain(
            loads,
            QueryTextExtentsRequest {
                font,
                string: (&string).into(),
            },
        );
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
