//! GCs that differ from the common one in one attribute each: main effects, not their cross.

use x11rb_protocol::protocol::xproto::{
    CreateGCAux, FillStyle, GX, ImageFormat, LineStyle, PutImageRequest,
};

use crate::error::MeasureError;
use crate::stage::Stage;

/// GCs for the window.
pub(super) struct Gcs {
    /// GXcopy, width 0, solid.
    pub(super) common: u32,
    pub(super) xor: u32,
    pub(super) tiled: u32,
    pub(super) opaque_stippled: u32,
    /// Line widths 1 and 10.
    pub(super) widths: [u32; 2],
    pub(super) double_dash: u32,
}

impl Gcs {
    /// Makes them.
    pub(super) fn new(stage: &mut Stage) -> Result<Gcs, MeasureError> {
        let window = stage.window;
        let depth = stage.screen.root_depth;
        let (black, white) = (stage.screen.black_pixel, stage.screen.white_pixel);
        let common = CreateGCAux::new().foreground(black).background(white);
        let tile = stage.pixmap(depth, 8)?;
        let stipple = stage.pixmap(1, 8)?;
        let of_stipple = stage.gc(stipple, CreateGCAux::new().foreground(1))?;
        stage.send(PutImageRequest {
            format: ImageFormat::XY_PIXMAP,
            drawable: stipple,
            gc: of_stipple,
            width: 8,
            height: 8,
            dst_x: 0,
            dst_y: 0,
            left_pad: 0,
            depth: 1,
            // A checkerboard, whatever the order of bits and bytes; scanlines of 32 bits.
            data: [[0x55_u8; 4], [0xAA; 4]].concat().repeat(4).into(),
        })?;
        let on_tile = stage.gc(tile, common)?;
        stage.send(super::drawing::rectangle(tile, on_tile, 0, 0, 8, 4))?;
        Ok(Gcs {
            common: stage.gc(window, common)?,
            xor: stage.gc(window, common.function(GX::XOR).foreground(black ^ white))?,
            tiled: stage.gc(window, common.fill_style(FillStyle::TILED).tile(tile))?,
            opaque_stippled: stage.gc(
                window,
                common
                    .fill_style(FillStyle::OPAQUE_STIPPLED)
                    .stipple(stipple),
            )?,
            widths: [
                stage.gc(window, common.line_width(1))?,
                stage.gc(window, common.line_width(10))?,
            ],
            double_dash: stage.gc(window, common.line_style(LineStyle::DOUBLE_DASH))?,
        })
    }

    /// Those that a filled area depends on.
    pub(super) fn for_fills(&self) -> [u32; 4] {
        [self.common, self.xor, self.tiled, self.opaque_stippled]
    }

    /// Those that a line depends on.
    pub(super) fn for_lines(&self) -> [u32; 7] {
        let [one, ten] = self.widths;
        [
            self.common,
            self.xor,
            self.tiled,
            self.opaque_stippled,
            one,
            ten,
            self.double_dash,
        ]
    }
}
