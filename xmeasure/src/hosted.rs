//! What a server costs that shows what has changed whenever it has nothing else to do: Xephyr copies
//! it to its host, box by box. An update with warm caches and what cold ones add to it, a box, and how
//! long the server goes on without an update while it has requests.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Deferred, Micros};
use x11rb_protocol::protocol::xproto::NoOperationRequest;

use crate::executor::LiveServer;
use crate::pictures::{Copies, LATER, SMALL};
use crate::statistics::estimate;
use crate::transport::rounded;
use crate::wire;

/// So far apart caches stay warm.
const WARM: Duration = Duration::from_millis(2);
/// Boxes in a row and in a column, and their side: such that what a socket holds of them keeps a
/// server at work for milliseconds.
const MANY: u16 = 8;
const SIDE: u16 = 32;
/// How often both pictures of all of them are sent in a stream, and of how many streams the median counts.
const TIMES: u64 = 600;
const STREAMS: usize = 5;

/// The loads.
pub(crate) struct Hosted {
    one: Copies,
    many: Copies,
    nothing: Vec<u8>,
}

impl Hosted {
    /// From what makes copies of a size, at so many places in a row and in a column.
    pub(crate) fn new(copies: &dyn Fn(u16, u16) -> Copies) -> Hosted {
        Hosted {
            one: copies(SMALL, 1),
            many: copies(SIDE, MANY),
            nothing: wire::core(NoOperationRequest),
        }
    }

    /// Measures them, where `deferred` is what an update costs when caches are cold.
    pub(crate) fn measure(
        &self,
        server: &mut LiveServer,
        times: usize,
        deferred: Deferred,
    ) -> io::Result<Deferred> {
        let Some(one) = self.one.beyond(server, times, WARM)? else {
            return Ok(deferred);
        };
        let one = one.beyond.median.max(0.0);
        let warm = self.wakeup(server, times, WARM)?;
        let wakeups = warm.zip(self.wakeup(server, times, LATER)?);
        let chill = wakeups.and_then(|(warm, cold)| {
            let more = (deferred.update_us.0 - one).max(0.0);
            (cold > warm).then(|| more / (cold - warm))
        });
        let update = match chill {
            Some(_) => one,
            None => deferred.update_us.0,
        };
        let among = self.among(server, times)?;
        Ok(Deferred {
            update_us: Micros(rounded(update, 5)),
            box_us: among.map(|it| Micros(rounded(it.each, 5))),
            chill: chill.map(|chill| rounded(chill, 3)),
            busy_us: among.map(|it| Micros(rounded(it.busy, 3))),
            ..deferred
        })
    }

    /// A lone NoOperation after such a sleep.
    fn wakeup(
        &self,
        server: &mut LiveServer,
        times: usize,
        apart: Duration,
    ) -> io::Result<Option<f64>> {
        let mut all = Vec::new();
        for _ in 0..times {
            all.extend(server.with_what_follows(&self.nothing, 1, apart)?);
        }
        Ok(estimate(&all).map(|it| it.median))
    }

    /// Updates among many requests, told by how often the server sleeps for its host; `None` where it
    /// does not, or there are hardly any.
    fn among(&self, server: &mut LiveServer, times: usize) -> io::Result<Option<Among>> {
        let copies = u64::from(MANY * MANY);
        let mut lone = |pictures: &[Vec<u8>; 2]| -> io::Result<Option<f64>> {
            let mut all = Vec::new();
            for picture in pictures.iter().cycle().take(times) {
                let reading = server.and_what_follows(picture, copies, LATER)?;
                all.extend(reading.sleeps.map(|sleeps| sleeps as f64));
            }
            Ok(estimate(&all).map(|it| it.median))
        };
        let update = lone(&self.many.seen)?.zip(lone(&self.many.unseen)?);
        let Some(lone) = update.map(|it| it.0 - it.1).filter(|lone| *lone >= 1.0) else {
            return Ok(None);
        };
        let (mut each, mut busy) = (Vec::new(), Vec::new());
        for _ in 0..STREAMS {
            let [seen, unseen] = [&self.many.seen, &self.many.unseen]
                .map(|pictures| server.stream(&pictures.concat(), 2 * copies, TIMES));
            let (seen, unseen) = (seen?, unseen?);
            let sleeps = seen.sleeps.zip(unseen.sleeps);
            let cpu = seen.cpu.zip(unseen.cpu);
            let Some((sleeps, cpu)) = sleeps.zip(cpu) else {
                return Ok(None);
            };
            let updates = sleeps.0.saturating_sub(sleeps.1) as f64 / lone;
            if updates >= 2.0 {
                each.push((cpu.0 - cpu.1).max(0.0) / (updates * copies as f64));
                busy.push(cpu.1 / updates);
            }
        }
        let median = |all: &[f64]| estimate(all).map(|it| it.median);
        let both = median(&each).zip(median(&busy));
        Ok(both.map(|(each, busy)| Among { each, busy }))
    }
}

/// Updates among many requests, in microseconds.
#[derive(Clone, Copy)]
struct Among {
    /// A box, with what it costs to keep account of it.
    each: f64,
    /// The server's own time between two updates.
    busy: f64,
}
