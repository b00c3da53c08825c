//! What a server costs that shows what has changed whenever it has nothing else to do: Xephyr copies
//! it to its host, box by box. An update with warm caches and what cold ones add to it, a box with the wait
//! for the host, and how far apart updates are while the server has requests.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Deferred, Micros};
use x11rb_protocol::protocol::xproto::NoOperationRequest;

use crate::probes::screen_updates::{Copies, LARGE, LATER, SMALL, TELLS};
use crate::probes::transport::rounded;
use crate::probes::wakeups::gone;
use crate::sampling::live::LiveServer;
use crate::sampling::statistics::estimate;
use crate::server::connection::RawConnection;
use crate::server::target::Target;
use crate::server::wire;

/// So far apart caches stay warm.
const WARM: Duration = Duration::from_millis(2);
/// Boxes in a row and in a column, all of them, and their side.
const MANY: u16 = 8;
const COPIES: u64 = MANY as u64 * MANY as u64;
const SIDE: u16 = 32;
/// How often both pictures of a large copy are sent in a stream, which a server is at work on for a tenth
/// of a second without ever finding its socket empty, and how many such streams are looked at.
const TIMES: u64 = 800;
const STREAMS: usize = 5;
/// As many large copies keep a server at work for longer than it serves one client before it looks for others.
const SHARED: u64 = 1000;

/// The loads.
pub(crate) struct Hosted {
    one: Copies,
    many: Copies,
    /// As many as `many` in one place.
    stacked: Copies,
    large: Copies,
    nothing: Vec<u8>,
}

impl Hosted {
    /// From what makes copies of a size, at so many places in a row and in a column.
    pub(crate) fn new(copies: &dyn Fn(u16, u16) -> Copies) -> Hosted {
        let again = |pictures: [Vec<u8>; 2]| pictures.map(|it| it.repeat(usize::from(MANY * MANY)));
        let stacked = copies(SIDE, 1);
        Hosted {
            one: copies(SMALL, 1),
            many: copies(SIDE, MANY),
            stacked: Copies {
                seen: again(stacked.seen),
                unseen: again(stacked.unseen),
            },
            large: copies(LARGE, 1),
            nothing: wire::core(NoOperationRequest),
        }
    }

    /// Measures them, where `deferred` is what an update costs when caches are cold.
    pub(crate) fn measure(
        &self,
        server: &mut LiveServer,
        target: &Target,
        times: usize,
        deferred: Deferred,
    ) -> io::Result<Deferred> {
        let Some(one) = self.one.beyond(server, times, WARM)? else {
            return Ok(deferred);
        };
        let one = one.beyond.centre.max(0.0);
        let warm = self.wakeup(server, times, WARM)?;
        let wakeups = warm.zip(self.wakeup(server, times, LATER)?);
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
            Some(_) => self.busy(server, target)?,
            None => None,
        };
        let micros = |time: f64| Micros(rounded(time, 4));
        Ok(Deferred {
            update_us: Micros(rounded(update, 5)),
            box_us: each.as_ref().map(|it| micros(it.cpu)),
            wait_us: each.as_ref().map(|it| micros(it.wait)),
            chill: chill.map(|chill| rounded(chill, 3)),
            busy_us: busy.map(micros),
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
        Ok(estimate(&all).map(|it| it.centre))
    }

    /// A box of many in one update, where the server sleeps for its host at each; `None` where it does not.
    fn each(&self, server: &mut LiveServer, times: usize) -> io::Result<Option<Each>> {
        let (mut cpu, mut wait) = (Vec::new(), Vec::new());
        for at in 0..times {
            let mut lone = |copied: &Copies| -> io::Result<Option<(f64, f64, f64)>> {
                let Some(picture) = copied.seen.get(at % 2) else {
                    return Ok(None);
                };
                let reading = server.and_its_end(picture, COPIES, LATER)?;
                let both = reading.cpu.zip(reading.sleeps);
                Ok(both.map(|(cpu, sleeps)| (cpu, sleeps as f64, reading.wall)))
            };
            if let (Some(many), Some(one)) = (lone(&self.many)?, lone(&self.stacked)?)
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
        let cpu = estimate(&cpu).map(|it| it.centre.max(0.0));
        let wait = estimate(&wait).map(|it| it.centre.max(0.0));
        Ok(cpu.zip(wait).map(|(cpu, wait)| Each { cpu, wait }))
    }

    /// How far apart updates are, on the wall, while the server has requests of one client, in microseconds;
    /// `None` where there are hardly any.
    fn busy(&self, server: &mut LiveServer, target: &Target) -> io::Result<Option<f64>> {
        let mut other = RawConnection::open(target).map_err(gone)?;
        let mut all = Vec::new();
        let work = self.large.unseen.concat().repeat(SHARED as usize / 2);
        for _ in 0..STREAMS {
            let mut stream = |pictures: &[Vec<u8>; 2]| {
                // A server that has served one client alone for long looks for others less often.
                server.shared(&work, SHARED, (&mut other, &self.nothing))?;
                server.stream(&pictures.concat(), 2, TIMES)
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
