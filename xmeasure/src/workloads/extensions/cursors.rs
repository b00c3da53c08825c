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
use super::{RESOURCES, costly, cycle, plain};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::{core, extension};
use crate::workloads::loads::Loads;
use crate::workloads::resources::cursor_of;

/// Pictures of an animated cursor, as a theme's busy one may have.
const PICTURES: usize = 16;

/// Adds the loads. That an extension is absent has been noted by its own family.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let cursor = plain_cursor(client)?;
    if let Some(major) = client.extension("XFIXES")? {
        let name = b"left_ptr";
        plain(
            loads,
            SetCursorNameRequest {
                cursor,
                name: name.into(),
            },
            major,
        );
        plain(loads, GetCursorNameRequest { cursor }, major);
        costly(loads, GetCursorImageAndNameRequest, major);
        // No cursor has this name, so none is changed: the cost is that of the search.
        let src = cursor;
        let name = b"x11prof-none";
        plain(
            loads,
            ChangeCursorByNameRequest {
                src,
                name: name.into(),
            },
            major,
        );
    }
    if let Some(major) = client.extension("RENDER")? {
        let pictures = [Animcursorelt { cursor, delay: 50 }; PICTURES];
        let create = |cid| {
            let cursors = Cow::Borrowed(&pictures[..]);
            extension(CreateAnimCursorRequest { cid, cursors }, major)
        };
        let free = |cursor| core(FreeCursorRequest { cursor });
        cycle(client, loads, RESOURCES / 8, &[&create, &free]);
    }
    if let Some(major) = client.extension("XInputExtension")? {
        // The cursor is None. After a window's first cursor a server shows one for ever, and if it is drawn in
        // software, all drawing is checked from then on for overlap.
        let request = XIChangeCursorRequest {
            window: client.unwatched,
            cursor: 0,
            deviceid: POINTER,
        };
        plain(loads, request, major);
    }
    Ok(())
}

fn plain_cursor(client: &mut Client) -> Result<u32, MeasureError> {
    let bitmap = client.pixmap(1, 16)?;
    let cid = client.id();
    client.send(cursor_of(cid, bitmap))?;
    Ok(cid)
}
