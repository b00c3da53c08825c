//! The costs of a server that shows changes whenever it is idle: Xephyr copies them to its host, box by box. An update
//! with warm caches, the extra cost with cold ones, and a box.

use std::io;
use std::time::Duration;

use x11prof_cost_model::Deferred;

use super::copies::{Copies, SHOWN, SMALL, TELLS};
use crate::sampling::batch::Batch;
use crate::sampling::executor::Executor;
use crate::sampling::rounding::{micros, rounded};
use crate::sampling::statistics::estimate;
use crate::server::wire;

/// So far apart caches stay warm.
const WARM: Duration = Duration::from_millis(2);
/// Boxes in a row and in a column, all of them, and their side.
const ROW: u16 = 8;
const COPIES: usize = ROW as usize * ROW as usize;
const SIDE: u16 = 32;

/// The loads.
pub(super) struct Nested {
    one: Copies,
    many: Copies,
    /// As many as `many` in one place.
    stacked: Copies,
    nothing: Batch,
}

impl Nested {
    /// Made with a function that makes copies of a size, with that many places in a row and in a column.
    pub(super) fn new(copies: &dyn Fn(u16, u16) -> Copies) -> Nested {
        let again = |pictures: [Batch; 2]| pictures.map(|picture| picture.repeated(COPIES));
        let stacked = copies(SIDE, 1);
        Nested {
            one: copies(SMALL, 1),
            many: copies(SIDE, ROW),
            stacked: Copies {
                seen: again(stacked.seen),
                unseen: again(stacked.unseen),
            },
            nothing: Batch::single(wire::no_operation(1), false),
        }
    }

    /// Measures the costs, where `deferred` is the cost of an update with cold caches.
    pub(super) fn measure(
        &self,
        server: &mut dyn Executor,
        times: usize,
        deferred: Deferred,
    ) -> io::Result<Deferred> {
        let Some(one) = self.one.beyond(server, times, WARM)? else {
            return Ok(deferred);
        };
        let one = one.beyond.centre.max(0.0);
        let warm = self.wakeup(server, times, WARM)?;
        let wakeups = warm.zip(self.wakeup(server, times, SHOWN)?);
        let chill = wakeups.and_then(|(warm, cold)| {
            let more = (deferred.update_us.0 - one).max(0.0);
            // A quotient by next to nothing tells nothing.
            (cold > (1.0 + TELLS) * warm).then(|| more / (cold - warm))
        });
        let update = match chill {
            Some(_) => one,
            None => deferred.update_us.0,
        };
        let each = self.each(server, times)?;
        Ok(Deferred {
            update_us: micros(update, 5),
            box_us: each.map(|each| micros(each, 4)),
            chill: chill.map(|chill| rounded(chill, 3)),
            ..deferred
        })
    }

    /// A alone NoOperation after a sleep.
    fn wakeup(
        &self,
        server: &mut dyn Executor,
        times: usize,
        apart: Duration,
    ) -> io::Result<Option<f64>> {
        let mut all = Vec::new();
        for _ in 0..times {
            all.extend(server.with_what_follows(&self.nothing, apart)?.cpu);
        }
        Ok(estimate(&all).map(|estimate| estimate.centre))
    }

    /// The cost of a box among many in one update, if the server sleeps for its host at each; `None` if it does not.
    fn each(&self, server: &mut dyn Executor, times: usize) -> io::Result<Option<f64>> {
        let mut cpu = Vec::new();
        for at in 0..times {
            let mut alone = |copied: &Copies| -> io::Result<Option<(f64, f64)>> {
                let Some(picture) = copied.seen.get(at % 2) else {
                    return Ok(None);
                };
                let reading = server.with_what_follows(picture, SHOWN)?;
                let both = reading.cpu.zip(reading.sleeps);
                Ok(both.map(|(cpu, sleeps)| (cpu, sleeps as f64)))
            };
            if let (Some(many), Some(one)) = (alone(&self.many)?, alone(&self.stacked)?)
                && many.1 - one.1 >= COPIES as f64 / 2.0
            {
                let boxes = many.1 - one.1;
                cpu.push((many.0 - one.0) / boxes);
            }
        }
        if 2 * cpu.len() <= times {
            return Ok(None);
        }
        Ok(estimate(&cpu).map(|estimate| estimate.centre.max(0.0)))
    }
}
