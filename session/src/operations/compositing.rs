//! RENDER's drawing requests: their pictures and operators, and the pixels that remain after clipping.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::render;

use crate::geometry::clip::Area;
use crate::geometry::shapes::Polygon;
use crate::geometry::target::{DrawTarget, Effect};
use crate::operations::composition::{self, Composition, Mask};
use crate::operations::drawing::{push_area, rectangle_of, settle};
use crate::operations::names::Names;
use crate::operations::operation::Operation;
use crate::operations::plain::pieces;
use crate::rendering::glyphs::{self, GlyphSet};
use crate::state::State;

/// Fills in the attributes and items of a RENDER request's `operation`.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let done = match request.minor {
        render::COMPOSITE_REQUEST => composite(operation, names, state, body),
        render::TRAPEZOIDS_REQUEST
        | render::TRIANGLES_REQUEST
        | render::TRI_STRIP_REQUEST
        | render::TRI_FAN_REQUEST => shapes(operation, names, state, request, body),
        render::COMPOSITE_GLYPHS8_REQUEST => text(operation, names, state, 1, body),
        render::COMPOSITE_GLYPHS16_REQUEST => text(operation, names, state, 2, body),
        render::COMPOSITE_GLYPHS32_REQUEST => text(operation, names, state, 4, body),
        render::FILL_RECTANGLES_REQUEST => fill(operation, names, state, body),
        render::ADD_TRAPS_REQUEST => add_traps(operation, names, state, body),
        render::ADD_GLYPHS_REQUEST => add_glyphs(operation, names, state, body),
        _ => plain(operation, request, body),
    };
    if done.is_none() {
        // The request was truncated before the fields that determine its effect.
        operation.effect = Effect::Unknown;
    }
}

/// Sets the op-size of RENDER requests that do not draw: the number of stops of a gradient, or the number of rectangles
/// of a clip.
fn plain(operation: &mut Operation, request: &Request<'_>, body: &Body<'_>) -> Option<()> {
    operation.op_size = match request.minor {
        render::CREATE_LINEAR_GRADIENT_REQUEST => f64::from(body.u32(20)?),
        render::CREATE_RADIAL_GRADIENT_REQUEST => f64::from(body.u32(28)?),
        render::CREATE_CONICAL_GRADIENT_REQUEST => f64::from(body.u32(16)?),
        render::SET_PICTURE_CLIP_RECTANGLES_REQUEST => pieces(request, 8, 8),
        _ => 0.0,
    };
    operation.items.push(operation.op_size);
    Some(())
}

fn composite(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    body: &Body<'_>,
) -> Option<()> {
    let (width, height) = (body.u16(28)?, body.u16(30)?);
    let area = |at: usize| Some(Area::new(body.i16(at)?, body.i16(at + 2)?, width, height));
    let (source, mask, destination) = (area(16)?, area(20)?, area(24)?);
    let (target, format) = state.render.target(&state.drawables, body.u32(12));
    let paint = |at, used| {
        let id = body.u32(at);
        composition::paint(&state.render, names, &state.drawables, id, Some(used))
    };
    let composition = Composition {
        operator: names.operator(body.u8(0)?),
        source: Some(paint(4, source)),
        mask: Some(match body.u32(8)? {
            0 => Mask::None,
            _ => Mask::Picture(paint(8, mask)),
        }),
        destination: format,
        glyphs: None,
    };
    composition.describe(&mut operation.attributes, names);
    let drawn = push_area(&mut operation.items, target.pixels(destination));
    settle(operation, &target, body, drawn);
    Some(())
}

fn fill(operation: &mut Operation, names: &Names, state: &State, body: &Body<'_>) -> Option<()> {
    let (target, format) = state.render.target(&state.drawables, body.u32(4));
    let composition = Composition {
        operator: names.operator(body.u8(0)?),
        source: None,
        mask: None,
        destination: format,
        glyphs: None,
    };
    composition.describe(&mut operation.attributes, names);
    let mut drawn = false;
    for rectangle in body.list(16, 8) {
        let pixels = target.pixels(rectangle_of(&rectangle));
        drawn |= push_area(&mut operation.items, pixels);
    }
    settle(operation, &target, body, drawn);
    Some(())
}

/// Parses the fields with which RENDER's drawing requests begin: operator, source, destination and mask format. Sets
/// the attributes of `operation`, and returns the destination.
fn begin<'a>(
    operation: &mut Operation,
    names: &Names,
    state: &'a State,
    body: &Body<'_>,
    glyphs: Option<&GlyphSet>,
) -> Option<DrawTarget<'a>> {
    let (target, format) = state.render.target(&state.drawables, body.u32(8));
    let name_of = |id| state.render.formats.get(id).map(|format| format.name);
    let composition = Composition {
        operator: names.operator(body.u8(0)?),
        source: Some(composition::paint(
            &state.render,
            names,
            &state.drawables,
            body.u32(4),
            None,
        )),
        mask: Some(match body.u32(12)? {
            0 => Mask::None,
            id => Mask::Made(name_of(id)),
        }),
        destination: format,
        glyphs: glyphs.and_then(|set| name_of(set.format)),
    };
    composition.describe(&mut operation.attributes, names);
    Some(target)
}

/// Reads the 16.16 fixed-point number at the offset `at`.
fn fixed(body: &Body<'_>, at: usize) -> f64 {
    f64::from(body.u32(at).unwrap_or(0).cast_signed()) / 65536.0
}

/// Reads the POINTFIX at the offset `at`. Returns x and y in pixels.
fn point(body: &Body<'_>, at: usize) -> (f64, f64) {
    (fixed(body, at), fixed(body, at + 4))
}

fn polygon(items: &mut Vec<f64>, area: Area, corners: &[(f64, f64)]) -> bool {
    let mut polygon = Polygon::inside(area);
    for (x, y) in corners {
        polygon.corner(*x, *y);
    }
    push_area(items, polygon.pixels())
}

fn shapes(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) -> Option<()> {
    let target = begin(operation, names, state, body, None)?;
    let items = &mut operation.items;
    // The server makes a mask of the complete shapes and then composites it (RENDER, "Trapezoids"). The server also
    // rasterizes the parts outside the clip, unless nothing is visible.
    let area = if target.area.is_empty() {
        target.area
    } else {
        Area::EVERYWHERE
    };
    let mut drawn = false;
    match request.minor {
        render::TRAPEZOIDS_REQUEST => {
            for trapezoid in body.list(20, 40) {
                drawn |= polygon(items, area, &corners(&trapezoid));
            }
        }
        render::TRIANGLES_REQUEST => {
            for triangle in body.list(20, 24) {
                let corners = [0, 8, 16].map(|at| point(&triangle, at));
                drawn |= polygon(items, area, &corners);
            }
        }
        minor => {
            let mut points = body.list(20, 8).map(|one| point(&one, 0));
            if let (Some(mut first), Some(mut second)) = (points.next(), points.next()) {
                for third in points {
                    drawn |= polygon(items, area, &[first, second, third]);
                    if minor == render::TRI_STRIP_REQUEST {
                        first = second;
                    }
                    second = third;
                }
            }
        }
    }
    settle(operation, &target, body, drawn);
    Some(())
}

/// Returns the corners of a TRAPEZOID, in pixels. The wire format contains the y coordinates of the top and the bottom,
/// and a line for each side. The lines may extend beyond the top and the bottom.
fn corners(trapezoid: &Body<'_>) -> [(f64, f64); 4] {
    let (top, bottom) = (fixed(trapezoid, 0), fixed(trapezoid, 4));
    let line = |at| (point(trapezoid, at), point(trapezoid, at + 8));
    let (left, right) = (line(8), line(24));
    let across = |(from, to): ((f64, f64), (f64, f64)), y: f64| {
        let down = to.1 - from.1;
        if down == 0.0 {
            from.0
        } else {
            from.0 + (y - from.1) * (to.0 - from.0) / down
        }
    };
    [
        (across(left, top), top),
        (across(right, top), top),
        (across(right, bottom), bottom),
        (across(left, bottom), bottom),
    ]
}

fn add_traps(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    body: &Body<'_>,
) -> Option<()> {
    let (target, format) = state.render.target(&state.drawables, body.u32(0));
    let (dx, dy) = (f64::from(body.i16(4)?), f64::from(body.i16(6)?));
    operation.attributes.append_name(names.dstformat, format);
    let mut drawn = false;
    for trap in body.list(8, 24) {
        let at = |x, y| (fixed(&trap, x) + dx, fixed(&trap, y) + dy);
        let corners = [at(0, 8), at(4, 8), at(16, 20), at(12, 20)];
        drawn |= polygon(&mut operation.items, target.area, &corners);
    }
    settle(operation, &target, body, drawn);
    Some(())
}

/// Sets the items of a glyph request: each glyph is an item with the size of its image in pixels. An unknown glyph has
/// no pixels.
fn text(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    bytes_per_glyph: usize,
    body: &Body<'_>,
) -> Option<()> {
    /// The value of a glyph element's length field that marks a change of the glyph set.
    const CHANGE: u8 = 255;
    let mut set = state.render.glyphs.get(body.u32(16)?);
    let mut target = begin(operation, names, state, body, set)?;
    let (mut pen_x, mut pen_y) = (0_i32, 0_i32);
    let (mut drawn, mut known) = (false, true);
    let mut at = 24;
    while let (Some(count), Some(dx), Some(dy)) = (body.u8(at), body.i16(at + 4), body.i16(at + 6))
    {
        at += 8;
        pen_x = pen_x.saturating_add(i32::from(dx));
        pen_y = pen_y.saturating_add(i32::from(dy));
        if count == CHANGE {
            set = body.u32(at).and_then(|id| state.render.glyphs.get(id));
            at += 4;
            continue;
        }
        for index in 0..usize::from(count) {
            let place = at + index * bytes_per_glyph;
            let id = match bytes_per_glyph {
                1 => body.u8(place).map(u32::from),
                2 => body.u16(place).map(u32::from),
                _ => body.u32(place),
            };
            let glyph = id.zip(set).and_then(|(id, set)| set.glyph(id));
            let Some(glyph) = glyph else {
                known = false;
                operation.items.push(0.0);
                continue;
            };
            let image = Area::new(0, 0, glyph.width, glyph.height).moved(
                pen_x.saturating_sub(i32::from(glyph.x)),
                pen_y.saturating_sub(i32::from(glyph.y)),
            );
            drawn |= push_area(&mut operation.items, target.pixels(image));
            pen_x = pen_x.saturating_add(i32::from(glyph.advance.0));
            pen_y = pen_y.saturating_add(i32::from(glyph.advance.1));
        }
        at += (usize::from(count) * bytes_per_glyph).next_multiple_of(4);
    }
    if !known {
        target = target.doubted();
        drawn = true;
    }
    settle(operation, &target, body, drawn);
    Some(())
}

/// Sets the items of an AddGlyphs request: each glyph is an item with the size of its image in pixels.
fn add_glyphs(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    body: &Body<'_>,
) -> Option<()> {
    let set = body.u32(0).and_then(|id| state.render.glyphs.get(id));
    let format = set.and_then(|set| state.render.formats.get(set.format));
    let name = format.map(|format| format.name);
    operation.attributes.append_name(names.glyphformat, name);
    let count = body.u32(4)? as usize;
    let pixels =
        glyphs::added(body)?.map(|(_, glyph)| f64::from(glyph.width) * f64::from(glyph.height));
    operation.items.extend(pixels);
    operation.op_size = operation.items.iter().sum();
    (operation.items.len() == count).then_some(())
}
