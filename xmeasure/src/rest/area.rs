//! A large area that is filled behind a sleep, to see what cold pixels cost.

use std::io;

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use super::Batch;
use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::pictures::{LATER, SMALL, TELLS};
use crate::stage::Stage;
use crate::statistics::estimate;
use crate::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// Millions of pixels of it.
pub(super) const MEGAPIXELS: f64 = SIDE as f64 * SIDE as f64 / 1e6;
/// How often it is looked at whether the server works later.
const TRIES: usize = 8;

/// Squares of one drawable.
struct Squares {
    small: Vec<u8>,
    large: Batch,
}

/// The loads. What programs draw on is mostly windows; but what a server does later for these would fall into
/// the sleeps.
pub(super) struct Area {
    seen: Squares,
    unseen: Squares,
    works_later: bool,
}

impl Area {
    /// On the window, and on `unseen`, which is as deep.
    pub(super) fn new(stage: &mut Stage, unseen: u32) -> Result<Area, MeasureError> {
        let gc = stage.gc(unseen, CreateGCAux::new())?;
        let square = |drawable, side| {
            let square = Rectangle {
                x: 0,
                y: 0,
                width: side,
                height: side,
            };
            wire::core(PolyFillRectangleRequest {
                drawable,
                gc,
                rectangles: [square].as_slice().into(),
            })
        };
        let on = |drawable| Squares {
            small: square(drawable, SMALL),
            large: Batch {
                bytes: square(drawable, SIDE),
                requests: 1,
                answers: 0,
            },
        };
        Ok(Area {
            seen: on(stage.window),
            unseen: on(unseen),
            works_later: false,
        })
    }

    /// Looks whether the server does more for a small square that is seen than for one that is not, all
    /// that follows included.
    pub(super) fn choose(&mut self, server: &mut LiveServer) -> io::Result<()> {
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        for _ in 0..TRIES {
            seen.extend(server.with_what_follows(&self.seen.small, 1, LATER)?);
            unseen.extend(server.with_what_follows(&self.unseen.small, 1, LATER)?);
        }
        let both = estimate(&seen).zip(estimate(&unseen));
        self.works_later =
            both.is_some_and(|(seen, unseen)| seen.median > (1.0 + TELLS) * unseen.median);
        Ok(())
    }

    /// The square that is measured.
    pub(super) fn load(&self) -> &Batch {
        let squares = match self.works_later {
            true => &self.unseen,
            false => &self.seen,
        };
        &squares.large
    }
}
