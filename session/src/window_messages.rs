//! The requests that make, change, map and move windows, and the events that tell what became
//! of them.
//!
//! A request takes effect at once, unless a client of this session is known to redirect it (a
//! window manager). A window manager outside the recording shows by the events alone.

use x11prof_protocol::{Event, Request};
use x11rb_protocol::protocol::xproto;

use crate::body::Body;
use crate::ids::{By, ClientId};
use crate::windows::{Background, Geometry, Window, Windows};

/// Bits of the value mask of CreateWindow and ChangeWindowAttributes.
const BACK_PIXMAP: u32 = 1 << 0;
const BACK_PIXEL: u32 = 1 << 1;
const OVERRIDE_REDIRECT: u32 = 1 << 9;
const EVENT_MASK: u32 = 1 << 11;
/// A bit of an event mask.
const SUBSTRUCTURE_REDIRECT: u32 = 1 << 20;

/// CreateWindow; gives the id of the window.
pub(crate) fn create(windows: &mut Windows, by: By, depth: u8, body: &Body<'_>) -> Option<u32> {
    let (id, parent) = (body.u32(0)?, body.u32(4)?);
    let geometry = Geometry {
        x: body.i16(8)?,
        y: body.i16(10)?,
        width: body.u16(12)?,
        height: body.u16(14)?,
        border_width: body.u16(16)?,
    };
    /// Values of the class; 0 is the parent's.
    const INPUT_ONLY: u16 = 2;
    const COPY_FROM_PARENT: u16 = 0;
    let above = windows
        .get(parent)
        .map(|parent| (parent.depth, parent.input_only));
    let mut window = Window::new(parent, geometry, by);
    window.input_only = match body.u16(18)? {
        COPY_FROM_PARENT => above.is_some_and(|(_, input_only)| input_only),
        class => class == INPUT_ONLY,
    };
    // Depth 0 is the parent's.
    window.depth = if depth == 0 {
        above.and_then(|(depth, _)| depth)
    } else {
        Some(depth)
    };
    change(&mut window, by.client, body, body.u32(24)?, 28);
    windows.add(id, window);
    Some(id)
}

/// ChangeWindowAttributes.
pub(crate) fn change_attributes(windows: &mut Windows, by: By, body: &Body<'_>) -> Option<()> {
    let window = windows.get_mut(body.u32(0)?)?;
    change(window, by.client, body, body.u32(4)?, 8);
    Some(())
}

/// Sets the attributes in `mask` to the value list at `at`.
fn change(window: &mut Window, client: ClientId, body: &Body<'_>, mask: u32, at: usize) {
    if let Some(pixmap) = body.value(at, mask, BACK_PIXMAP) {
        window.background = match pixmap {
            0 => Background::Absent,
            1 => Background::ParentRelative,
            _ => Background::Present,
        };
    }
    // A pixel given with a pixmap wins (protocol, CreateWindow).
    if mask & BACK_PIXEL != 0 {
        window.background = Background::Present;
    }
    if let Some(value) = body.value(at, mask, OVERRIDE_REDIRECT) {
        window.override_redirect = value & 0xFF != 0;
    }
    if let Some(events) = body.value(at, mask, EVENT_MASK) {
        if events & SUBSTRUCTURE_REDIRECT != 0 {
            window.redirected_to = Some(client);
        } else {
            window.redirected_to = window.redirected_to.filter(|to| *to != client);
        }
    }
}

/// The requests on windows that exist; every other request does nothing here.
pub(crate) fn request(
    windows: &mut Windows,
    by: By,
    request: &Request<'_>,
    body: &Body<'_>,
) -> Option<()> {
    let id = body.u32(0)?;
    match request.major {
        xproto::DESTROY_WINDOW_REQUEST => windows.destroy(id),
        xproto::DESTROY_SUBWINDOWS_REQUEST => {
            windows
                .children(id)
                .into_iter()
                .for_each(|child| windows.destroy(child));
        }
        xproto::MAP_WINDOW_REQUEST => map(windows, id, by, true),
        xproto::UNMAP_WINDOW_REQUEST => map(windows, id, by, false),
        xproto::MAP_SUBWINDOWS_REQUEST => {
            windows
                .children(id)
                .into_iter()
                .for_each(|child| map(windows, child, by, true));
        }
        xproto::UNMAP_SUBWINDOWS_REQUEST => {
            windows
                .children(id)
                .into_iter()
                .for_each(|child| map(windows, child, by, false));
        }
        xproto::REPARENT_WINDOW_REQUEST => {
            let (parent, x, y) = (body.u32(4)?, body.i16(8)?, body.i16(10)?);
            windows.reparent(id, parent);
            let window = windows.get_mut(id)?;
            (window.geometry.x, window.geometry.y) = (x, y);
            window.moved = Some(by);
        }
        xproto::CONFIGURE_WINDOW_REQUEST => configure(windows, id, by, body)?,
        _ => {}
    }
    Some(())
}

fn map(windows: &mut Windows, id: u32, by: By, mapped: bool) {
    // Only mapping is redirected (protocol, UnmapWindow).
    let redirected = mapped && windows.is_redirected(id, by.client);
    if let Some(window) = windows.get_mut(id)
        && window.parent.is_some()
        && !redirected
    {
        window.mapped = mapped;
        window.map_changed = Some(by);
    }
}

fn configure(windows: &mut Windows, id: u32, by: By, body: &Body<'_>) -> Option<()> {
    if windows.is_redirected(id, by.client) {
        return None;
    }
    let window = windows.get_mut(id)?;
    // A root cannot be configured.
    window.parent?;
    let mask = u32::from(body.u16(4)?);
    let value = |bit| body.value(8, mask, bit).map(|value| value as u16);
    let geometry = &mut window.geometry;
    geometry.x = value(1 << 0).map_or(geometry.x, u16::cast_signed);
    geometry.y = value(1 << 1).map_or(geometry.y, u16::cast_signed);
    geometry.width = value(1 << 2).unwrap_or(geometry.width);
    geometry.height = value(1 << 3).unwrap_or(geometry.height);
    geometry.border_width = value(1 << 4).unwrap_or(geometry.border_width);
    window.moved = Some(by);
    Some(())
}

/// Corrects the windows by what the server tells of them.
pub(crate) fn event(windows: &mut Windows, client: ClientId, event: &Event<'_>) -> Option<()> {
    let (bytes, order) = (event.bytes, event.order);
    let is_configure = event.code == xproto::CONFIGURE_NOTIFY_EVENT;
    if event.sent && !is_configure {
        return None;
    }
    // An event tells what was so when the server had handled that request; what the same client
    // asked for since then is still to come.
    let is_late = |by: Option<By>| {
        by.zip(event.sequence)
            .is_some_and(|(by, seen)| by.client == client && seen < by.sequence)
    };
    let id = match event.code {
        xproto::DESTROY_NOTIFY_EVENT
        | xproto::UNMAP_NOTIFY_EVENT
        | xproto::MAP_NOTIFY_EVENT
        | xproto::REPARENT_NOTIFY_EVENT
        | xproto::CONFIGURE_NOTIFY_EVENT => order.u32(bytes, 8)?,
        _ => return None,
    };
    let window = windows.get_mut(id)?;
    // The id may have been given to a new window since.
    if is_late(window.by) {
        return None;
    }
    match event.code {
        xproto::DESTROY_NOTIFY_EVENT => windows.destroy(id),
        xproto::UNMAP_NOTIFY_EVENT | xproto::MAP_NOTIFY_EVENT if !is_late(window.map_changed) => {
            window.mapped = event.code == xproto::MAP_NOTIFY_EVENT;
        }
        xproto::CONFIGURE_NOTIFY_EVENT if !is_late(window.moved) => {
            let geometry = &mut window.geometry;
            geometry.width = order.u16(bytes, 20)?;
            geometry.height = order.u16(bytes, 22)?;
            // One from a window manager counts from the root (ICCCM, section 4.1.5).
            if !event.sent {
                geometry.x = order.i16(bytes, 16)?;
                geometry.y = order.i16(bytes, 18)?;
                geometry.border_width = order.u16(bytes, 24)?;
            }
        }
        xproto::REPARENT_NOTIFY_EVENT if !is_late(window.moved) => {
            let parent = order.u32(bytes, 12)?;
            window.geometry.x = order.i16(bytes, 16)?;
            window.geometry.y = order.i16(bytes, 18)?;
            windows.reparent(id, parent);
        }
        _ => {}
    }
    Some(())
}
