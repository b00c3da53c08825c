//! The loads of RENDER's antialiased shapes: trapezoids and triangles.

use std::f64::consts::PI;

use x11rb_protocol::protocol::render::{
    Linefix, PictOp, Pointfix, Trapezoid, TrapezoidsRequest, Triangle, TrianglesRequest,
};

use super::super::scattered;
use super::super::shapes::boxes;
use super::composite::{ITEM, ITEMS, Pictures};
use super::render::{ONE, Render};
use crate::plan::Plan;
use crate::server::client::SIDE;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// The initial sides of squares, in pixels. Most shapes in programs are small, and one or two rows high.
const SIDES: [u16; 5] = [1, 2, 4, 20, 100];
/// The number of steps per pixel for the coordinates of trapezoids, chosen so that all areas are exactly equal.
pub(super) const STEPS: u16 = 64;
/// Width and height of the smallest trapezoids: ends of slanted lines and round corners contain trapezoids less
/// than a row high.
const TINY: u16 = STEPS / 4;
/// The side in pixels of the trapezoids in loads with one and with several trapezoids per request. Most trapezoids in
/// programs are small.
const SMALL: u16 = 2;
/// The number of different trapezoids. The trapezoids repeat, as those of a window do on each repaint. The processor's
/// branch prediction learns some hundred rows, but not some thousand.
const SHAPES: usize = 64;
/// The number of pixels of other drawing that take about as long as one row of a trapezoid.
const ROW: usize = 32;
/// The largest angle between a side and the vertical, apart from the difference of the widths.
const STEEPEST: f64 = PI / 3.0;

/// The source picture and the destination of the shapes.
#[derive(Clone, Copy)]
struct Layers {
    major: Major,
    mask_format: u32,
    src: u32,
    dst: u32,
}

/// Adds the loads of trapezoids and triangles to `loads`.
pub(super) fn add(plan: &Plan, loads: &mut Loads, render: Render, pictures: &Pictures) {
    let usual = Layers {
        major: render.major,
        mask_format: render.a8,
        src: pictures.opaque,
        dst: pictures.window,
    };
    trapezoids(plan, loads, usual);
    if !plan.quick {
        for src in [pictures.linear, pictures.argb] {
            trapezoids(plan, loads, Layers { src, ..usual });
        }
        let dst = pictures.target32;
        trapezoids(plan, loads, Layers { dst, ..usual });
    }
    let triangles = move |side, count| triangles(usual, side, count);
    add_sizes(plan, loads, ITEM, triangles);
}

fn trapezoids(plan: &Plan, loads: &mut Loads, layers: Layers) {
    add_sizes(plan, loads, SMALL, move |side, count| {
        bars(layers, (side * STEPS, side * STEPS), count)
    });
    loads.push(bars(layers, (TINY, TINY), 1));
}

/// Adds a load of one shape for each size, and loads of one and of several shapes with the side `item`.
fn add_sizes(
    plan: &Plan,
    loads: &mut Loads,
    item: u16,
    of: impl Fn(u16, usize) -> Workload + Copy + 'static,
) {
    let sides = plan.sizes(&SIDES);
    loads.series(sides, move |side| of(side, 1));
    for count in [1, ITEMS] {
        loads.push(of(item, count));
    }
}

fn point(x: i32, y: i32) -> Pointfix {
    Pointfix {
        x: x * ONE,
        y: y * ONE,
    }
}

/// Returns a load of trapezoids of this height and mean width, in steps. The sides lean at all angles up to 60 degrees,
/// in both directions, and the trapezoids start anywhere within a pixel, as in programs. The processor's branch
/// prediction would learn equal upright trapezoids at whole pixels.
fn bars(layers: Layers, (width, height): (u16, u16), count: usize) -> Workload {
    let rows = height.div_ceil(STEPS);
    let work = usize::from(rows) * count * ROW;
    Workload::varied(Sync::ReadBack, work, |index| {
        let index = index % (SHAPES / count);
        let places = boxes(rows, count, index).enumerate();
        let traps = places.map(|(at, corner)| {
            let place = (i32::from(corner.x), i32::from(corner.y));
            bar(place, (width, height), scattered(index * count + at))
        });
        layers.major.bytes(TrapezoidsRequest {
            op: PictOp::OVER,
            src: layers.src,
            dst: layers.dst,
            mask_format: layers.mask_format,
            src_x: 0,
            src_y: 0,
            traps: traps.collect(),
        })
    })
}

/// Returns a trapezoid of this size near the position (`x`, `y`), inside the window. The random number `bits`
/// determines the angles of the sides and the position within a pixel.
pub(super) fn bar((x, y): (i32, i32), (width, height): (u16, u16), bits: u64) -> Trapezoid {
    let part = |from: u32| (bits >> from & 0xffff) as u16;
    let angle = (f64::from(part(0)) / 65536.0 * 2.0 - 1.0) * STEEPEST;
    let steps = i32::from(STEPS);
    let [width, height, side] = [width, height, SIDE * STEPS].map(i32::from);
    let lean = (f64::from(height) * angle.tan()) as i32;
    let top = ((i64::from(part(16)) * 2 * i64::from(width)) >> 16) as i32;
    let bottom = 2 * width - top;
    let left = [-(lean + top) / 2, (lean - bottom) / 2];
    let right = [left[0] + top, left[1] + bottom];
    let x = x * steps + i32::from(part(32)) % steps;
    let (least, most) = (-left[0].min(left[1]), side - right[0].max(right[1]));
    let x = x.clamp(least, most.max(least));
    let y = (y * steps + i32::from(part(48)) % steps).min(side - height);
    let fixed = |at: i32| at * (ONE / steps);
    let line = |[from, to]: [i32; 2]| Linefix {
        p1: Pointfix {
            x: fixed(x + from),
            y: fixed(y),
        },
        p2: Pointfix {
            x: fixed(x + to),
            y: fixed(y + height),
        },
    };
    Trapezoid {
        top: fixed(y),
        bottom: fixed(y + height),
        left: line(left),
        right: line(right),
    }
}

fn triangles(layers: Layers, side: u16, count: usize) -> Workload {
    let work = usize::from(side) * usize::from(side) * count * 8;
    Workload::varied(Sync::ReadBack, work, |index| {
        let triangles = boxes(side, count, index).map(|corner| {
            let (x, y, side) = (i32::from(corner.x), i32::from(corner.y), i32::from(side));
            Triangle {
                p1: point(x, y),
                p2: point(x + side, y),
                p3: point(x, y + side),
            }
        });
        layers.major.bytes(TrianglesRequest {
            op: PictOp::OVER,
            src: layers.src,
            dst: layers.dst,
            mask_format: layers.mask_format,
            src_x: 0,
            src_y: 0,
            triangles: triangles.collect(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{ONE, SIDE, STEPS, TINY, bar};
    use crate::workloads::scattered;

    #[test]
    fn bars_have_the_given_area_inside_the_window() {
        for (at, place) in [(0, 0), (0, 500), (500, 0), (599, 599)]
            .into_iter()
            .enumerate()
        {
            for (width, height) in [(TINY, TINY), (2 * STEPS, 2 * STEPS), (STEPS, 100 * STEPS)] {
                let step = ONE / i32::from(STEPS);
                for round in 0..100 {
                    let trap = bar(place, (width, height), scattered(at + 4 * round));
                    let wide = |of: fn(&super::Linefix) -> i32| of(&trap.right) - of(&trap.left);
                    assert_eq!(
                        wide(|line| line.p1.x) + wide(|line| line.p2.x),
                        i32::from(2 * width) * step
                    );
                    assert_eq!(trap.bottom - trap.top, i32::from(height) * step);
                    let ends = [trap.left.p1, trap.left.p2, trap.right.p1, trap.right.p2];
                    let inside = 0..=i32::from(SIDE) * ONE;
                    assert!(
                        ends.iter()
                            .all(|end| inside.contains(&end.x) && inside.contains(&end.y))
                    );
                }
            }
        }
    }
}
