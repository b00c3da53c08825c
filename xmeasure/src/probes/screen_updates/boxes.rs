//! What a server that keeps account of what has changed on its screen pays for how the changes lie:
//! each request that changes something makes the region of all that has changed anew, and an update
//! goes through it box by box.

use std::io;

use x11prof_cost_model::Deferred;

use super::copies::{Copies, SHOWN};
use crate::sampling::executor::Executor;
use crate::sampling::rounding::micros;

/// Boxes in a row and in a column, with gaps, and their side.
const MANY: u16 = 32;
const SIDE: u16 = 8;

/// The loads: in one place, in a few, in many.
pub(super) struct Boxes {
    many: Copies,
}

impl Boxes {
    /// From what makes copies of a size, with that many places in a row and in a column.
    pub(super) fn new(copies: &dyn Fn(u16, u16) -> Copies) -> Boxes {
        Boxes {
            many: copies(SIDE, MANY),
        }
    }

    /// Measures what an update pays, where `deferred` is what one of one box costs, and what requests pay alone.
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

/// How many boxes a square of `side` rows has.
fn number(side: u16) -> f64 {
    f64::from(side) * f64::from(side)
}
