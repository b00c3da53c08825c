//! The operations of the Xprof paper's eight graphics requests. The size of a line is its length, and the size of a
//! filled shape is its area, in pixels.

use x11prof_protocol::{Body, Request};
use x11rb_protocol::protocol::xproto;

use crate::geometry::clip::{Area, Point};
use crate::geometry::directions::Lengths;
use crate::geometry::shapes::{Arc, Polygon};
use crate::geometry::target::{DrawTarget, Effect};
use crate::operations::names::Names;
use crate::operations::operation::{Attributes, Operation, Value};
use crate::rendering::gc::{Component, Gc};
use crate::state::State;

/// Fills in the attributes and items of the `operation` of one of the graphics requests.
pub(crate) fn operation(
    operation: &mut Operation,
    names: &Names,
    state: &State,
    request: &Request<'_>,
    body: &Body<'_>,
) {
    let (target, gc) = state.with_gc(body.u32(0), body.u32(4));
    if let Some(gc) = gc {
        set_attributes(&mut operation.attributes, names, gc, request.major);
    }
    let width = gc.and_then(|gc| gc.get(Component::LineWidth)).unwrap_or(0);
    let near = target.area.grown(width.div_ceil(2) as i32);
    // The second byte, or FillPoly's separate field, selects coordinates relative to the previous ones.
    let relative = request.minor == 1;
    let mut lengths = Lengths::default();
    let items = &mut operation.items;
    let drawn = match request.major {
        xproto::POLY_POINT_REQUEST => points(items, target.area, body, relative),
        xproto::POLY_LINE_REQUEST => polyline(items, &mut lengths, near, body, relative),
        xproto::POLY_SEGMENT_REQUEST => segments(items, &mut lengths, near, body),
        xproto::POLY_RECTANGLE_REQUEST => outlines(items, near, body),
        xproto::POLY_ARC_REQUEST => arcs(items, near, body),
        xproto::FILL_POLY_REQUEST => polygon(items, target.area, body),
        xproto::POLY_FILL_RECTANGLE_REQUEST => rectangles(items, &target, body),
        _ => {
            let pie = gc.and_then(|gc| gc.get(Component::ArcMode)) != Some(0);
            filled_arcs(items, target.area, body, pie)
        }
    };
    if matches!(
        request.major,
        xproto::POLY_LINE_REQUEST | xproto::POLY_SEGMENT_REQUEST
    ) {
        let direction = lengths.direction(&names.directions);
        operation
            .attributes
            .set(names.direction, Value::Name(direction));
    }
    settle(operation, &target, body, drawn);
}

/// Sets the op-size of the operation to the sum of its items, and its effect. `drawn` is true if at least one item is
/// visible after clipping.
pub(crate) fn settle(
    operation: &mut Operation,
    target: &DrawTarget<'_>,
    body: &Body<'_>,
    drawn: bool,
) {
    operation.op_size = operation.items.iter().sum();
    operation.effect = match target.effect {
        Effect::Full if !body.is_whole() => Effect::Unknown,
        Effect::Full if !drawn => Effect::Nothing,
        effect => effect,
    };
}

/// Sets the attributes for the GC components that the request `major` uses (protocol, "GC components" of each request)
/// and that affect the cost according to the Xprof paper. Unknown components are left out.
fn set_attributes(attributes: &mut Attributes, names: &Names, gc: &Gc, major: u8) {
    let fills = major != xproto::POLY_POINT_REQUEST;
    let strokes = (xproto::POLY_LINE_REQUEST..=xproto::POLY_ARC_REQUEST).contains(&major);
    let of = |component| gc.get(component);
    if fills && let Some(style) = of(Component::FillStyle).and_then(|v| names.fill_style(v)) {
        attributes.append_name(names.fillstyle, style);
    }
    let function = of(Component::Function).and_then(|v| names.function(v));
    attributes.append_name(names.gxmode, function);
    if strokes {
        let style = of(Component::LineStyle).and_then(|v| names.line_style(v));
        attributes.append_name(names.linestyle, style);
        if let Some(width) = of(Component::LineWidth) {
            attributes.append(names.linewidth, Value::Number(width));
        }
    }
}

/// The points of a list at offset `at` of a request's body, as absolute coordinates. If `relative` is true, each point
/// is stored relative to the previous point. Sums wrap at 16 bits, as in the server.
pub(crate) fn absolute(body: &Body<'_>, at: usize, relative: bool) -> impl Iterator<Item = Point> {
    let (mut x, mut y) = (0_i16, 0_i16);
    body.list(at, 4).map(move |point| {
        let (px, py) = (point.i16(0).unwrap_or(0), point.i16(2).unwrap_or(0));
        (x, y) = if relative {
            (x.wrapping_add(px), y.wrapping_add(py))
        } else {
            (px, py)
        };
        (i32::from(x), i32::from(y))
    })
}

fn points(items: &mut Vec<f64>, area: Area, body: &Body<'_>, relative: bool) -> bool {
    let mut drawn = false;
    for point in absolute(body, 8, relative) {
        let inside = area.contains(point);
        drawn |= inside;
        items.push(f64::from(u8::from(inside)));
    }
    drawn
}

fn polyline(
    items: &mut Vec<f64>,
    lengths: &mut Lengths,
    area: Area,
    body: &Body<'_>,
    relative: bool,
) -> bool {
    let mut points = absolute(body, 8, relative);
    let Some(first) = points.next() else {
        return false;
    };
    let mut drawn = false;
    let mut last = first;
    for point in points {
        drawn |= line(items, lengths, area, (last, point));
        last = point;
    }
    if items.is_empty() {
        drawn = push(items, area.line_inside(first, first));
    }
    drawn
}

fn segments(items: &mut Vec<f64>, lengths: &mut Lengths, area: Area, body: &Body<'_>) -> bool {
    let mut drawn = false;
    for segment in body.list(8, 8) {
        let at = |at| i32::from(segment.i16(at).unwrap_or(0));
        let ends = ((at(0), at(2)), (at(4), at(6)));
        drawn |= line(items, lengths, area, ends);
    }
    drawn
}

/// Adds the length of the line between two points, clipped to `area`. The function is inlined, because a call for each
/// line makes the analysis 10 % slower.
#[inline(always)]
fn line(
    items: &mut Vec<f64>,
    lengths: &mut Lengths,
    area: Area,
    (from, to): (Point, Point),
) -> bool {
    let inside = area.line_inside(from, to);
    lengths.add(from, to, inside.unwrap_or(0.0));
    push(items, inside)
}

fn outlines(items: &mut Vec<f64>, area: Area, body: &Body<'_>) -> bool {
    let mut drawn = false;
    for rectangle in body.list(8, 8) {
        let (left, top) = rectangle_of(&rectangle).origin();
        let size = |at| i32::from(rectangle.u16(at).unwrap_or(0));
        let (right, bottom) = (left + size(4), top + size(6));
        let corners = [
            (left, top),
            (right, top),
            (right, bottom),
            (left, bottom),
            (left, top),
        ];
        let mut length = None;
        for side in corners.windows(2) {
            if let [from, to] = side
                && let Some(inside) = area.line_inside(*from, *to)
            {
                *length.get_or_insert(0.0) += inside;
            }
        }
        drawn |= push(items, length);
    }
    drawn
}

fn arcs(items: &mut Vec<f64>, area: Area, body: &Body<'_>) -> bool {
    let mut drawn = false;
    for arc in body.list(8, 12) {
        drawn |= push(items, arc_of(&arc).length_inside(area));
    }
    drawn
}

fn polygon(items: &mut Vec<f64>, area: Area, body: &Body<'_>) -> bool {
    let mut polygon = Polygon::inside(area);
    for (x, y) in absolute(body, 12, body.u8(9) == Some(1)) {
        polygon.corner(f64::from(x), f64::from(y));
    }
    push_area(items, polygon.pixels())
}

fn rectangles(items: &mut Vec<f64>, target: &DrawTarget<'_>, body: &Body<'_>) -> bool {
    let rectangles = body.list(8, 8);
    items.extend(rectangles.map(|rectangle| target.pixels(rectangle_of(&rectangle))));
    items.iter().any(|pixels| *pixels > 0.0)
}

fn filled_arcs(items: &mut Vec<f64>, area: Area, body: &Body<'_>, pie: bool) -> bool {
    let mut drawn = false;
    for arc in body.list(8, 12) {
        drawn |= push_area(items, arc_of(&arc).pixels_inside(area, pie));
    }
    drawn
}

/// Adds the length of a line. A line that is completely clipped is an item with length 0. Returns true if a part of the
/// line is visible.
fn push(items: &mut Vec<f64>, length: Option<f64>) -> bool {
    items.push(length.unwrap_or(0.0));
    length.is_some()
}

/// Adds an item of `pixels` pixels. Returns false if it has no pixels.
pub(crate) fn push_area(items: &mut Vec<f64>, pixels: f64) -> bool {
    items.push(pixels);
    pixels > 0.0
}

/// Parses `body` as a RECTANGLE.
pub(crate) fn rectangle_of(body: &Body<'_>) -> Area {
    Area::new(
        body.i16(0).unwrap_or(0),
        body.i16(2).unwrap_or(0),
        body.u16(4).unwrap_or(0),
        body.u16(6).unwrap_or(0),
    )
}

/// Parses `body` as an ARC.
fn arc_of(body: &Body<'_>) -> Arc {
    Arc::new(
        body.i16(0).unwrap_or(0),
        body.i16(2).unwrap_or(0),
        body.u16(4).unwrap_or(0),
        body.u16(6).unwrap_or(0),
        body.i16(8).unwrap_or(0),
        body.i16(10).unwrap_or(0),
    )
}
