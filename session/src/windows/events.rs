//! Events that describe changes of windows. Only events show the actions of a window manager outside the recording.

use x11prof_protocol::Event;
use x11rb_protocol::protocol::xproto;

use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId};
use crate::windows::drawables::Drawables;
use crate::windows::window::Window;

/// Corrects the windows according to an event that `client` received. Returns `None` if the event describes no change.
pub(crate) fn event(drawables: &mut Drawables, client: ClientId, event: &Event<'_>) -> Option<()> {
    let (bytes, order) = (event.bytes, event.order);
    let is_configure = event.code == xproto::CONFIGURE_NOTIFY_EVENT;
    if event.sent && !is_configure {
        return None;
    }
    let id = match event.code {
        xproto::CREATE_NOTIFY_EVENT
        | xproto::DESTROY_NOTIFY_EVENT
        | xproto::UNMAP_NOTIFY_EVENT
        | xproto::MAP_NOTIFY_EVENT
        | xproto::REPARENT_NOTIFY_EVENT
        | xproto::CONFIGURE_NOTIFY_EVENT => order.u32(bytes, 8)?,
        _ => return None,
    };
    // An event describes the state after a certain request. Later requests of the same client have not taken effect
    // yet.
    let is_late = |by: Option<By>| {
        by.zip(event.sequence)
            .is_some_and(|(by, seen)| by.client == client && seen < by.sequence)
    };
    if drawables.windows.get(id).is_none() {
        return earlier(drawables, id, event);
    }
    let windows = &mut drawables.windows;
    let window = windows.get_mut(id)?;
    // The id may have been reused for a new window since then.
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
            let reported = Geometry::parse(bytes, order, 16)?;
            // An event from a window manager has coordinates relative to the root window (ICCCM, section 4.1.5).
            *geometry = if event.sent {
                Geometry {
                    width: reported.width,
                    height: reported.height,
                    ..*geometry
                }
            } else {
                reported
            };
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

/// Applies an event of a window that no request in the recording created.
fn earlier(drawables: &mut Drawables, id: u32, event: &Event<'_>) -> Option<()> {
    let (bytes, order) = (event.bytes, event.order);
    match event.code {
        xproto::CREATE_NOTIFY_EVENT => {
            let parent = order.u32(bytes, 4)?;
            drawables.windows.get(parent)?;
            let geometry = Geometry::parse(bytes, order, 12)?;
            let mut window = Window::reported_of(parent, geometry);
            window.override_redirect = *bytes.get(22)? != 0;
            drawables.windows.add(id, window);
            drawables.earlier.remove(id);
        }
        xproto::DESTROY_NOTIFY_EVENT => drawables.earlier.remove(id),
        xproto::UNMAP_NOTIFY_EVENT => drawables.earlier.mapped(id, Some(false)),
        xproto::MAP_NOTIFY_EVENT | xproto::REPARENT_NOTIFY_EVENT => {
            drawables.earlier.mapped(id, None);
        }
        xproto::CONFIGURE_NOTIFY_EVENT if !event.sent => {
            let reported = Geometry::parse(bytes, order, 16)?;
            drawables
                .earlier
                .configured(id, |geometry| *geometry = reported);
        }
        _ => {}
    }
    Some(())
}
