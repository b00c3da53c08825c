//! Areas: filled rectangles, polygons and arcs, cleared and copied ones.

use std::borrow::Cow;

use x11rb_protocol::protocol::xproto::{
    Arc, ClearAreaRequest, CoordMode, CopyAreaRequest, CopyPlaneRequest, FillPolyRequest, Point,
    PolyFillArcRequest, PolyFillRectangleRequest, PolyShape, Rectangle,
};

use super::{gcs::Gcs, place};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::stage::{SIDE, Stage};
use crate::wire::core;
use crate::workload::{Sync, Workload};

/// Sides of squares, in pixels.
const SIDES: [u16; 7] = [1, 4, 10, 30, 100, 200, 500];
/// The size at which the number of items is varied, and that number.
const ITEM: u16 = 10;
const ITEMS: usize = 16;

/// A request to fill one rectangle.
pub(super) fn rectangle(
    drawable: u32,
    gc: u32,
    x: i16,
    y: i16,
    width: u16,
    height: u16,
) -> PolyFillRectangleRequest<'static> {
    PolyFillRectangleRequest {
        drawable,
        gc,
        rectangles: Cow::Owned(vec![Rectangle {
            x,
            y,
            width,
            height,
        }]),
    }
}

fn rectangles(side: u16, count: usize, start: usize) -> Vec<Rectangle> {
    (start * count..(start + 1) * count)
        .map(|index| {
            let (x, y) = place(index, side, side);
            Rectangle {
                x,
                y,
                width: side,
                height: side,
            }
        })
        .collect()
}

/// Adds the loads.
pub(super) fn add(
    stage: &mut Stage,
    plan: &Plan,
    loads: &mut Vec<Workload>,
) -> Result<(), MeasureError> {
    let gcs = Gcs::new(stage)?;
    let (window, silent) = (stage.window, stage.silent);
    let pixmap = stage.pixmap(stage.screen.root_depth, SIDE)?;
    stage.send(rectangle(pixmap, gcs.common, 0, 0, SIDE, SIDE))?;
    let mut draw = |side: u16, count: usize, request: &dyn Fn(usize) -> Vec<u8>| {
        let pixels = usize::from(side) * usize::from(side) * count;
        loads.push(Workload::varied(Sync::ReadBack, pixels, request));
    };
    for gc in gcs.for_fills() {
        let fill = |side, count, index| {
            let rectangles = rectangles(side, count, index).into();
            core(PolyFillRectangleRequest {
                drawable: window,
                gc,
                rectangles,
            })
        };
        for &side in plan.sizes(&SIDES) {
            draw(side, 1, &|index| fill(side, 1, index));
        }
        draw(ITEM, ITEMS, &|index| fill(ITEM, ITEMS, index));
    }
    for gc in [gcs.common, gcs.xor] {
        let arcs = |side, count, index| {
            let arcs = rectangles(side, count, index).into_iter();
            let arcs = arcs.map(
                |Rectangle {
                     x,
                     y,
                     width,
                     height,
                 }| {
                    Arc {
                        x,
                        y,
                        width,
                        height,
                        angle1: 0,
                        angle2: 360 * 64,
                    }
                },
            );
            core(PolyFillArcRequest {
                drawable: window,
                gc,
                arcs: arcs.collect(),
            })
        };
        let triangle = |drawable, side: u16, index| {
            let (x, y) = place(index, side, side);
            let side = side.cast_signed();
            let corner = |dx, dy| Point {
                x: x + dx,
                y: y + dy,
            };
            core(FillPolyRequest {
                drawable,
                gc,
                shape: PolyShape::CONVEX,
                coordinate_mode: CoordMode::ORIGIN,
                points: vec![corner(0, 0), corner(side, 0), corner(0, side)].into(),
            })
        };
        for side in [10, 100, 500] {
            draw(side, 4, &|index| arcs(side, 1, index));
            draw(side, 4, &|index| triangle(window, side, index));
        }
        draw(ITEM, 4, &|index| triangle(silent, ITEM, index));
        draw(ITEM, ITEMS * 4, &|index| arcs(ITEM, ITEMS, index));
    }
    // On the window that is not mapped these do nothing: that is their fixed part.
    let clear = |window, side, index| {
        let (x, y) = place(index, side, side);
        let (width, height) = (side, side);
        core(ClearAreaRequest {
            exposures: false,
            window,
            x,
            y,
            width,
            height,
        })
    };
    for &side in plan.sizes(&SIDES) {
        draw(side, 1, &|index| clear(window, side, index));
    }
    draw(ITEM, 1, &|index| clear(silent, ITEM, index));
    let copy = |source, target, gc, side: u16, index| {
        let (x, y) = place(index, side, side);
        core(CopyAreaRequest {
            src_drawable: source,
            dst_drawable: target,
            gc,
            src_x: y,
            src_y: x,
            dst_x: x,
            dst_y: y,
            width: side,
            height: side,
        })
    };
    // Sources: the window itself, as in scrolling, and a pixmap, as in double buffering.
    for (source, gc) in [
        (window, gcs.common),
        (window, gcs.xor),
        (pixmap, gcs.common),
        (pixmap, gcs.xor),
    ] {
        for &side in plan.sizes(&SIDES) {
            draw(side, 1, &|index| copy(source, window, gc, side, index));
        }
        draw(ITEM, 1, &|index| copy(source, silent, gc, ITEM, index));
    }
    let copy_plane = |target, side: u16, index| {
        let (dst_x, dst_y) = place(index, side, side);
        core(CopyPlaneRequest {
            src_drawable: pixmap,
            dst_drawable: target,
            gc: gcs.common,
            src_x: 0,
            src_y: 0,
            dst_x,
            dst_y,
            width: side,
            height: side,
            bit_plane: 1,
        })
    };
    for side in [10, 100, 500] {
        draw(side, 8, &|index| copy_plane(window, side, index));
    }
    draw(ITEM, 8, &|index| copy_plane(silent, ITEM, index));
    Ok(())
}
