//! What a server costs that shows what has changed whenever it has nothing else to do: Xephyr copies
//! it to its host, box by box. An update with warm caches and what cold ones add to it, a box with the wait
//! for the host, and how far apart updates are while the server has requests.

use std::io;
use std::time::Duration;

use x11prof_cost_model::Deferred;

use super::copies::{Copies, LARGE, SHOWN, SMALL, TELLS};
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
/// How often both pictures of a large copy are sent in a stream, which a server is at work on for a tenth
/// of a second without ever finding its socket empty, and how many such streams are looked at.
const TIMES: u64 = 800;
const STREAMS: usize = 5;
/// As many large copies keep a server at work for longer than it serves one client before it looks for others.
const SHARED: usize = 1000;

/// The loads.
pub(super) struct Nested {
    one: Copies,
    many: Copies,
    /// As many as `many` in one place.
    stacked: Copies,
    large: Copies,
    nothing: Batch,
}

impl Nested {
    /// From what makes copies of a size, with that many places in a row and in a column.
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
            large: copies(LARGE, 1),
            nothing: Batch::single(wire::no_operation(1), false),
        }
    }

    /// Measures them, where `deferred` is what an update costs when caches are cold.
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
        let busy = match &each {
            Some(_) => self.busy(server)?,
            None => None,
        };
        let time = |time: f64| micros(time, 4);
        Ok(Deferred {
            update_us: micros(update, 5),
            box_us: each.as_ref().map(|each| time(each.cpu)),
            wait_us: each.as_ref().map(|each| time(each.wait)),
            chill: chill.map(|chill| rounded(chill, 3)),
            busy_us: busy.map(time),
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

    /// A box of many in one update, where the server sleeps for its host at each; `None` where it does not.
    fn each(&self, server: &mut dyn Executor, times: usize) -> io::Result<Option<Each>> {
        let (mut cpu, mut wait) = (Vec::new(), Vec::new());
        for at in 0..times {
            let mut alone = |copied: &Copies| -> io::Result<Option<(f64, f64, f64)>> {
                let Some(picture) = copied.seen.get(at % 2) else {
                    return Ok(None);
                };
                let reading = server.until_answered(picture, SHOWN)?;
                let both = reading.cpu.zip(reading.sleeps);
                Ok(both.map(|(cpu, sleeps)| (cpu, sleeps as f64, reading.wall)))
            };
            if let (Some(many), Some(one)) = (alone(&self.many)?, alone(&self.stacked)?)
                && many.1 - one.1 >= COPIES as f64 / 2.0
            {
                let boxes = many.1 - one.1;
                cpu.push((many.0 - one.0) / boxes);
                wait.push((many.2 - one.2 - (many.0 - one.0)) / boxes);
            }
        }
        if 2 * cpu.len() <= times {
            return Ok(None);
        }
        let cpu = estimate(&cpu).map(|estimate| estimate.centre.max(0.0));
        let wait = estimate(&wait).map(|estimate| estimate.centre.max(0.0));
        Ok(cpu.zip(wait).map(|(cpu, wait)| Each { cpu, wait }))
    }

    /// How far apart updates are, on the wall, while the server has requests of one client, in microseconds;
    /// `None` where there are hardly any.
    fn busy(&self, server: &mut dyn Executor) -> io::Result<Option<f64>> {
        let mut all = Vec::new();
        let both = |[one, other]: &[Batch; 2]| one.then(other);
        let work = both(&self.large.unseen).repeated(SHARED / 2);
        for _ in 0..STREAMS {
            let mut stream = |pictures: &[Batch; 2]| {
                // A server that has served one client alone for long looks for others less often.
                server.share(&work)?;
                server.stream(&both(pictures), TIMES)
            };
            let (seen, unseen) = (stream(&self.large.seen)?, stream(&self.large.unseen)?);
            let Some((with, without)) = seen.sleeps.zip(unseen.sleeps) else {
                return Ok(None);
            };
            let updates = with.saturating_sub(without);
            if updates >= 2 {
                all.push(seen.wall / updates as f64);
            }
        }
        // Where the host answers before the server has fallen asleep, an update is not seen.
        Ok(all.into_iter().reduce(f64::min))
    }
}

/// A box of an update, in microseconds.
struct Each {
    cpu: f64,
    /// How long the server waits for its host.
    wait: f64,
}
