//! Large areas that are filled behind a sleep, to see what cold pixels cost: one whose rows lie far apart in
//! memory, as those of most windows do, and one whose rows follow each other.

use std::io;
use std::thread;
use std::time::Duration;

use x11rb_protocol::protocol::xproto::{CreateGCAux, PolyFillRectangleRequest, Rectangle};

use super::Batch;
use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::pictures::{LATER, SMALL, SOON, TELLS};
use crate::stage::Stage;
use crate::statistics::estimate;
use crate::wire;

/// The side of a square that fills a second-level cache, or half of one, in pixels.
const SIDE: u16 = 500;
/// Millions of pixels of it.
pub(super) const MEGAPIXELS: f64 = SIDE as f64 * SIDE as f64 / 1e6;
/// So many at least of rows that follow each other: as many as the square has.
const PIXELS: u32 = SIDE as u32 * SIDE as u32;
/// How often it is looked at whether the server shows a change.
const TRIES: usize = 9;

/// Squares of one drawable.
struct Squares {
    small: Vec<u8>,
    large: Batch,
}

/// The loads. What programs draw on is mostly windows. But a server that shows a change at once, and those that
/// follow soon not before an interval is over, would do that in some of the measurements and not in
/// others; one that does so after each change does it in those in warm caches, too.
pub(super) struct Area {
    seen: Squares,
    unseen: Squares,
    /// Whole rows of what nobody sees.
    close: Batch,
    /// Millions of pixels of them.
    close_megapixels: f64,
    shown_at_times: bool,
}

impl Area {
    /// On the window, and on `unseen`, which is as deep.
    pub(super) fn new(stage: &mut Stage, unseen: u32) -> Result<Area, MeasureError> {
        let gc = stage.gc(unseen, CreateGCAux::new())?;
        let fill = |drawable, width, height| {
            let area = Rectangle {
                x: 0,
                y: 0,
                width,
                height,
            };
            wire::core(PolyFillRectangleRequest {
                drawable,
                gc,
                rectangles: [area].as_slice().into(),
            })
        };
        let batch = |bytes| Batch {
            bytes,
            requests: 1,
            answers: 0,
        };
        let on = |drawable| Squares {
            small: fill(drawable, SMALL, SMALL),
            large: batch(fill(drawable, SIDE, SIDE)),
        };
        // A pixmap that is as wide as the screen, and has none of the squares' pixels.
        let whole = stage.like_the_screen()?;
        let width = stage.screen.width_in_pixels.max(1);
        let rows = PIXELS.div_ceil(width.into()).min(crate::stage::SIDE.into()) as u16;
        Ok(Area {
            seen: on(stage.window),
            unseen: on(unseen),
            close: batch(fill(whole, width, rows)),
            close_megapixels: f64::from(width) * f64::from(rows) / 1e6,
            shown_at_times: false,
        })
    }

    /// Looks whether the server shows a small change at once after a pause, and not where others went before.
    pub(super) fn choose(&mut self, server: &mut LiveServer) -> io::Result<()> {
        let at_once = self.shows(server, LATER * 2)?;
        self.shown_at_times = at_once && !self.shows(server, Duration::ZERO)?;
        Ok(())
    }

    /// Whether it does more for most small squares that are seen than for those that are not, soon after
    /// they come behind such a pause.
    fn shows(&self, server: &mut LiveServer, pause: Duration) -> io::Result<bool> {
        let mut median = |square: &[u8]| -> io::Result<Option<f64>> {
            let mut all = Vec::new();
            for _ in 0..TRIES {
                thread::sleep(pause);
                all.extend(server.with_what_follows(square, 1, SOON)?);
            }
            Ok(estimate(&all).map(|it| it.median))
        };
        let both = median(&self.seen.small)?.zip(median(&self.unseen.small)?);
        Ok(both.is_some_and(|(seen, unseen)| seen > (1.0 + TELLS) * unseen))
    }

    /// The rows that follow each other, and how many million pixels they have.
    pub(super) fn close(&self) -> (&Batch, f64) {
        (&self.close, self.close_megapixels)
    }

    /// The square that is measured.
    pub(super) fn load(&self) -> &Batch {
        let squares = match self.shown_at_times {
            true => &self.unseen,
            false => &self.seen,
        };
        &squares.large
    }
}
