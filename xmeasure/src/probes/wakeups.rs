//! What a server costs after it slept, and what it writes by itself: loads of a few requests with
//! pauses between them, beside the long streams that requests are priced by.
//!
//! A stream of requests with replies soon finds the client's socket full, and from there on the
//! server gathers what it writes; a program that reads its replies sees each written by itself.

mod area;
mod passes;

use std::io;
use std::thread;
use std::time::Duration;

use x11prof_cost_model::{AfterSleep, AfterWork, Measured, Micros, TransportCosts};
use x11rb_protocol::protocol::xproto::{
    AtomEnum, ChangePropertyRequest, GetInputFocusRequest, PropMode,
};

use crate::error::MeasureError;
use crate::probes::mixed_requests::{Motley, motley};
use crate::probes::transport::rounded;
use crate::sampling::busy_client::Bustle;
use crate::sampling::live::LiveServer;
use crate::sampling::sampler::{Executor, Place};
use crate::sampling::statistics::{Estimate, LEAST};
use crate::server::client::Stage;
use crate::server::connection::RawConnection;
use crate::server::target::Target;
use crate::server::wire;
use crate::workloads::workload::Sync;

use self::area::{MEGAPIXELS, area};
use self::passes::{Pass, Slept, middle, over_passes};
use super::batch::{BATCH, Batch, Repeated};

/// A sleep in which clients work, and for how long.
const LONG: Duration = Duration::from_millis(3);
pub(super) const HANDLING: Duration = Duration::from_micros(800);
/// Between these the caches stay warm.
const SHORT: Duration = Duration::from_micros(200);
/// Sleeps, and how often each in a pass. A processor that idles loses its caches within 3 to 10 ms.
const SLEEPS: [(Duration, usize); 7] = [
    (SHORT, 10),
    (Duration::from_millis(1), 5),
    (Duration::from_millis(3), 5),
    (Duration::from_millis(5), 4),
    (Duration::from_millis(10), 4),
    (Duration::from_millis(30), 2),
    (Duration::from_millis(100), 1),
];
/// For how long the sender works in the short pauses, and how often each in a pass.
const WORK: [Duration; 4] = [
    Duration::from_micros(50),
    Duration::from_micros(200),
    Duration::from_micros(800),
    Duration::from_micros(3200),
];
const WORKED: usize = 5;
/// Requests that follow each other's answers at once: so many that how often the server sleeps
/// between them has settled.
const VOLLEY: u64 = 512;
/// The loads.
pub(crate) struct Rest {
    nothing: Batch,
    /// One request of each of many names.
    motley: Repeated,
    /// A large area filled.
    area: Repeated,
    question: Batch,
    questions: Batch,
    silent: Batch,
    told: Batch,
    bustle: Bustle,
    passes: Vec<Pass>,
}

impl Rest {
    /// About how long measuring them takes, a half before all other loads and a half behind them.
    pub(crate) const LASTS: Duration = Duration::from_secs(11);

    /// Prepares them on `stage`.
    pub(crate) fn new(stage: &mut Stage) -> Result<Rest, MeasureError> {
        let property = stage.atom("X11PROF_TRANSPORT")?;
        let change = |window| {
            wire::core(ChangePropertyRequest {
                mode: PropMode::REPLACE,
                window,
                property,
                type_: AtomEnum::STRING.into(),
                format: 8,
                data_len: 4,
                data: b"abcd".as_slice().into(),
            })
        };
        let one = |bytes: Vec<u8>, answers| Batch::once(bytes, 1, answers);
        // What nobody sees: what a server does later for its screen has prices of its own.
        let unseen = stage.like_the_screen()?;
        let Motley { silent, answered } = motley(stage, unseen, property)?;
        let (requests, answers) = (silent.len() + answered.len(), answered.len() as u64);
        let bytes = silent.into_iter().chain(answered).flatten().collect();
        let motley = Repeated::new(Batch::once(bytes, requests, answers));
        let focus = wire::core(GetInputFocusRequest);
        let (silent, told) = (change(stage.silent), change(stage.told));
        Ok(Rest {
            nothing: one(wire::no_operation(1), 0),
            motley,
            area: area(stage)?,
            question: one(focus.clone(), 1),
            questions: Batch::repeated(&focus, true),
            silent: Batch::repeated(&silent, false),
            told: Batch::repeated(&told, false),
            bustle: Bustle::new(),
            passes: Vec::new(),
        })
    }

    /// Measures the first half: what a sleep costs afterwards changes from minute to minute.
    pub(crate) fn begin(&mut self, server: &mut LiveServer, target: &Target) -> io::Result<()> {
        self.passes(server, target, LEAST / 2)
    }

    /// What has been measured so far, at a pace at which all takes so many times as long.
    pub(crate) fn times(&mut self, factor: f64) {
        self.passes.iter_mut().for_each(|pass| pass.times(factor));
    }

    /// Measures the rest of them, and fills in what they tell; where the server's processor time cannot be
    /// read, that is nothing.
    pub(crate) fn measure(
        &mut self,
        server: &mut LiveServer,
        target: &Target,
        transport: &mut TransportCosts,
    ) -> io::Result<()> {
        // The last pass may have left the sender on another processor.
        server.place(Place::Usual)?;
        self.passes(server, target, LEAST)?;
        if self.passes.is_empty() {
            return Ok(());
        }
        replies_and_events(&self.passes, transport);
        transport.after_sleep = self.sleeps(&self.passes);
        transport.after_work = self.work(&self.passes);
        Ok(())
    }

    /// What sleeps of at most such a length cost in this minute, by so many passes over them alone; empty
    /// where the server's processor time cannot be read.
    pub(crate) fn sleeps_of_now(
        &mut self,
        server: &mut LiveServer,
        target: &Target,
        (passes, longest): (usize, Duration),
    ) -> io::Result<Vec<AfterSleep>> {
        server.place(Place::Usual)?;
        let mut all = Vec::new();
        for _ in 0..passes {
            let sleeps = self.pass_of_sleeps(server, target, longest)?;
            all.push(Pass {
                sleeps,
                ..Pass::default()
            });
        }
        Ok(self.sleeps(&all))
    }

    /// Passes until there are so many; none where the server's processor time cannot be read.
    fn passes(&mut self, server: &mut LiveServer, target: &Target, count: usize) -> io::Result<()> {
        while self.passes.len() < count
            && let Some(pass) = self.pass(server, target)?
        {
            self.passes.push(pass);
        }
        Ok(())
    }

    fn pass(&mut self, server: &mut LiveServer, target: &Target) -> io::Result<Option<Pass>> {
        let mut pass = Pass::default();
        let (pause, count) = SLEEPS[0];
        for _ in 0..count {
            let mut of = |batch: &Batch| batch.after(server, || thread::sleep(pause));
            let (Some(question), Some(questions), Some(silent), Some(told)) = (
                of(&self.question)?,
                of(&self.questions)?,
                of(&self.silent)?,
                of(&self.told)?,
            ) else {
                return Ok(None);
            };
            pass.replies
                .push((questions - question) / (BATCH - 1) as f64);
            pass.events.push((told - silent) / BATCH as f64);
            let turns = server.synchronise(Sync::Turns, VOLLEY)?;
            if let Some(time) = turns.cpu {
                pass.quicker.push(question - time / VOLLEY as f64);
                pass.turns
                    .push((turns.wall - time).max(0.0) / VOLLEY as f64);
            }
        }
        pass.sleeps = self.pass_of_sleeps(server, target, Duration::MAX)?;
        for work in WORK {
            let mut slept = Slept::default();
            for _ in 0..WORKED {
                self.slept(server, target, (SHORT, work), &mut slept)?;
            }
            pass.work.push(slept);
        }
        Ok(Some(pass))
    }

    fn pass_of_sleeps(
        &mut self,
        server: &mut LiveServer,
        target: &Target,
        longest: Duration,
    ) -> io::Result<Vec<Slept>> {
        let mut sleeps = Vec::new();
        for (pause, count) in SLEEPS.into_iter().filter(|(pause, _)| *pause <= longest) {
            let mut slept = Slept::default();
            for _ in 0..count {
                self.slept(server, target, (pause, Duration::ZERO), &mut slept)?;
            }
            sleeps.push(slept);
        }
        Ok(sleeps)
    }

    /// One of each behind such a sleep, at whose end the sender works for so long.
    fn slept(
        &mut self,
        server: &mut LiveServer,
        target: &Target,
        (sleep, work): (Duration, Duration),
        slept: &mut Slept,
    ) -> io::Result<()> {
        let Rest {
            nothing,
            motley,
            area,
            bustle,
            ..
        } = self;
        let mut pause = || {
            thread::sleep(sleep);
            bustle.work(work);
        };
        slept.nothing.extend(nothing.after(server, &mut pause)?);
        // All of it has just run before its pause.
        if work.is_zero() {
            slept.motley_warm.extend(motley.streamed(server)?);
        } else {
            motley.once.after(server, || {})?;
        }
        let cold = motley.once.after(server, &mut pause)?;
        slept.motley.extend(cold);
        let open = || RawConnection::open(target).map(drop);
        let connection = server.during(&mut pause, open).map_err(gone)?;
        slept.connection.extend(connection);
        if work.is_zero() {
            // It is filled before its pause, cold right behind it, and warm again. Who lets a server sleep for
            // milliseconds has worked meanwhile, which takes more out of the caches than the sleep does.
            area.once.after(server, || {})?;
            let pause = || {
                if sleep >= LONG {
                    bustle.work(HANDLING);
                }
                thread::sleep(sleep);
            };
            slept.area.extend(area.once.after(server, pause)?);
            slept.area_warm.extend(area.streamed(server)?);
        }
        Ok(())
    }

    /// What each length of work costs beyond the same sleep without.
    fn work(&self, passes: &[Pass]) -> Vec<AfterWork> {
        let requests = self.motley.once.requests as f64;
        let mut points = Vec::new();
        for (at, work) in WORK.into_iter().enumerate() {
            let beyond = |field: fn(&Slept) -> &Vec<f64>| {
                let worked = over_passes(passes, |pass| pass.work.get(at).map(field))?;
                let idle = over_passes(passes, |pass| pass.sleeps.first().map(field))?;
                Some((worked.centre - idle.centre, worked))
            };
            let (Some((nothing, all)), Some((motley, _)), Some((connection, _))) = (
                beyond(|it| &it.nothing),
                beyond(|it| &it.motley),
                beyond(|it| &it.connection),
            ) else {
                continue;
            };
            let more = |time: f64| micros(time.max(0.0));
            points.push(AfterWork {
                worked_us: micros(work.as_secs_f64() * 1e6),
                wakeup_us: more(nothing),
                first_us: more((motley - nothing) / requests),
                connection_us: more(connection - nothing),
                spread: all
                    .half_width
                    .filter(|_| nothing > 0.0)
                    .map(|width| rounded(width / nothing, 2)),
            });
        }
        points
    }

    fn sleeps(&self, passes: &[Pass]) -> Vec<AfterSleep> {
        let mut points: Vec<AfterSleep> = Vec::new();
        for (at, (pause, _)) in SLEEPS.into_iter().enumerate() {
            // A processor that idles for some milliseconds loses its caches or keeps them, now this, now
            // that; programs wake the server hundreds of times.
            let of = |field: fn(&Slept) -> &Vec<f64>| {
                middle(passes, |pass| pass.sleeps.get(at).map(field))
            };
            let (Some(nothing), Some(motley), Some(warm), Some(connection)) = (
                of(|it| &it.nothing),
                of(|it| &it.motley),
                of(|it| &it.motley_warm),
                of(|it| &it.connection),
            ) else {
                continue;
            };
            let area = of(|it| &it.area).zip(of(|it| &it.area_warm));
            let cold = |(cold, warm): (f64, f64)| {
                // In the shortest pause what the measurement itself does weighs as much as the pause.
                let more = if at == 0 { 0.0 } else { cold - nothing - warm };
                micros(more.max(0.0) / MEGAPIXELS)
            };
            let slower = motley - nothing - warm;
            let spread = over_passes(passes, |pass| Some(&pass.sleeps.get(at)?.nothing));
            points.push(AfterSleep {
                asleep_us: micros(pause.as_secs_f64() * 1e6),
                wakeup_us: micros(nothing),
                first_us: micros(slower.max(0.0) / self.motley.once.requests as f64),
                connection_us: micros((connection - nothing).max(0.0)),
                megapixel_us: area.map(cold),
                spread: spread
                    .and_then(|it| it.spread())
                    .map(|spread| rounded(spread, 2)),
            });
        }
        hot(passes, &points).into_iter().chain(points).collect()
    }
}

/// The shortest sleep: that of a server which waits for nothing but a client that answers at once.
/// A question costs as much less there as waking up does.
fn hot(passes: &[Pass], points: &[AfterSleep]) -> Option<AfterSleep> {
    let short = points.first()?;
    let quicker = over_passes(passes, |pass| Some(&pass.quicker))?;
    let turn = over_passes(passes, |pass| Some(&pass.turns))?;
    let wakeup = (short.wakeup_us.0 - quicker.centre).max(0.0);
    let asleep_us = micros(turn.centre);
    (asleep_us.0 > 0.0 && asleep_us < short.asleep_us).then(|| AfterSleep {
        asleep_us,
        wakeup_us: micros(wakeup),
        first_us: Micros(0.0),
        connection_us: short.connection_us,
        // Who has just drawn goes on with that.
        megapixel_us: short.megapixel_us.map(|_| Micros(0.0)),
        spread: quicker
            .half_width
            .filter(|_| wakeup > 0.0)
            .map(|width| rounded(width / wakeup, 2)),
    })
}

/// What replies and events cost when the client's socket takes each.
fn replies_and_events(passes: &[Pass], transport: &mut TransportCosts) {
    let (Some(reply), Some(event)) = (
        over_passes(passes, |pass| Some(&pass.replies)),
        over_passes(passes, |pass| Some(&pass.events)),
    ) else {
        return;
    };
    let Some(streamed) = transport.reply.cpu_us else {
        return;
    };
    put(&mut transport.reply, &reply);
    put(&mut transport.event, &event);
    if let Some(flush) = &mut transport.flush
        && let Some(write) = flush.cpu_us
    {
        // The write of the first is not written off: what one reply alone costs stays as it was.
        let cost = (streamed.0 + write.0 - reply.centre).max(0.0);
        // As a difference it is at least as unsure, in microseconds, as each of the two.
        let unsure =
            (flush.spread.unwrap_or_default() * write.0).max(reply.half_width.unwrap_or_default());
        flush.cpu_us = Some(micros(cost));
        flush.spread = (cost > 0.0).then(|| rounded(unsure / cost, 2));
    }
}

fn put(into: &mut Measured, cpu: &Estimate) {
    into.cpu_us = Some(micros(cpu.centre.max(0.0)));
    into.spread = cpu.spread().map(|spread| rounded(spread, 2));
}

/// A server that takes no new connection has gone, or will not answer any more.
pub(crate) fn gone(error: MeasureError) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, error.to_string())
}

fn micros(time: f64) -> Micros {
    Micros(rounded(time, 5))
}
