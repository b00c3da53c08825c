//! The loads of the graphics requests. Each load differs from the common style in one attribute.

use super::shapes::{Direction, Shape};
use super::styles::{COMMON, Style, Styles};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads of the graphics requests to `loads`.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let mut styles = Styles::new(client)?;
    let silent = client.unwatched;
    let unseen = client.like_the_screen()?;
    for shape in Shape::ALL {
        if !plan.wants(shape.name()) {
            continue;
        }
        let canvas = canvas(client, unseen, shape);
        let plain = matches!(shape, Shape::Point);
        // The most common requests are measured with every raster operation, the others with one of each kind.
        let thorough =
            !plan.quick && matches!(shape, Shape::FillRectangle | Shape::Line | Shape::Segment);
        if shape.has_direction() {
            directions(client, plan, &mut styles, (shape, canvas), loads)?;
        }
        for style in Style::single(shape.strokes(), thorough) {
            if plain && style.fill != COMMON.fill {
                continue;
            }
            let common = matches!(shape, Shape::FillRectangle | Shape::Line | Shape::Segment);
            if plan.quick && !common && style != COMMON {
                continue;
            }
            let gc = styles.gc(client, style)?;
            let draw = |size, count| shape.load(canvas, gc, size, count);
            loads.series(plan.sizes(shape.sizes()), |size| draw(size, 1));
            let (size, count) = shape.several();
            if shape == Shape::FillPoly {
                // The fixed part of a request with one item is its cost on an unmapped window.
                loads.push(shape.load(silent, gc, size, 1));
            } else {
                loads.push(draw(size, 1));
                loads.push(draw(size, count));
            }
        }
    }
    Ok(())
}

/// Adds loads of lines that are vertical or sloped, in the styles that affect how the pixels are computed. The costs of
/// other fill styles follow from these loads.
fn directions(
    client: &mut Client,
    plan: &Plan,
    styles: &mut Styles,
    (shape, canvas): (Shape, u32),
    loads: &mut Loads,
) -> Result<(), MeasureError> {
    let of_pixels = |style: &Style| style.fill == COMMON.fill;
    for style in Style::single(true, false).into_iter().filter(of_pixels) {
        if plan.quick && style != COMMON {
            continue;
        }
        let gc = styles.gc(client, style)?;
        for direction in [Direction::Vertical, Direction::Sloped] {
            let draw = move |size, count| shape.load_along(direction, canvas, gc, size, count);
            loads.series(shape.sizes().iter().copied(), |size| draw(size, 1));
            let (size, count) = shape.several();
            loads.push(draw(size, 1));
            loads.push(draw(size, count));
        }
    }
    Ok(())
}

/// Returns the drawable for the loads of a shape. Points, lines and outlines are drawn on an invisible drawable,
/// because a server that shows changes box by box would track thousands of boxes (a load of outlines took Xephyr four
/// seconds). The drawable's scanlines are as far apart as a window's. The distance matters: 500 pixels of a vertical
/// line cost Xvfb 2.1 µs with scanlines 5120 bytes apart, and 0.3 µs with scanlines 2360 bytes apart.
fn canvas(client: &Client, unseen: u32, shape: Shape) -> u32 {
    match shape {
        Shape::Point | Shape::Line | Shape::Segment | Shape::Rectangle => unseen,
        _ => client.window,
    }
}
