//! Images, to the server and back.

use x11rb_protocol::protocol::xproto::{
    CreateGCAux, GX, GetImageRequest, ImageFormat, PutImageRequest,
};

use super::place;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::stage::Stage;
use crate::wire::core;
use crate::workload::{Sync, Workload};

/// Sides of squares, in pixels.
const SIDES: [u16; 6] = [1, 10, 50, 100, 200, 500];

/// Adds the loads.
pub(super) fn add(
    stage: &mut Stage,
    plan: &Plan,
    loads: &mut Vec<Workload>,
) -> Result<(), MeasureError> {
    let (drawable, silent) = (stage.window, stage.silent);
    let depth = stage.screen.root_depth;
    let (black, white) = (stage.screen.black_pixel, stage.screen.white_pixel);
    let common = CreateGCAux::new().foreground(black).background(white);
    let copy = stage.gc(drawable, common)?;
    let xor = stage.gc(drawable, common.function(GX::XOR))?;
    let longest = longest_request(stage);
    let formats = [
        (ImageFormat::Z_PIXMAP, copy, depth),
        (ImageFormat::Z_PIXMAP, xor, depth),
        (ImageFormat::XY_BITMAP, copy, 1),
    ];
    for (format, gc, depth) in formats {
        for &side in plan.sizes(&SIDES) {
            let Some(length) = image_length(stage, depth, side) else {
                continue;
            };
            if length + 28 > longest {
                continue;
            }
            let data: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let pixels = usize::from(side) * usize::from(side) * 4;
            let put = |drawable, index| {
                let (dst_x, dst_y) = place(index, side, side);
                core(PutImageRequest {
                    format,
                    drawable,
                    gc,
                    width: side,
                    height: side,
                    dst_x,
                    dst_y,
                    left_pad: 0,
                    depth,
                    data: (&data).into(),
                })
            };
            let load =
                |target| Workload::varied(Sync::ReadBack, pixels, |index| put(target, index));
            loads.push(load(drawable));
            if side == 1 {
                // On a window that is not mapped: the fixed part.
                loads.push(load(silent));
            }
        }
    }
    for &side in plan.sizes(&SIDES) {
        let request = core(GetImageRequest {
            format: ImageFormat::Z_PIXMAP,
            drawable,
            x: 0,
            y: 0,
            width: side,
            height: side,
            plane_mask: !0,
        });
        let pixels = usize::from(side) * usize::from(side) * 4;
        loads.push(Workload::varied(Sync::RoundTrip, pixels, |_| {
            request.clone()
        }));
    }
    Ok(())
}

/// Bytes of the longest request that the server takes.
fn longest_request(stage: &Stage) -> usize {
    let short = usize::from(stage.raw.setup.maximum_request_length) * 4;
    stage
        .longest_request
        .map_or(short, |words| words as usize * 4)
}

/// Bytes of a square image: scanlines padded as the server's setup says.
fn image_length(stage: &Stage, depth: u8, side: u16) -> Option<usize> {
    let setup = &stage.raw.setup;
    let (bits, pad) = if depth == 1 {
        (1, usize::from(setup.bitmap_format_scanline_pad))
    } else {
        let format = setup
            .pixmap_formats
            .iter()
            .find(|format| format.depth == depth)?;
        (
            usize::from(format.bits_per_pixel),
            usize::from(format.scanline_pad),
        )
    };
    let line = (usize::from(side) * bits).next_multiple_of(pad.max(8)) / 8;
    Some(line * usize::from(side))
}
