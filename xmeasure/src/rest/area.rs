//! Large areas that are filled behind a sleep, to see what cold pixels cost: one whose rows lie far apart in
//! memory, as those of most windows do, and one whose rows follow each other.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use super::batch::{Batch, Repeated};
use crate::error::MeasureError;
use crate::stage::Stage;
use crate::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// Millions of pixels of it.
pub(super) const MEGAPIXELS: f64 = SIDE as f64 * SIDE as f64 / 1e6;
/// So many at least of rows that follow each other: as many as the square has.
const PIXELS: u32 = SIDE as u32 * SIDE as u32;

/// Areas of drawables that nobody sees: what a server does for its screen falls into some of the
/// measurements and not into others.
pub(super) struct Area {
    pub(super) square: Repeated,
    /// Whole rows.
    pub(super) rows: Repeated,
    /// Millions of pixels of them.
    pub(super) rows_megapixels: f64,
}

impl Area {
    /// On two that are as wide as the screen, with no pixels in common.
    pub(super) fn new(stage: &mut Stage) -> Result<Area, MeasureError> {
        let [apart, whole] = [stage.like_the_screen()?, stage.like_the_screen()?];
        let gc = stage.gc(apart, CreateGCAux::new())?;
        let fill = |drawable, width, height| {
            let area = Rectangle {
                x: 0,
                y: 0,
                width,
                height,
            };
            Repeated::new(Batch::once(
                wire::core(PolyFillRectangleRequest {
                    drawable,
                    gc,
                    rectangles: [area].as_slice().into(),
                }),
                1,
                0,
            ))
        };
        let width = stage.screen.width_in_pixels.max(1);
        let rows = PIXELS.div_ceil(width.into()).min(crate::stage::SIDE.into()) as u16;
        Ok(Area {
            square: fill(apart, SIDE, SIDE),
            rows: fill(whole, width, rows),
            rows_megapixels: f64::from(width) * f64::from(rows) / 1e6,
        })
    }
}
