//! The part of the screen that a request changes: a box around its drawing on visible windows, or around a window that
//! is mapped, unmapped or moved. A server that sends its screen to a viewer, or shows it in a window of another server,
//! processes the change later.
//!
//! Overlapping windows are not subtracted. RENDER's glyphs are not counted, nor are windows that change only their
//! stacking position or their parent.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::{render, xproto};

use crate::extension_kind::ExtensionKind;
use crate::geometry::clip::Area;
use crate::geometry::target::{DrawTarget, Effect};
use crate::ids::ClientId;
use crate::operations::compositing;
use crate::operations::drawing::{absolute, rectangle_of};
use crate::operations::images;
use crate::rendering::gc::Component;
use crate::state::State;
use crate::windows::requests::reshape;
use crate::windows::tree::Windows;

/// A box of pixels of the screen; `right` and `bottom` are the first column and row outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Changed {
    /// The first column.
    pub left: u16,
    /// The first row.
    pub top: u16,
    /// The column after the last one.
    pub right: u16,
    /// The row after the last one.
    pub bottom: u16,
}

/// The screen area that one request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The first box of the area.
    pub first: Changed,
    /// More boxes, without overlap, if the request draws through a clip of several rectangles.
    pub more: Vec<Changed>,
}

impl From<Changed> for Change {
    fn from(first: Changed) -> Change {
        Change {
            first,
            more: Vec::new(),
        }
    }
}

impl Change {
    /// The boxes.
    pub fn boxes(&self) -> impl Iterator<Item = Changed> + '_ {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

/// The screen area that a request of `client` will change, before the request is observed. `None` if it changes
/// nothing there, or if the area is unknown.
pub(crate) fn changed(
    state: &State,
    extension: Option<ExtensionKind>,
    client: ClientId,
    request: &Request<'_>,
) -> Option<Change> {
    let body = Body::of(request);
    if (xproto::DESTROY_WINDOW_REQUEST..=xproto::CONFIGURE_WINDOW_REQUEST).contains(&request.major)
    {
        let (parent, area) = window(&state.drawables.windows, client, request, &body)?;
        return state.on_screen(parent, area).map(Change::from);
    }
    let (window, target, area) = match request.major {
        xproto::POLY_POINT_REQUEST..=xproto::POLY_FILL_ARC_REQUEST => drawn(state, request, &body)?,
        xproto::POLY_TEXT8_REQUEST..=xproto::IMAGE_TEXT16_REQUEST => text(state, request, &body)?,
        _ => match extension {
            Some(ExtensionKind::Render) => composited(state, request, &body)?,
            kind => images::changed(state, kind, request, &body)?,
        },
    };
    match target.effect {
        Effect::Nothing => None,
        _ => {
            let left = target.left(area);
            let mut boxes = left.filter_map(|area| state.on_screen(window, area));
            let first = boxes.next()?;
            let more = boxes.collect();
            Some(Change { first, more })
        }
    }
}

/// The part of the parent that a request on a window changes: a box around the window, and around its new position.
fn window(
    windows: &Windows,
    client: ClientId,
    request: &Request<'_>,
    body: &Body<'_>,
) -> Option<(u32, Area)> {
    let id = body.u32(0)?;
    let window = windows.get(id).filter(|window| !window.input_only)?;
    let (parent, now) = (window.parent?, window.geometry);
    let maps = request.major == xproto::MAP_WINDOW_REQUEST;
    if maps == window.mapped || maps && !windows.paints(id) {
        return None;
    }
    let area = match request.major {
        xproto::MAP_WINDOW_REQUEST | xproto::CONFIGURE_WINDOW_REQUEST
            if windows.is_redirected(id, client) =>
        {
            return None;
        }
        xproto::MAP_WINDOW_REQUEST
        | xproto::UNMAP_WINDOW_REQUEST
        | xproto::DESTROY_WINDOW_REQUEST => now.outer(),
        xproto::CONFIGURE_WINDOW_REQUEST => {
            let mut then = now;
            reshape(&mut then, body, u32::from(body.u16(4)?));
            (then != now).then(|| now.outer().hull(then.outer()))?
        }
        _ => return None,
    };
    Some((parent, area))
}

/// The destination of a request's drawing: its drawable, its clip, and a box around its shapes.
type DrawPlace<'a> = (u32, DrawTarget<'a>, Area);

fn hull(all: impl Iterator<Item = Area>) -> Area {
    all.fold(Area::NOTHING, Area::hull)
}

/// The paper's graphics requests.
fn drawn<'a>(state: &'a State, request: &Request<'_>, body: &Body<'_>) -> Option<DrawPlace<'a>> {
    let window = body.u32(0)?;
    let (target, gc) = state.with_gc(Some(window), body.u32(4));
    let pixel = |(x, y): (i32, i32)| Area::between(x, y, x + 1, y + 1);
    let relative = request.minor == 1;
    let area = match request.major {
        xproto::POLY_POINT_REQUEST | xproto::POLY_LINE_REQUEST => {
            hull(absolute(body, 8, relative).map(pixel))
        }
        xproto::FILL_POLY_REQUEST => hull(absolute(body, 12, body.u8(9) == Some(1)).map(pixel)),
        xproto::POLY_SEGMENT_REQUEST => hull(body.list(8, 4).map(|point| {
            let at = |at| i32::from(point.i16(at).unwrap_or(0));
            pixel((at(0), at(2)))
        })),
        xproto::POLY_ARC_REQUEST | xproto::POLY_FILL_ARC_REQUEST => {
            hull(body.list(8, 12).map(|arc| rectangle_of(&arc)))
        }
        _ => hull(body.list(8, 8).map(|rectangle| rectangle_of(&rectangle))),
    };
    let width = gc.and_then(|gc| gc.get(Component::LineWidth)).unwrap_or(0);
    Some((window, target, area.grown(width.div_ceil(2) as i32)))
}

/// The box of a text. Each character counts with the width of the font's widest character.
fn text<'a>(state: &'a State, request: &Request<'_>, body: &Body<'_>) -> Option<DrawPlace<'a>> {
    let window = body.u32(0)?;
    let (target, gc) = state.with_gc(Some(window), body.u32(4));
    let font = state.fonts.metrics(gc?.get(Component::Font)?)?;
    let wide = [xproto::POLY_TEXT16_REQUEST, xproto::IMAGE_TEXT16_REQUEST];
    let bytes = if wide.contains(&request.major) { 2 } else { 1 };
    let characters = match request.major {
        xproto::IMAGE_TEXT8_REQUEST | xproto::IMAGE_TEXT16_REQUEST => i32::from(request.minor),
        // Text items: the length and the shift of each item count as characters.
        _ => i32::try_from(body.from(12).len() / bytes).ok()?,
    };
    let (x, y) = (i32::from(body.i16(8)?), i32::from(body.i16(10)?));
    let area = Area::between(
        x,
        y - i32::from(font.ascent),
        x.saturating_add(characters.saturating_mul(i32::from(font.max_width))),
        y + i32::from(font.descent),
    );
    Some((window, target, area))
}

/// RENDER's requests, except for glyphs.
fn composited<'a>(
    state: &'a State,
    request: &Request<'_>,
    body: &Body<'_>,
) -> Option<DrawPlace<'a>> {
    let (picture, area) = match request.minor {
        render::COMPOSITE_REQUEST => {
            let size = (body.u16(28)?, body.u16(30)?);
            (12, Area::new(body.i16(24)?, body.i16(26)?, size.0, size.1))
        }
        render::FILL_RECTANGLES_REQUEST => (
            4,
            hull(body.list(16, 8).map(|rectangle| rectangle_of(&rectangle))),
        ),
        render::TRAPEZOIDS_REQUEST => (
            8,
            hull(
                body.list(20, 40)
                    .map(|trapezoid| compositing::around(&trapezoid)),
            ),
        ),
        _ => return None,
    };
    let (target, _) = state.render.target(&state.drawables, body.u32(picture));
    let window = state.render.pictures.drawable(body.u32(picture)?)?;
    Some((window, target, area))
}

impl State {
    /// The visible part of `area` of a window, in screen coordinates; `None` if there is none.
    fn on_screen(&self, window: u32, area: Area) -> Option<Changed> {
        let seen = self.drawables.windows.on_screen(window, area)?;
        let (left, top, right, bottom) = seen.edges();
        let edge = |at: i32| u16::try_from(at).ok();
        (!seen.is_empty()).then_some(Changed {
            left: edge(left)?,
            top: edge(top)?,
            right: edge(right)?,
            bottom: edge(bottom)?,
        })
    }
}
