//! The loads that clear and copy areas.

use x11rb_protocol::protocol::xproto::{
    ClearAreaRequest, CopyAreaRequest, CopyPlaneRequest, CreateGCAux,
};

use super::styles::{COMMON, Style, Styles};
use super::{place, shapes};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::{Client, SIDE};
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};
use x11rb_protocol::protocol::xproto::GX;

/// The initial sides of squares, in pixels.
const SIDES: [u16; 4] = [1, 10, 100, 500];
/// The side for a request on a window that is not mapped, which measures the fixed part.
const IDLE: u16 = 10;
/// The scroll distance in pixels of copies that are too large for separate source and destination areas. The distance
/// is the height of a line of text.
const SCROLLED: u16 = 13;

/// Adds the loads that clear and copy areas to `loads`.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let mut styles = Styles::new(client)?;
    let (window, silent) = (client.window, client.unwatched);
    let pixmap = client.pixmap(client.screen.root_depth, SIDE)?;
    let black = client.screen.black_pixel;
    let gc = client.gc(pixmap, CreateGCAux::new().foreground(black))?;
    client.send(shapes::rectangle(pixmap, gc, SIDE, SIDE))?;
    let sides = || plan.sizes(&SIDES);

    loads.series(sides(), move |side| clear(window, side));
    loads.push(clear(silent, IDLE));

    // Sources: the window itself, as in scrolling, and a pixmap, as in double buffering. Targets:
    // the window, and a pixmap.
    for function in [GX::COPY, GX::XOR] {
        let gc = styles.gc(client, Style { function, ..COMMON })?;
        for (source, target) in [(window, window), (pixmap, window), (pixmap, pixmap)] {
            let copy = move |side| copy(source, target, gc, side);
            loads.series(sides(), copy);
        }
        for source in [window, pixmap] {
            loads.push(copy(source, silent, gc, IDLE));
        }
    }
    let gc = styles.gc(client, COMMON)?;
    let bitmap = client.pixmap(1, SIDE)?;
    let of_bitmap = client.gc(bitmap, CreateGCAux::new().foreground(1))?;
    client.send(shapes::rectangle(bitmap, of_bitmap, SIDE, SIDE / 2))?;
    for source in [pixmap, bitmap] {
        let plane = move |side| copy_plane(source, window, gc, side);
        loads.series(sides(), plane);
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

/// Creates a load that copies squares of `side` pixels. Source and destination have no scanlines in common if the
/// window has space for both, because servers use a slower method for overlapping areas (fb/fbblt.c of Xorg), and
/// programs rarely copy horizontally.
fn copy(source: u32, target: u32, gc: u32, side: u16) -> Workload {
    Workload::varied(Sync::ReadBack, area(side, 1), |index| {
        let [(src_x, src_y), (dst_x, dst_y)] = both_places(index, side);
        core(CopyAreaRequest {
            src_drawable: source,
            dst_drawable: target,
            gc,
            src_x,
            src_y,
            dst_x,
            dst_y,
            width: side,
            height: side,
        })
    })
}

/// The upper left corners of the source and the destination of copy number `index`. If there is no space for two
/// squares, the copies scroll alternately down and up.
fn both_places(index: usize, side: u16) -> [(i16, i16); 2] {
    let (x, y) = place(index, side, side);
    let (width, below) = (side.cast_signed(), SIDE.saturating_sub(side));
    if side > SIDE / 2 {
        let places = [(0, 0), (0, SCROLLED.min(below).cast_signed())];
        return [places[index % 2], places[(index + 1) % 2]];
    }
    let next = y + width;
    let is_last = next > below.cast_signed();
    [(y, if is_last { 0 } else { next }), (x, y)]
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

#[cfg(test)]
mod tests {
    use super::both_places;
    use crate::server::client::SIDE;

    #[test]
    fn copies_avoid_overlap_and_stay_inside_the_window() {
        let room = SIDE.cast_signed();
        for side in [1_u16, 10, 100, 150, 224, 300, 335, 500] {
            for index in 0..5000 {
                let places = both_places(index, side);
                let [(_, from), (_, to)] = places;
                assert_ne!(from, to, "{side} {index}");
                let apart = (from - to).unsigned_abs() >= side;
                assert!(apart || side > SIDE / 2, "{side} {index}");
                for (x, y) in places {
                    let (right, bottom) = (x + side.cast_signed(), y + side.cast_signed());
                    assert!(x >= 0 && y >= 0 && right <= room && bottom <= room);
                }
            }
        }
    }
}
