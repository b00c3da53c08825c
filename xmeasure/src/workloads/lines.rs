//! Lines, segments, points, outlines.

use x11rb_protocol::protocol::xproto::{
    Arc, CoordMode, Point, PolyArcRequest, PolyLineRequest, PolyPointRequest, PolyRectangleRequest,
    PolySegmentRequest, Rectangle, Segment,
};

use super::{gcs::Gcs, place};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::stage::Stage;
use crate::wire::core;
use crate::workload::{Sync, Workload};

/// Lengths in pixels.
const LENGTHS: [u16; 5] = [1, 10, 50, 100, 500];
/// The length at which the number of items is varied, and that number.
const ITEM: u16 = 50;
const ITEMS: u16 = 8;
/// The work of a pixel of a line, in those of a filled area: wide and dashed ones included.
const WORK: usize = 20;

/// Adds the loads.
pub(super) fn add(
    stage: &mut Stage,
    plan: &Plan,
    loads: &mut Vec<Workload>,
) -> Result<(), MeasureError> {
    let gcs = Gcs::new(stage)?;
    let drawable = stage.window;
    let mut draw = |length: u16, count: u16, request: &dyn Fn(usize) -> Vec<u8>| {
        let work = usize::from(length) * usize::from(count) * WORK;
        loads.push(Workload::varied(Sync::ReadBack, work, request));
    };
    for gc in gcs.for_lines() {
        // A zigzag of horizontal and vertical lines stays within a square of the window.
        let line = |length: u16, count: u16, index| {
            let (mut x, mut y) = place(
                index,
                (length * count.div_ceil(2)).min(500) + 1,
                (length * count.div_ceil(2)).min(500) + 1,
            );
            let mut points = vec![Point { x, y }];
            for item in 0..count {
                if item % 2 == 0 {
                    x += length.cast_signed()
                } else {
                    y += length.cast_signed()
                }
                points.push(Point { x, y });
            }
            core(PolyLineRequest {
                coordinate_mode: CoordMode::ORIGIN,
                drawable,
                gc,
                points: points.into(),
            })
        };
        let segments = |length: u16, count: u16, index: usize| {
            let segments = (0..usize::from(count)).map(|item| {
                let (x, y) = place(index * usize::from(count) + item, length + 1, 12);
                Segment {
                    x1: x,
                    y1: y,
                    x2: x + length.cast_signed(),
                    y2: y,
                }
            });
            core(PolySegmentRequest {
                drawable,
                gc,
                segments: segments.collect(),
            })
        };
        for &length in plan.sizes(&LENGTHS) {
            draw(length, 1, &|index| line(length, 1, index));
            draw(length, 1, &|index| segments(length, 1, index));
        }
        draw(ITEM, ITEMS, &|index| line(ITEM, ITEMS, index));
        draw(ITEM, ITEMS, &|index| segments(ITEM, ITEMS, index));
    }
    for gc in [gcs.common, gcs.xor] {
        for count in [1, ITEMS] {
            draw(1, count, &|index| {
                let points = (0..usize::from(count)).map(|item| {
                    let (x, y) = place(index * usize::from(count) + item, 3, 3);
                    Point { x, y }
                });
                let points = points.collect();
                core(PolyPointRequest {
                    coordinate_mode: CoordMode::ORIGIN,
                    drawable,
                    gc,
                    points,
                })
            });
        }
        let boxes = |side: u16, count: u16, index: usize| {
            let boxes = (0..usize::from(count)).map(|item| {
                let (x, y) = place(index * usize::from(count) + item, side + 1, side + 1);
                Rectangle {
                    x,
                    y,
                    width: side,
                    height: side,
                }
            });
            boxes.collect::<Vec<_>>()
        };
        let outlines = |side, count, index| {
            core(PolyRectangleRequest {
                drawable,
                gc,
                rectangles: boxes(side, count, index).into(),
            })
        };
        let arcs = |side, count, index| {
            let arcs = boxes(side, count, index).into_iter();
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
            core(PolyArcRequest {
                drawable,
                gc,
                arcs: arcs.collect(),
            })
        };
        for side in [10, 100, 500] {
            draw(side, 4, &|index| outlines(side, 1, index));
            draw(side, 4, &|index| arcs(side, 1, index));
        }
        draw(10, ITEMS * 4, &|index| outlines(10, ITEMS, index));
        draw(10, ITEMS * 4, &|index| arcs(10, ITEMS, index));
    }
    Ok(())
}
