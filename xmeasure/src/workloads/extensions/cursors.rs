//! Toolkits' requests on cursors beyond the core protocol: names (XFIXES), animations (RENDER), a device's own cursor
//! on a window (XInput).

use std::borrow::Cow;

use x11rb_protocol::protocol::render::{Animcursorelt, CreateAnimCursorRequest};
use x11rb_protocol::protocol::xfixes::{
    ChangeCursorByNameRequest, GetCursorImageAndNameRequest, GetCursorNameRequest,
    SetCursorNameRequest,
};
use x11rb_protocol::protocol::xinput::XIChangeCursorRequest;
use x11rb_protocol::protocol::xproto::FreeCursorRequest;

use super::input::POINTER;
use super::{RESOURCES, cycle};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::resources::cursor_of;

/// Pictures of an animated cursor, as a theme's busy one may have.
const PICTURES: usize = 16;

/// Adds the loads. That an extension is absent has been noted by its own family.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let cursor = plain_cursor(client)?;
    if let Some(major) = client.extension("XFIXES")? {
        let name = b"left_ptr";
        loads.plain(major.bytes(SetCursorNameRequest {
            cursor,
            name: name.into(),
        }));
        loads.plain(major.bytes(GetCursorNameRequest { cursor }));
        loads.costly(major.bytes(GetCursorImageAndNameRequest));
        // No cursor has this name, so none is changed: the cost is that of the search.
        let src = cursor;
        let name = b"x11prof-none";
        loads.plain(major.bytes(ChangeCursorByNameRequest {
            src,
            name: name.into(),
        }));
    }
    if let Some(major) = client.extension("RENDER")? {
        let pictures = [Animcursorelt { cursor, delay: 50 }; PICTURES];
        let create = |cid| {
            let cursors = Cow::Borrowed(&pictures[..]);
            major.bytes(CreateAnimCursorRequest { cid, cursors })
        };
        let free = |cursor| core(FreeCursorRequest { cursor });
        cycle(client, loads, RESOURCES / 8, &[&create, &free]);
    }
    if let Some(major) = client.extension("XInputExtension")? {
        // The cursor is None. After a window's first cursor a server shows one for ever, and if it is drawn in
        // software, all drawing is checked from then on for overlap.
        loads.plain(major.bytes(XIChangeCursorRequest {
            window: client.unwatched,
            cursor: 0,
            deviceid: POINTER,
        }));
    }
    Ok(())
}

fn plain_cursor(client: &mut Client) -> Result<u32, MeasureError> {
    let bitmap = client.pixmap(1, 16)?;
    let cid = client.id();
    client.send(cursor_of(cid, bitmap))?;
    Ok(cid)
}
