//! A large area that is filled behind a sleep, to see what cold pixels cost.

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use super::Batch;
use crate::error::MeasureError;
use crate::pictures::SMALL;
use crate::stage::Stage;
use crate::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// Millions of pixels by which the two squares differ.
pub(super) const MEGAPIXELS: f64 = (SIDE as f64 * SIDE as f64 - SMALL as f64 * SMALL as f64) / 1e6;

/// Squares of one drawable, which nobody sees: what a server does for its screen falls into some of
/// the measurements and not into others.
pub(super) struct Area {
    /// What drawing anything costs behind a sleep.
    pub(super) small: Batch,
    pub(super) large: Batch,
    /// The large one and, when that has just been touched, again. That it is warm behind a short sleep cannot
    /// be relied on: where its pages share a part of the cache, or a virtual processor has lost its
    /// translations, it is not.
    pub(super) twice: Batch,
}

impl Area {
    /// On `drawable`.
    pub(super) fn new(stage: &mut Stage, drawable: u32) -> Result<Area, MeasureError> {
        let gc = stage.gc(drawable, CreateGCAux::new())?;
        let squares = |side, times: usize| {
            let square = Rectangle {
                x: 0,
                y: 0,
                width: side,
                height: side,
            };
            let request = wire::core(PolyFillRectangleRequest {
                drawable,
                gc,
                rectangles: [square].as_slice().into(),
            });
            Batch {
                bytes: request.repeat(times),
                requests: times,
                answers: 0,
            }
        };
        Ok(Area {
            small: squares(SMALL, 1),
            large: squares(SIDE, 1),
            twice: squares(SIDE, 2),
        })
    }
}
