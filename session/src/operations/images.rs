//! Images and copies: PutImage, GetImage, their MIT-SHM equivalents, CopyArea, CopyPlane, ClearArea and Present's
//! Pixmap, by the area in pixels that remains after clipping.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::{present, shm, xproto};

use crate::geometry::clip::Area;
use crate::geometry::target::{DrawTarget, Effect};
use crate::operations::drawing::push_area;
use crate::operations::names::Names;
use crate::operations::operation::{Operation, Value};
use crate::rendering::gc::{Component, Gc};
use crate::state::State;

/// The area of a request, and the other attributes that determine its cost.
struct Extent<'a> {
    target: DrawTarget<'a>,
    area: Area,
    /// The image's format, as the protocol's number; `None` for requests without an image.
    format: Option<u8>,
    gc: Option<&'a Gc>,
}

/// Fills in the attributes and items of a core image request's `operation`. The first 28 bytes of the request determine
/// the cost, so pixels that the recorder dropped are not needed.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let extent = match request.major {
        xproto::CLEAR_AREA_REQUEST => clear_area(state, body),
        xproto::COPY_AREA_REQUEST | xproto::COPY_PLANE_REQUEST => copy(state, request, body),
        xproto::PUT_IMAGE_REQUEST => put_image(state, request, body),
        _ => get_image(state, body, Some(request.minor)),
    };
    fill_in(operation, names, extent);
}

/// Fills in the attributes and items of an MIT-SHM request's `operation`. Returns false if the request contains no
/// image.
pub(crate) fn shm_operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    minor: u8,
    body: &Body<'_>,
) -> bool {
    let extent = match minor {
        shm::PUT_IMAGE_REQUEST => shm_put_image(state, body),
        shm::GET_IMAGE_REQUEST => get_image(state, body, body.u8(16)),
        _ => return false,
    };
    fill_in(operation, names, extent);
    true
}

/// Fills in the attributes and items of a Present request's `operation`. Returns false if the request presents no
/// pixmap.
pub(crate) fn present_operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    minor: u8,
    body: &Body<'_>,
) -> bool {
    if minor != present::PIXMAP_REQUEST {
        return false;
    }
    fill_in(operation, names, present_pixmap(state, body));
    true
}

fn fill_in(operation: &mut Operation, names: &Names, extent: Option<Extent<'_>>) {
    let Some(extent) = extent else {
        // The request was truncated before its size.
        operation.effect = Effect::Unknown;
        return;
    };
    let target = extent.target;
    if let Some(depth) = target.depth {
        operation
            .attributes
            .append(names.depth, Value::Number(u32::from(depth)));
    }
    let format = extent.format.and_then(|format| names.image_format(format));
    operation.attributes.append_name(names.format, format);
    let function = extent.gc.and_then(|gc| gc.get(Component::Function));
    let function = function.and_then(|function| names.function(function));
    operation.attributes.append_name(names.gxmode, function);
    let pixels = target.pixels(extent.area);
    let drawn = push_area(&mut operation.items, pixels);
    operation.op_size = pixels;
    operation.effect = match target.effect {
        Effect::Full if !drawn => Effect::Nothing,
        effect => effect,
    };
}

/// Reads the rectangle with x, y, width and height at the offset `at`.
fn rectangle(body: &Body<'_>, at: usize) -> Option<Area> {
    Some(Area::new(
        body.i16(at)?,
        body.i16(at + 2)?,
        body.u16(at + 4)?,
        body.u16(at + 6)?,
    ))
}

fn put_image<'a>(state: &'a State, request: &Request<'_>, body: &Body<'_>) -> Option<Extent<'a>> {
    let (mut target, gc) = state.with_gc(body.u32(0), body.u32(4));
    // The image's depth, which equals the drawable's depth except for a bitmap.
    target.depth = body.u8(17);
    Some(Extent {
        target,
        area: Area::new(body.i16(12)?, body.i16(14)?, body.u16(8)?, body.u16(10)?),
        format: Some(request.minor),
        gc,
    })
}

fn shm_put_image<'a>(state: &'a State, body: &Body<'_>) -> Option<Extent<'a>> {
    let (mut target, gc) = state.with_gc(body.u32(0), body.u32(4));
    target.depth = body.u8(24);
    Some(Extent {
        target,
        area: Area::new(body.i16(20)?, body.i16(22)?, body.u16(16)?, body.u16(18)?),
        format: body.u8(25),
        gc,
    })
}

fn get_image<'a>(state: &'a State, body: &Body<'_>, format: Option<u8>) -> Option<Extent<'a>> {
    Some(Extent {
        target: state.drawables.target(body.u32(0)),
        area: rectangle(body, 4)?,
        format,
        gc: None,
    })
}

fn clear_area<'a>(state: &'a State, body: &Body<'_>) -> Option<Extent<'a>> {
    let id = body.u32(0)?;
    let mut target = state.drawables.target(Some(id));
    match state.drawables.windows.has_background(id) {
        // Without a background the request paints nothing (protocol, ClearArea).
        Some(false) => target.effect = Effect::Nothing,
        Some(true) => {}
        None => target = target.doubted(),
    }
    let (x, y) = (body.i16(4)?, body.i16(6)?);
    let mut area = Area::new(x, y, body.u16(8)?, body.u16(10)?);
    // A width or height of 0 extends to the window's edge, which may be unknown.
    if let Some((width, height)) = state.drawables.size(id) {
        area = area.or_to_the_edge(width, height);
    }
    Some(Extent {
        target,
        area,
        format: None,
        gc: None,
    })
}

fn copy<'a>(state: &'a State, request: &Request<'_>, body: &Body<'_>) -> Option<Extent<'a>> {
    let source = state.drawables.target(body.u32(0));
    let (mut target, gc) = state.with_gc(body.u32(4), body.u32(8));
    let from = (i32::from(body.i16(12)?), i32::from(body.i16(14)?));
    let to = (body.i16(16)?, body.i16(18)?);
    let area = Area::new(to.0, to.1, body.u16(20)?, body.u16(22)?);
    if request.major == xproto::COPY_AREA_REQUEST {
        // Source and destination have the same depth (protocol, CopyArea).
        target.depth = target.depth.or(source.depth);
    }
    target.effect = both(source.effect, target.effect);
    // Pixels outside the source are not copied.
    let source = source
        .area
        .moved(i32::from(to.0) - from.0, i32::from(to.1) - from.1);
    Some(Extent {
        target,
        area: area.intersection(source),
        format: None,
        gc,
    })
}

/// Returns the area of a pixmap that Present shows in a window: the whole pixmap, or the valid part that a region
/// defines.
fn present_pixmap<'a>(state: &'a State, body: &Body<'_>) -> Option<Extent<'a>> {
    let mut target = state.drawables.target(body.u32(0));
    let pixmap = state.drawables.target(body.u32(4));
    let (x, y) = (i32::from(body.i16(20)?), i32::from(body.i16(22)?));
    let mut area = pixmap.area.moved(x, y);
    match state.regions.as_clip(body.u32(16)?) {
        None => {}
        Some(Some(region)) => area = area.intersection(region.bounds().moved(x, y)),
        Some(None) => target = target.doubted(),
    }
    target.depth = target.depth.or(pixmap.depth);
    target.effect = both(pixmap.effect, target.effect);
    Some(Extent {
        target,
        area,
        format: None,
        gc: None,
    })
}

/// Returns the combined effect of a request that reads the drawable with the effect `source` and draws on the drawable
/// with the effect `target`.
fn both(source: Effect, target: Effect) -> Effect {
    match (source, target) {
        (Effect::Nothing, _) | (_, Effect::Nothing) => Effect::Nothing,
        (Effect::Unknown, _) | (_, Effect::Unknown) => Effect::Unknown,
        (Effect::Full, Effect::Full) => Effect::Full,
    }
}
