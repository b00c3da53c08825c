//! The requests that create, change, map and move windows.
//!
//! A request takes effect at once, unless a client of this session is known to redirect it (a window manager). The
//! actions of a window manager outside the recording are known only from events.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::xproto;

use crate::geometry::placement::Geometry;
use crate::ids::{By, ClientId};
use crate::resources::atoms::Atoms;
use crate::windows::drawables::Drawables;
use crate::windows::names::is_name;
use crate::windows::tree::Windows;
use crate::windows::window::{Background, Window};

/// Bits of the value mask of CreateWindow and ChangeWindowAttributes: the background pixmap and others.
const BACK_PIXMAP: u32 = 1 << 0;
const BACK_PIXEL: u32 = 1 << 1;
const BIT_GRAVITY: u32 = 1 << 4;
const OVERRIDE_REDIRECT: u32 = 1 << 9;
const EVENT_MASK: u32 = 1 << 11;
/// The bit of an event mask that selects SubstructureRedirect events.
const SUBSTRUCTURE_REDIRECT: u32 = 1 << 20;

/// Applies CreateWindow. Returns the id of the window; `None` if the request is truncated.
pub(crate) fn create(drawables: &mut Drawables, by: By, depth: u8, body: &Body<'_>) -> Option<u32> {
    let windows = &mut drawables.windows;
    let (id, parent) = (body.u32(0)?, body.u32(4)?);
    let geometry = Geometry {
        x: body.i16(8)?,
        y: body.i16(10)?,
        width: body.u16(12)?,
        height: body.u16(14)?,
        border_width: body.u16(16)?,
    };
    /// Values of CreateWindow's class. The value 0 means the parent's class.
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
    // Depth 0 means the parent's depth.
    window.depth = if depth == 0 {
        above.and_then(|(depth, _)| depth)
    } else {
        Some(depth)
    };
    change(&mut window, by.client, body, body.u32(24)?, 28);
    windows.add(id, window);
    drawables.earlier.remove(id);
    Some(id)
}

/// Applies ChangeWindowAttributes. Returns `None` if the request is truncated, or if the window is unknown.
pub(crate) fn change_attributes(windows: &mut Windows, by: By, body: &Body<'_>) -> Option<()> {
    let window = windows.get_mut(body.u32(0)?)?;
    change(window, by.client, body, body.u32(4)?, 8);
    Some(())
}

/// Applies ChangeProperty to the names of a window. Returns `None` if the property is not a name.
pub(crate) fn change_property(windows: &mut Windows, atoms: &Atoms, body: &Body<'_>) -> Option<()> {
    /// The number of bits of each element of a name property.
    const BYTES: u8 = 8;
    let property = atoms.name(body.u32(4)?).filter(|name| is_name(name))?;
    if body.u8(12)? != BYTES {
        return None;
    }
    let length = usize::try_from(body.u32(16)?).ok()?;
    let value = body.bytes(20, length)?;
    windows.names_mut(body.u32(0)?)?.set(property, value)
}

/// Sets the window attributes in `mask` to the values of the value list at the offset `at`.
fn change(window: &mut Window, client: ClientId, body: &Body<'_>, mask: u32, at: usize) {
    if let Some(pixmap) = body.value(at, mask, BACK_PIXMAP) {
        window.background = match pixmap {
            0 => Background::Absent,
            1 => Background::ParentRelative,
            _ => Background::Pixmap,
        };
    }
    // A background pixel overrides a background pixmap (protocol, CreateWindow).
    if mask & BACK_PIXEL != 0 {
        window.background = Background::Pixel;
    }
    if let Some(gravity) = body.value(at, mask, BIT_GRAVITY) {
        window.keeps_bits = gravity & 0xFF != 0;
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

/// Applies a request on existing windows. Other requests have no effect.
pub(crate) fn request(
    drawables: &mut Drawables,
    by: By,
    request: &Request<'_>,
    body: &Body<'_>,
) -> Option<()> {
    let id = body.u32(0)?;
    let windows = &mut drawables.windows;
    if windows.get(id).is_none() {
        return earlier(drawables, id, request.major, body);
    }
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
        xproto::CIRCULATE_WINDOW_REQUEST => {
            let (child, place) = windows.circulated(id, lowers(request))?;
            if !windows.is_redirected(child, by.client) {
                windows.restack(child, place);
            }
        }
        _ => {}
    }
    Some(())
}

/// Applies a request `major` on a window from before the recording.
fn earlier(drawables: &mut Drawables, id: u32, major: u8, body: &Body<'_>) -> Option<()> {
    let earlier = &mut drawables.earlier;
    match major {
        xproto::DESTROY_WINDOW_REQUEST => earlier.remove(id),
        // The window's viewability depends on its ancestors, and on a window manager.
        xproto::MAP_WINDOW_REQUEST | xproto::REPARENT_WINDOW_REQUEST => {
            earlier.mapped(id, None);
        }
        xproto::UNMAP_WINDOW_REQUEST => earlier.mapped(id, Some(false)),
        xproto::CONFIGURE_WINDOW_REQUEST => {
            let mask = u32::from(body.u16(4)?);
            earlier.configured(id, |geometry| reshape(geometry, body, mask));
        }
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
    reshape(&mut window.geometry, body, mask);
    window.moved = Some(by);
    if let Some(place) = restacked(windows, id, body, mask) {
        windows.restack(id, place);
    }
    Some(())
}

/// Returns the new position of a window among its siblings after ConfigureWindow, counted from the lowest. `None` if
/// the request does not restack, or if the position is unknown.
pub(crate) fn restacked(windows: &Windows, id: u32, body: &Body<'_>, mask: u32) -> Option<usize> {
    let mode = body.value(8, mask, 1 << 6)?;
    windows.restacked(id, body.value(8, mask, 1 << 5), mode & 0xFF)
}

/// True if a CirculateWindow request lowers a window.
pub(crate) fn lowers(request: &Request<'_>) -> bool {
    request.minor != 0
}

/// Applies the values of ConfigureWindow that `mask` selects to the geometry.
pub(crate) fn reshape(geometry: &mut Geometry, body: &Body<'_>, mask: u32) {
    let value = |bit| body.value(8, mask, bit).map(|value| value as u16);
    geometry.x = value(1 << 0).map_or(geometry.x, u16::cast_signed);
    geometry.y = value(1 << 1).map_or(geometry.y, u16::cast_signed);
    geometry.width = value(1 << 2).unwrap_or(geometry.width);
    geometry.height = value(1 << 3).unwrap_or(geometry.height);
    geometry.border_width = value(1 << 4).unwrap_or(geometry.border_width);
}
