//! The operations of requests on windows. The number of affected windows determines their cost.

use x11prof_protocol::{Body, Request, Symbol};
use x11rb_protocol::protocol::xproto;

use crate::geometry::target::Effect;
use crate::ids::ClientId;
use crate::operations::names::Names;
use crate::operations::operation::Operation;
use crate::state::State;
use crate::windows::requests::{lowers, restacked};
use crate::windows::tree::Windows;
use crate::windows::window::Window;

/// The number of windows that a request affects, and the effect on the screen.
type WindowEffect = (u32, Effect);

/// Fills in the `operation` of a request that destroys, maps, unmaps, moves or configures windows. Call the function
/// before the request takes effect. The operation has one item, whose size is the number of affected windows.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    client: ClientId,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let windows = &state.drawables.windows;
    if request.major == xproto::CIRCULATE_WINDOW_REQUEST {
        circulate(operation, windows, client, lowers(request), body);
        return;
    }
    let touched = body
        .u32(0)
        .and_then(|id| Some((id, windows.get(id)?)))
        .map(|(id, window)| match request.major {
            xproto::DESTROY_WINDOW_REQUEST | xproto::REPARENT_WINDOW_REQUEST => {
                (windows.count(id, true), Effect::Full)
            }
            xproto::MAP_WINDOW_REQUEST => map(windows, id, client, true),
            xproto::UNMAP_WINDOW_REQUEST => map(windows, id, client, false),
            xproto::CONFIGURE_WINDOW_REQUEST => {
                configure(operation, names, windows, client, (id, window), body)
            }
            major => children(windows, id, client, major),
        });
    if let Some(viewable) = taken_away(windows, body.u32(0), request.major) {
        let value = if viewable { names.yes } else { names.no };
        operation.attributes.append_name(names.viewable, value);
    }
    if touched.is_none()
        && request.major == xproto::CONFIGURE_WINDOW_REQUEST
        && let Some(change) = body.u16(4).and_then(|mask| change(names, None, mask, body))
    {
        operation.attributes.append_name(names.change, change);
    }
    let (count, effect) = touched.unwrap_or((1, Effect::Unknown));
    operation.effect = effect;
    operation.op_size = f64::from(count);
    operation.items.push(operation.op_size);
}

/// Sets the item and the effect of a CirculateWindow request, which changes the stacking position of at most one child.
/// `lowers` is true for the direction LowerHighest.
fn circulate(
    operation: &mut Operation,
    windows: &Windows,
    client: ClientId,
    lowers: bool,
    body: &Body<'_>,
) {
    operation.items.push(0.0);
    let parent = body.u32(0).filter(|parent| windows.get(*parent).is_some());
    operation.effect = parent.map_or(Effect::Unknown, |parent| {
        let Some((child, _)) = windows.circulated(parent, lowers) else {
            return Effect::Nothing;
        };
        if windows.is_redirected(child, client) {
            return Effect::Nothing;
        }
        shown(windows, child)
    });
}

/// Returns true if the request removes a visible window from its position, so that the server must redraw the windows
/// beneath. The window is `id`, or a child of `id` for DestroySubwindows. `None` if the viewability is unknown, and for
/// requests whose opcode `major` removes no window.
fn taken_away(windows: &Windows, id: Option<u32>, major: u8) -> Option<bool> {
    match major {
        xproto::DESTROY_WINDOW_REQUEST | xproto::REPARENT_WINDOW_REQUEST => {
            windows.is_viewable(id?)
        }
        xproto::DESTROY_SUBWINDOWS_REQUEST => {
            let is_mapped = |child: u32| windows.get(child).is_some_and(|child| child.mapped);
            let viewable = windows.is_viewable(id?)?;
            Some(viewable && windows.children(id?).into_iter().any(is_mapped))
        }
        _ => None,
    }
}

/// Returns the effect of a request that only has a cost if the window `id` is viewable.
fn shown(windows: &Windows, id: u32) -> Effect {
    match windows.is_viewable(id) {
        Some(true) => Effect::Full,
        Some(false) => Effect::Nothing,
        None => Effect::Unknown,
    }
}

/// Returns the effect of MapWindow and UnmapWindow: the window and its mapped inferiors appear or disappear if the
/// window's parent is viewable.
fn map(windows: &Windows, id: u32, client: ClientId, mapped: bool) -> WindowEffect {
    let Some(window) = windows.get(id) else {
        return (1, Effect::Unknown);
    };
    let asked_only = mapped && windows.is_redirected(id, client);
    match window.parent {
        Some(parent) if window.mapped != mapped && !asked_only => {
            (windows.count(id, false), shown(windows, parent))
        }
        _ => (1, Effect::Nothing),
    }
}

/// Returns the effect of a request that applies to all children of the window `id`, such as MapSubwindows.
fn children(windows: &Windows, id: u32, client: ClientId, major: u8) -> WindowEffect {
    let mut all = (0_u32, Effect::Nothing);
    for child in windows.children(id) {
        let (count, effect) = match major {
            xproto::DESTROY_SUBWINDOWS_REQUEST => (windows.count(child, true), Effect::Full),
            xproto::MAP_SUBWINDOWS_REQUEST => map(windows, child, client, true),
            _ => map(windows, child, client, false),
        };
        if effect != Effect::Nothing {
            all = (all.0.saturating_add(count), effect);
        }
    }
    all
}

fn configure(
    operation: &mut Operation,
    names: &Names,
    windows: &Windows,
    client: ClientId,
    (id, window): (u32, &Window),
    body: &Body<'_>,
) -> WindowEffect {
    let Some(mask) = body.u16(4) else {
        return (1, Effect::Unknown);
    };
    let change = change(names, Some(window), mask, body);
    operation.attributes.append_name(names.change, change);
    let stays = || {
        let place = restacked(windows, id, body, u32::from(mask));
        place.is_some_and(|place| windows.place(id) == Some(place))
    };
    let is_restack = change == Some(names.changes.restack);
    if change.is_none() || windows.is_redirected(id, client) || is_restack && stays() {
        return (1, Effect::Nothing);
    }
    (windows.count(id, true), shown(windows, id))
}

/// Returns the name of the changes that a ConfigureWindow request makes to `window`. If the window is unknown, returns
/// the changes that the request may make. `None` if nothing changes.
fn change(names: &Names, window: Option<&Window>, mask: u16, body: &Body<'_>) -> Option<Symbol> {
    let mask = u32::from(mask);
    let differs = |bit: u32, now: Option<u16>| {
        body.value(8, mask, bit)
            .is_some_and(|value| now != Some(value as u16))
    };
    let now = window.map(|window| window.geometry);
    let moves = differs(1 << 0, now.map(|now| now.x.cast_unsigned()))
        | differs(1 << 1, now.map(|now| now.y.cast_unsigned()));
    let resizes =
        differs(1 << 2, now.map(|now| now.width)) | differs(1 << 3, now.map(|now| now.height));
    match (moves, resizes) {
        (true, true) => Some(names.changes.move_and_resize),
        (false, true) => Some(names.changes.resize),
        (true, false) => Some(names.changes.move_only),
        _ if differs(1 << 4, now.map(|now| now.border_width)) => Some(names.changes.border),
        _ if mask & (1 << 6) != 0 => Some(names.changes.restack),
        _ => None,
    }
}
