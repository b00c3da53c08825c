//! RENDER's antialiased shapes: trapezoids, as squares and slender, and triangles.

use x11rb_protocol::protocol::render::{
    Linefix, PictOp, Pointfix, Trapezoid, TrapezoidsRequest, Triangle, TrianglesRequest,
};

use super::super::shapes::boxes;
use super::composite::{ITEM, ITEMS, Pictures};
use super::render::{ONE, Render};
use crate::loads::{Loads, Series};
use crate::plan::Plan;
use crate::wire::extension;
use crate::workload::{Sync, Workload};

/// Sides of squares to start from, in pixels; most shapes are small, and a row or two high.
const SIDES: [u16; 5] = [1, 2, 4, 20, 100];
/// Rows of the slender trapezoid, which is a pixel wide.
const SLENDER: u16 = 100;

/// The pictures that shapes are drawn with, and on.
#[derive(Clone, Copy)]
struct Layers {
    major: u8,
    mask_format: u32,
    src: u32,
    dst: u32,
}

/// Adds the loads.
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
    add_sizes(plan, loads, triangles);
}

fn trapezoids(plan: &Plan, loads: &mut Loads, layers: Layers) {
    add_sizes(plan, loads, move |side, count| {
        bars(layers, (side, side), count)
    });
    loads.push(bars(layers, (1, SLENDER), 1));
}

/// One of each size, and of one size one and several.
fn add_sizes(plan: &Plan, loads: &mut Loads, of: impl Fn(u16, usize) -> Workload + Copy + 'static) {
    let sides = plan.sizes(&SIDES).copied();
    loads
        .series
        .push(Series::new(sides, move |side| of(side, 1)));
    for count in [1, ITEMS] {
        loads.push(of(ITEM, count));
    }
}

fn point(x: i32, y: i32) -> Pointfix {
    Pointfix {
        x: x * ONE,
        y: y * ONE,
    }
}

/// Trapezoids of that width and height, leaning by a quarter of the width; their area is that
/// of a rectangle.
fn bars(layers: Layers, (width, height): (u16, u16), count: usize) -> Workload {
    let work = usize::from(height) * usize::from(height) * count * 8;
    Workload::varied(Sync::ReadBack, work, |index| {
        let traps = boxes(height, count, index).map(|it| {
            let (x, y) = (i32::from(it.x), i32::from(it.y));
            let (width, height) = (i32::from(width), i32::from(height));
            let line = |x| Linefix {
                p1: point(x + width / 4, y),
                p2: point(x, y + height),
            };
            Trapezoid {
                top: y * ONE,
                bottom: (y + height) * ONE,
                left: line(x),
                right: line(x + width),
            }
        });
        let request = TrapezoidsRequest {
            op: PictOp::OVER,
            src: layers.src,
            dst: layers.dst,
            mask_format: layers.mask_format,
            src_x: 0,
            src_y: 0,
            traps: traps.collect(),
        };
        extension(request, layers.major)
    })
}

fn triangles(layers: Layers, side: u16, count: usize) -> Workload {
    let work = usize::from(side) * usize::from(side) * count * 8;
    Workload::varied(Sync::ReadBack, work, |index| {
        let triangles = boxes(side, count, index).map(|it| {
            let (x, y, side) = (i32::from(it.x), i32::from(it.y), i32::from(side));
            Triangle {
                p1: point(x, y),
                p2: point(x + side, y),
                p3: point(x, y + side),
            }
        });
        let request = TrianglesRequest {
            op: PictOp::OVER,
            src: layers.src,
            dst: layers.dst,
            mask_format: layers.mask_format,
            src_x: 0,
            src_y: 0,
            triangles: triangles.collect(),
        };
        extension(request, layers.major)
    })
}
