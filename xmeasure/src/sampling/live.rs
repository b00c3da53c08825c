//! Running loads on a real server, and reading the clocks.

mod after_answers;
mod clocks;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use x11rb_protocol::protocol::xproto::{GetImageRequest, GetInputFocusRequest, ImageFormat};

use crate::error::MeasureError;
use crate::plan::Pin;
use crate::sampling::batch::Batch;
use crate::sampling::busy_client::BusyClient;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::reading::{Reading, SenderPlace};
use crate::server::clock::ProcessClock;
use crate::server::connection::RawConnection;
use crate::server::exchange::{Answers, Load, Until};
use crate::server::process::Pinned;
use crate::server::target::Target;
use crate::server::wire;
use crate::workloads::workload::{Phase, Sync, Workload};

/// The pause between requests sent alone, in which the server falls asleep.
const PAUSE: Duration = Duration::from_micros(200);

/// A server, the connection to it, and its clocks.
pub(crate) struct LiveServer {
    raw: RawConnection,
    clock: Option<ProcessClock>,
    /// The clock of this process.
    own: Option<ProcessClock>,
    /// The time for which the server may work on its drawing after it fell asleep.
    lingers: Duration,
    read_back: Vec<u8>,
    round_trip: Vec<u8>,
    pin: Option<Pin>,
    /// The client that works in the pauses.
    busy: BusyClient,
    target: Target,
    start: Instant,
}

impl LiveServer {
    /// The server `target`, connected by `raw`; `window` is read back from.
    pub(crate) fn new(
        raw: RawConnection,
        window: u32,
        pin: Option<Pin>,
        target: &Target,
    ) -> LiveServer {
        let read_back = wire::core(GetImageRequest {
            format: ImageFormat::Z_PIXMAP,
            drawable: window,
            x: 0,
            y: 0,
            width: 1,
            height: 1,
            plane_mask: !0,
        });
        LiveServer {
            clock: raw.pid.and_then(ProcessClock::of),
            own: ProcessClock::of(std::process::id().cast_signed()),
            lingers: Duration::ZERO,
            busy: BusyClient::new(),
            target: target.clone(),
            start: Instant::now(),
            raw,
            read_back,
            round_trip: wire::core(GetInputFocusRequest),
            pin,
        }
    }

    /// Moves the sender, where both processes are pinned and there is a place to move to.
    fn move_to(&mut self, place: SenderPlace) -> io::Result<()> {
        match (self.pin, place) {
            (Some(pin), SenderPlace::Usual) => Pinned::move_sender(pin.both),
            (
                Some(Pin {
                    other: Some(other), ..
                }),
                SenderPlace::Other,
            ) => Pinned::move_sender(other),
            _ => Ok(()),
        }
    }

    fn sync(&self, sync: Sync) -> Vec<u8> {
        match sync {
            Sync::ReadBack => self.read_back.clone(),
            Sync::RoundTrip | Sync::Turns => self.round_trip.clone(),
        }
    }

    /// Sends a load with a synchronisation after it, and reads the clocks.
    fn timed(
        &mut self,
        load: Load<'_>,
        sync: Sync,
        until: Until,
    ) -> io::Result<(Reading, Answers)> {
        let (tail, requests) = (self.sync(sync), load.requests);
        let load = Load {
            tail: &tail,
            requests: requests + 1,
            ..load
        };
        let before = self.processor_time();
        let own = self.own.and_then(ProcessClock::now);
        let start = Instant::now();
        let answers = self.raw.exchange(&load, until)?;
        let wall = start.elapsed();
        let own = own.zip(self.own.and_then(ProcessClock::now));
        let own = own.map(|(before, after)| after.saturating_sub(before));
        if sync == Sync::ReadBack && !self.lingers.is_zero() {
            self.wait_for_sleep();
            thread::sleep(self.lingers);
        }
        let mut reading = self.since(before, wall);
        reading.lost = LiveServer::lost(wall, reading.cpu, own);
        (reading.requests, reading.syncs) = (requests, 1);
        Ok((reading, answers))
    }

    fn set_the_scene(&mut self, workload: &Workload) -> io::Result<()> {
        if !workload.before.is_empty() {
            let until = Until::LastAnswered;
            self.timed(Load::once(&workload.before, 1), Sync::RoundTrip, until)?;
        }
        Ok(())
    }

    /// Sends a load `times` times, each after the answer to the one before.
    fn in_turns(&mut self, load: Load<'_>, answers: u64, times: u64) -> io::Result<Reading> {
        let before = self.processor_time();
        let start = Instant::now();
        for _ in 0..times {
            self.raw.exchange(&load, Until::Answered(answers))?;
        }
        let mut reading = self.since(before, start.elapsed());
        (reading.requests, reading.syncs) = (times * load.requests, times);
        Ok(reading)
    }

    fn phase(&mut self, phase: &Phase, answers: &Answers, times: u64) -> io::Result<Reading> {
        if phase.sync == Sync::Turns {
            return self.in_turns(phase.load(1), answers.answered(), times);
        }
        let until = Until::Answered(times * answers.answered() + 1);
        Ok(self.timed(phase.load(times), phase.sync, until)?.0)
    }

    /// Times the phases of a load in turn, `times` times.
    fn cycles(
        &mut self,
        workload: &Workload,
        answers: &[Answers],
        times: u64,
    ) -> io::Result<Vec<Reading>> {
        let mut readings = vec![Reading::default(); workload.phases.len()];
        for time in 0..times {
            for ((phase, answers), total) in workload.phases.iter().zip(answers).zip(&mut readings)
            {
                let reading = self.phase(phase, answers, 1)?;
                if time == 0 {
                    *total = reading
                } else {
                    total.add(&reading)
                }
            }
        }
        Ok(readings)
    }
}

impl Executor for LiveServer {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn pause(&mut self, pause: &[Pause]) {
        for part in pause {
            match part {
                Pause::Sleep(time) => thread::sleep(*time),
                Pause::Work(time) => self.busy.work(*time),
            }
        }
    }

    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<Answers>> {
        self.set_the_scene(workload)?;
        let mut all = Vec::new();
        for phase in &workload.phases {
            let (_, mut answers) = self.timed(phase.load(1), phase.sync, Until::LastAnswered)?;
            // The synchronisation's own reply is 32 bytes, and a pixel in 4 more for a GetImage.
            let own = if phase.sync == Sync::ReadBack { 36 } else { 32 };
            answers.replies = answers.replies.saturating_sub(1);
            answers.reply_bytes = answers.reply_bytes.saturating_sub(own);
            all.push(answers);
        }
        Ok(all)
    }

    fn run(
        &mut self,
        workload: &Workload,
        answers: &[Answers],
        times: u64,
    ) -> io::Result<Vec<Reading>> {
        self.set_the_scene(workload)?;
        if let ([phase], [answers]) = (workload.phases.as_slice(), answers) {
            return Ok(vec![self.phase(phase, answers, times)?]);
        }
        self.cycles(workload, answers, times)
    }

    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading> {
        if sync == Sync::Turns {
            let question = self.round_trip.clone();
            let load = Load::once(&question, 1);
            let reading = self.in_turns(load, 1, times)?;
            return Ok(Reading {
                requests: 0,
                ..reading
            });
        }
        let mut total = Reading::default();
        for time in 0..times {
            let (reading, _) = self.timed(Load::default(), sync, Until::LastAnswered)?;
            match time {
                0 => total = reading,
                _ => total.add(&reading),
            }
        }
        Ok(total)
    }

    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>> {
        let until = match batch.answers {
            0 => Until::Sent,
            some => Until::Answered(some),
        };
        let before = self.processor_time();
        self.pause(pause);
        self.raw.exchange(&batch.load(), until)?;
        thread::sleep(PAUSE);
        let time = self.since(before, Duration::ZERO).cpu;
        // Events are taken in, or the socket would fill up.
        self.timed(Load::default(), Sync::RoundTrip, Until::LastAnswered)?;
        Ok(time)
    }

    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>> {
        let before = self.processor_time();
        self.pause(pause);
        RawConnection::open(&self.target).map_err(gone)?;
        thread::sleep(PAUSE);
        Ok(self.since(before, Duration::ZERO).cpu)
    }

    fn with_what_follows(&mut self, batch: &Batch, wait: Duration) -> io::Result<Reading> {
        self.and_what_follows(batch, wait)
    }

    fn find_late_work(&mut self, drawing: &Batch) -> io::Result<Duration> {
        self.watch_after_answers(drawing)
    }

    fn alone(
        &mut self,
        request: &[u8],
        answered: bool,
        count: u32,
        place: SenderPlace,
    ) -> io::Result<Reading> {
        self.move_to(place)?;
        let load = Load::once(request, 1);
        let until = if answered {
            Until::LastAnswered
        } else {
            Until::Sent
        };
        let before = self.processor_time();
        let mut wall = Duration::ZERO;
        for _ in 0..count {
            thread::sleep(PAUSE);
            let start = Instant::now();
            self.raw.exchange(&load, until)?;
            wall += start.elapsed();
        }
        thread::sleep(PAUSE);
        let mut reading = self.since(before, wall);
        reading.requests = u64::from(count);
        self.move_to(SenderPlace::Usual)?;
        // Events that have come are taken in before anything else is measured.
        self.timed(Load::default(), Sync::RoundTrip, Until::LastAnswered)?;
        Ok(reading)
    }
}

impl Batch {
    /// The batch as a load for the connection.
    fn load(&self) -> Load<'_> {
        Load::once(&self.bytes, self.requests)
    }
}

/// A server that takes no new connection has gone, or will not answer any more.
fn gone(error: MeasureError) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, error.to_string())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
