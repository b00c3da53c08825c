//! What a server that keeps account of what has changed on its screen pays for how the changes lie:
//! each request that changes something makes the region of all that has changed anew, and an update
//! goes through it box by box.

use std::io;

use x11prof_cost_model::Deferred;

use super::copies::{Copies, SHOWN, TELLS};
use crate::sampling::executor::Executor;
use crate::sampling::rounding::micros;

/// Boxes in a row and in a column, with gaps, and their side.
const FEW: u16 = 4;
const MANY: u16 = 32;
const SIDE: u16 = 8;
/// Copies in a stream: of many boxes they take less than the time between two updates.
const COPIES: u64 = 10 * (MANY as u64) * (MANY as u64);

/// The loads: in one place, in a few, in many.
pub(super) struct Boxes {
    one: Copies,
    few: Copies,
    many: Copies,
}

impl Boxes {
    /// From what makes copies of a size, with that many places in a row and in a column.
    pub(super) fn new(copies: &dyn Fn(u16, u16) -> Copies) -> Boxes {
        Boxes {
            one: copies(SIDE, 1),
            few: copies(SIDE, FEW),
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
        if deferred.join_us.is_none() {
            return Ok(deferred);
        }
        let many = number(MANY);
        // From the top to the bottom each has all those before it above, half of them on the mean.
        let joins = many * deferred.join(many as u64, many / 2.0).0;
        let pixels = deferred.pixel_us.0 * many * number(SIDE);
        let update = self.many.beyond(server, times, SHOWN)?;
        let boxes = update.map(|seen| {
            let more = seen.beyond.centre - deferred.update_us.0 - pixels - joins;
            (more / (many - 1.0)).max(0.0)
        });
        Ok(Deferred {
            box_us: boxes.map(|boxes| micros(boxes, 3)),
            ..deferred
        })
    }

    /// Measures what requests pay alone. From few places to many, for where no update comes between the
    /// region holds all that went before.
    pub(super) fn joins(
        &self,
        server: &mut dyn Executor,
        deferred: Deferred,
    ) -> io::Result<Deferred> {
        let more = self.more(server)?;
        Ok(Deferred {
            join_us: more.map(|more| micros(more.join, 3)),
            join_box_us: more.map(|more| micros(more.each, 3)),
            ..deferred
        })
    }

    /// Measures what copies of what the screen shows pay beyond that, where these are such. That is known
    /// where it is a part of what a change pays that tells.
    pub(super) fn copied(
        &self,
        server: &mut dyn Executor,
        deferred: Deferred,
    ) -> io::Result<Deferred> {
        let more = self.more(server)?;
        let (boxes, above) = (number(MANY) as u64, above(MANY));
        let join = deferred.join(boxes, above).0;
        let more = more.filter(|more| more.join + more.each * above > TELLS * join);
        Ok(Deferred {
            copied_us: more.map(|more| micros(more.join, 3)),
            copied_box_us: more.map(|more| micros(more.each, 3)),
            ..deferred
        })
    }

    /// What these cost more among many boxes.
    fn more(&self, server: &mut dyn Executor) -> io::Result<Option<More>> {
        let (Some(one), Some(among_few), Some(among_many)) = (
            self.one.in_a_stream(server, COPIES)?,
            self.few.in_a_stream(server, COPIES)?,
            self.many.in_a_stream(server, COPIES)?,
        ) else {
            return Ok(None);
        };
        let each = ((among_many - among_few) / (above(MANY) - above(FEW))).max(0.0);
        let join = (among_few - one - each * above(FEW)).max(0.0);
        Ok(Some(More { join, each }))
    }
}

/// What a request costs more in a region of boxes, and for each that is not below it, in microseconds.
#[derive(Debug, Clone, Copy)]
struct More {
    join: f64,
    each: f64,
}

/// How many boxes are above a place or next to it, on average, where all of `side` rows have changed.
fn above(side: u16) -> f64 {
    (number(side) + f64::from(side)) / 2.0
}

/// How many boxes a square of `side` rows has.
fn number(side: u16) -> f64 {
    f64::from(side) * f64::from(side)
}
