//! Images and copies: PutImage, GetImage, CopyArea, CopyPlane and ClearArea, by the area in
//! pixels that is left after clipping.

use x11prof_protocol::Request;
use x11rb_protocol::protocol::xproto;

use crate::body::Body;
use crate::clip::Area;
use crate::drawables::Target;
use crate::drawing::push_area;
use crate::names::Names;
use crate::operation::{Effect, Operation, Value};
use crate::session::State;

/// Fills in the operation of one of these requests. All that decides it stands in the first 28
/// bytes: that a recorder left out the pixels does not matter.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let sized = match request.major {
        xproto::CLEAR_AREA_REQUEST => clear_area(state, body),
        xproto::COPY_AREA_REQUEST | xproto::COPY_PLANE_REQUEST => copy(state, request, body),
        xproto::PUT_IMAGE_REQUEST => put_image(state, body),
        _ => get_image(state, body),
    };
    let Some((target, area)) = sized else {
        // Cut off before its size: nothing is known of it.
        operation.effect = Effect::Unknown;
        return;
    };
    if let Some(depth) = target.depth {
        operation
            .attributes
            .set(names.depth, Value::Number(u32::from(depth)));
    }
    if matches!(
        request.major,
        xproto::PUT_IMAGE_REQUEST | xproto::GET_IMAGE_REQUEST
    ) && let Some(format) = names.image_format(request.minor)
    {
        operation.attributes.set(names.format, Value::Name(format));
    }
    let drawn = push_area(&mut operation.items, area.pixels());
    operation.op_size = area.pixels();
    operation.effect = match target.effect {
        Effect::Full if !drawn => Effect::Nothing,
        effect => effect,
    };
}

/// What a request works on, and how much of it.
type Extent = Option<(Target, Area)>;

/// The rectangle whose x, y, width and height stand at `at`.
fn rectangle(body: &Body<'_>, at: usize) -> Option<Area> {
    Some(Area::new(
        body.i16(at)?,
        body.i16(at + 2)?,
        body.u16(at + 4)?,
        body.u16(at + 6)?,
    ))
}

fn put_image(state: &State, body: &Body<'_>) -> Extent {
    let mut target = state.drawables.target(body.u32(0));
    let area = Area::new(body.i16(12)?, body.i16(14)?, body.u16(8)?, body.u16(10)?);
    // The image's own depth: it is the drawable's too, but for a bitmap.
    target.depth = body.u8(17);
    Some((target, area.intersection(target.area)))
}

fn get_image(state: &State, body: &Body<'_>) -> Extent {
    let target = state.drawables.target(body.u32(0));
    Some((target, rectangle(body, 4)?.intersection(target.area)))
}

fn clear_area(state: &State, body: &Body<'_>) -> Extent {
    let id = body.u32(0)?;
    let mut target = state.drawables.target(Some(id));
    // Without a background nothing is painted (protocol, ClearArea).
    if state.drawables.windows.has_background(id) == Some(false) {
        target.effect = Effect::Nothing;
    }
    let (x, y) = (body.i16(4)?, body.i16(6)?);
    let mut area = Area::new(x, y, body.u16(8)?, body.u16(10)?);
    // A width or height of 0 reaches to the window's edge, which may not be known.
    if let Some(window) = state.drawables.windows.get(id) {
        area = area.or_to_the_edge(window.geometry.width, window.geometry.height);
    }
    Some((target, area.intersection(target.area)))
}

fn copy(state: &State, request: &Request<'_>, body: &Body<'_>) -> Extent {
    let source = state.drawables.target(body.u32(0));
    let mut target = state.drawables.target(body.u32(4));
    let from = (i32::from(body.i16(12)?), i32::from(body.i16(14)?));
    let to = (body.i16(16)?, body.i16(18)?);
    let area = Area::new(to.0, to.1, body.u16(20)?, body.u16(22)?);
    if request.major == xproto::COPY_AREA_REQUEST {
        // Source and destination have one depth (protocol, CopyArea).
        target.depth = target.depth.or(source.depth);
    }
    target.effect = match (source.effect, target.effect) {
        (Effect::Nothing, _) | (_, Effect::Nothing) => Effect::Nothing,
        (Effect::Unknown, _) | (_, Effect::Unknown) => Effect::Unknown,
        (Effect::Full, Effect::Full) => Effect::Full,
    };
    // What lies outside the source is not copied.
    let source = source
        .area
        .moved(i32::from(to.0) - from.0, i32::from(to.1) - from.1);
    Some((target, area.intersection(source).intersection(target.area)))
}
