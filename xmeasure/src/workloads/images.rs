//! The loads that transfer images to the server and back.

use x11rb_protocol::protocol::xproto::{
    CreateGCAux, GX, GetImageRequest, ImageFormat, PutImageRequest,
};

use super::place;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// The initial sides of squares, in pixels.
const SIDES: [u16; 5] = [1, 10, 50, 200, 500];

/// The format of the images for PutImage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Image {
    pub(super) format: ImageFormat,
    pub(super) depth: u8,
    /// The number of bits of a pixel.
    pub(super) bits: usize,
    /// The number of bits to a multiple of which a scanline is padded.
    pub(super) pad: usize,
}

impl Image {
    /// The image format of a depth, from the server's setup; `None` if the server does not have the depth.
    pub(super) fn new(client: &Client, format: ImageFormat, depth: u8) -> Option<Image> {
        let setup = &client.raw.setup;
        if format != ImageFormat::Z_PIXMAP {
            let pad = usize::from(setup.bitmap_format_scanline_pad);
            return Some(Image {
                format,
                depth,
                bits: usize::from(depth),
                pad,
            });
        }
        let known = setup
            .pixmap_formats
            .iter()
            .find(|known| known.depth == depth)?;
        let (bits, pad) = (
            usize::from(known.bits_per_pixel),
            usize::from(known.scanline_pad),
        );
        Some(Image {
            format,
            depth,
            bits,
            pad,
        })
    }

    /// The number of bytes of a square image of `side` pixels. Planes follow each other, each with separate padding.
    pub(super) fn length(&self, side: u16) -> usize {
        self.bytes(side, side)
    }

    /// The number of bytes of an image with this width and height.
    pub(super) fn bytes(&self, width: u16, height: u16) -> usize {
        let (width, height) = (usize::from(width), usize::from(height));
        let (planes, bits) = if self.format == ImageFormat::Z_PIXMAP {
            (1, self.bits)
        } else {
            (self.bits, 1)
        };
        planes * ((width * bits).next_multiple_of(self.pad.max(8)) / 8) * height
    }
}

/// Adds the loads that transfer images to `loads`.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let (window, silent) = (client.window, client.unwatched);
    let depth = client.screen.root_depth;
    let (black, white) = (client.screen.black_pixel, client.screen.white_pixel);
    let common = CreateGCAux::new().foreground(black).background(white);
    let copy = client.gc(window, common)?;
    let xor = client.gc(window, common.function(GX::XOR))?;
    let longest = longest_request(client);
    let formats = [
        (ImageFormat::Z_PIXMAP, copy, depth),
        (ImageFormat::Z_PIXMAP, xor, depth),
        (ImageFormat::XY_BITMAP, copy, 1),
        (ImageFormat::XY_PIXMAP, copy, depth),
    ];
    for (format, gc, depth) in formats {
        if let Some(image) = Image::new(client, format, depth) {
            let sides = plan.sizes(&SIDES);
            let sides = sides
                .into_iter()
                .filter(|side| image.length(*side) + 28 <= longest);
            loads.series(sides, move |side| put(window, gc, image, side));
            // The fixed part is measured on a window that is not mapped.
            loads.push(put(silent, gc, image, 1));
        }
    }
    // Other depths on pixmaps, as for icons, cursors, masks and translucent windows.
    for depth in [1, 8, 32] {
        let known = client
            .raw
            .setup
            .roots
            .iter()
            .flat_map(|screen| &screen.allowed_depths);
        let known = known.into_iter().any(|allowed| allowed.depth == depth);
        if depth == client.screen.root_depth || !known {
            continue;
        }
        if let Some(image) = Image::new(client, ImageFormat::Z_PIXMAP, depth) {
            let pixmap = client.pixmap(depth, crate::server::client::SIDE)?;
            let gc = client.gc(pixmap, CreateGCAux::new())?;
            let sides = plan.sizes(&SIDES);
            loads.series(sides, move |side| put(pixmap, gc, image, side));
        }
    }
    for (format, mask) in [(ImageFormat::Z_PIXMAP, !0), (ImageFormat::XY_PIXMAP, 1)] {
        let sides = plan.sizes(&SIDES);
        loads.series(sides, move |side| get(window, format, mask, side));
    }
    Ok(())
}

fn put(drawable: u32, gc: u32, image: Image, side: u16) -> Workload {
    let data: Vec<u8> = (0..image.length(side)).map(|at| (at % 251) as u8).collect();
    let pixels = usize::from(side) * usize::from(side) * 4;
    Workload::varied(Sync::ReadBack, pixels, |index| {
        let (dst_x, dst_y) = place(index, side, side);
        core(PutImageRequest {
            format: image.format,
            drawable,
            gc,
            width: side,
            height: side,
            dst_x,
            dst_y,
            left_pad: 0,
            depth: image.depth,
            data: (&data).into(),
        })
    })
}

fn get(drawable: u32, format: ImageFormat, plane_mask: u32, side: u16) -> Workload {
    let request = core(GetImageRequest {
        format,
        drawable,
        x: 0,
        y: 0,
        width: side,
        height: side,
        plane_mask,
    });
    Workload::answered(&request)
}

/// The maximum length of a request that the server accepts, in bytes.
pub(super) fn longest_request(client: &Client) -> usize {
    let short = usize::from(client.raw.setup.maximum_request_length) * 4;
    client
        .longest_request
        .map_or(short, |words| words as usize * 4)
}

#[cfg(test)]
mod tests {
    use super::Image;
    use x11rb_protocol::protocol::xproto::ImageFormat;

    #[test]
    fn image_length_counts_scanline_padding_and_planes() {
        let format = ImageFormat::Z_PIXMAP;
        assert_eq!(
            Image {
                format,
                depth: 24,
                bits: 32,
                pad: 32
            }
            .length(3),
            36
        );
        assert_eq!(
            Image {
                format,
                depth: 8,
                bits: 8,
                pad: 32
            }
            .length(5),
            40
        );
        let format = ImageFormat::XY_PIXMAP;
        assert_eq!(
            Image {
                format,
                depth: 24,
                bits: 24,
                pad: 32
            }
            .length(2),
            24 * 8
        );
    }
}
