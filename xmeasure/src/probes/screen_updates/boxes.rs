//! The cost of a box of the changed region: an update goes through the region box by box.

use std::io;

use x11prof_cost_model::Deferred;

use super::copies::{Copies, SHOWN};
use crate::sampling::executor::Executor;
use crate::sampling::rounding::micros;

/// Boxes in a row and in a column, with gaps, and their side.
const MANY: u16 = 32;
const SIDE: u16 = 8;

/// The load: copies to many places that do not touch.
pub(super) struct Boxes {
    many: Copies,
}

impl Boxes {
    /// Made with a function that makes copies of a size, with that many places in a row and in a column.
    pub(super) fn new(copies: &dyn Fn(u16, u16) -> Copies) -> Boxes {
        Boxes {
            many: copies(SIDE, MANY),
        }
    }

    /// Returns `deferred`, the costs of an update with one box, with the cost of a further box.
    pub(super) fn measure(
        &self,
        server: &mut dyn Executor,
        times: usize,
        deferred: Deferred,
    ) -> io::Result<Deferred> {
        let many = number(MANY);
        let pixels = deferred.pixel_us.0 * many * number(SIDE);
        let update = self.many.beyond(server, times, SHOWN)?;
        let boxes = update.map(|seen| {
            let more = seen.beyond.centre - deferred.update_us.0 - pixels;
            (more / (many - 1.0)).max(0.0)
        });
        Ok(Deferred {
            box_us: boxes.map(|boxes| micros(boxes, 3)),
            ..deferred
        })
    }
}

/// The number of boxes in a square of `side` rows.
fn number(side: u16) -> f64 {
    f64::from(side) * f64::from(side)
}
