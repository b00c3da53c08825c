//! Areas that are cleared and copied.

use x11rb_protocol::protocol::xproto::{
    ClearAreaRequest, CopyAreaRequest, CopyPlaneRequest, CreateGCAux,
};

use super::place;
use super::shapes;
use super::styles::{COMMON, Style, Styles};
use crate::error::MeasureError;
use crate::loads::{Loads, Series};
use crate::plan::Plan;
use crate::stage::{SIDE, Stage};
use crate::wire::core;
use crate::workload::{Sync, Workload};
use x11rb_protocol::protocol::xproto::GX;

/// Sides of squares to start from, in pixels.
const SIDES: [u16; 4] = [1, 10, 100, 500];
/// The side at which a request is sent to a window that is not mapped: that is its fixed part.
const IDLE: u16 = 10;

/// Adds the loads.
pub(super) fn add(stage: &mut Stage, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let mut styles = Styles::new(stage)?;
    let (window, silent) = (stage.window, stage.silent);
    let pixmap = stage.pixmap(stage.screen.root_depth, SIDE)?;
    let black = stage.screen.black_pixel;
    let gc = stage.gc(pixmap, CreateGCAux::new().foreground(black))?;
    stage.send(shapes::rectangle(pixmap, gc, SIDE, SIDE))?;
    let sides = || plan.sizes(&SIDES).copied();

    loads
        .series
        .push(Series::new(sides(), move |side| clear(window, side)));
    loads.push(clear(silent, IDLE));

    // Sources: the window itself, as in scrolling, and a pixmap, as in double buffering. Targets:
    // the window, and a pixmap.
    for function in [GX::COPY, GX::XOR] {
        let gc = styles.gc(stage, Style { function, ..COMMON })?;
        for (source, target) in [(window, window), (pixmap, window), (pixmap, pixmap)] {
            let copy = move |side| copy(source, target, gc, side);
            loads.series.push(Series::new(sides(), copy));
        }
        for source in [window, pixmap] {
            loads.push(copy(source, silent, gc, IDLE));
        }
    }
    let gc = styles.gc(stage, COMMON)?;
    let bitmap = stage.pixmap(1, SIDE)?;
    let of_bitmap = stage.gc(bitmap, CreateGCAux::new().foreground(1))?;
    stage.send(shapes::rectangle(bitmap, of_bitmap, SIDE, SIDE / 2))?;
    for source in [pixmap, bitmap] {
        let plane = move |side| copy_plane(source, window, gc, side);
        loads.series.push(Series::new(sides(), plane));
    }
    loads.push(copy_plane(pixmap, silent, gc, IDLE));
    Ok(())
}

fn area(side: u16, factor: usize) -> usize {
    usize::from(side) * usize::from(side) * factor
}

fn clear(window: u32, side: u16) -> Workload {
    Workload::varied(Sync::ReadBack, area(side, 1), |index| {
        let (x, y) = place(index, side, side);
        core(ClearAreaRequest {
            exposures: false,
            window,
            x,
            y,
            width: side,
            height: side,
        })
    })
}

fn copy(source: u32, target: u32, gc: u32, side: u16) -> Workload {
    Workload::varied(Sync::ReadBack, area(side, 1), |index| {
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
    })
}

fn copy_plane(source: u32, target: u32, gc: u32, side: u16) -> Workload {
    Workload::varied(Sync::ReadBack, area(side, 8), |index| {
        let (dst_x, dst_y) = place(index, side, side);
        core(CopyPlaneRequest {
            src_drawable: source,
            dst_drawable: target,
            gc,
            src_x: 0,
            src_y: 0,
            dst_x,
            dst_y,
            width: side,
            height: side,
            bit_plane: 1,
        })
    })
}
