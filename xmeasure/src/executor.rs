//! Running loads on a real server, and reading the clocks.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use x11rb_protocol::protocol::xproto::{GetImageRequest, GetInputFocusRequest, ImageFormat};

use crate::clock::ProcessClock;
use crate::plan::Pin;
use crate::process::{self, Pinned};
use crate::raw_connection::{Answers, Load, RawConnection, Until};
use crate::sampler::{Executor, Place, Reading};
use crate::wire;
use crate::workload::{Phase, Sync, Workload};

/// How long the server is given to fall asleep; one that never does is read as it is.
const SETTLE: Duration = Duration::from_millis(50);
/// The pause between two looks at whether it sleeps.
const LOOK: Duration = Duration::from_micros(20);
/// The pause between requests sent alone: the server falls asleep in it.
const PAUSE: Duration = Duration::from_micros(200);
/// A server, the connection to it, and its clocks.
pub(crate) struct LiveServer {
    raw: RawConnection,
    clock: Option<ProcessClock>,
    read_back: Vec<u8>,
    round_trip: Vec<u8>,
    pin: Option<Pin>,
    place: Place,
}

impl LiveServer {
    /// The server behind `raw`; `window` is read back from.
    pub(crate) fn new(raw: RawConnection, window: u32, pin: Option<Pin>) -> LiveServer {
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
            raw,
            read_back,
            round_trip: wire::core(GetInputFocusRequest),
            pin,
            place: Place::Usual,
        }
    }

    /// Moves the sender, where both processes are pinned and there is a place to move to.
    fn move_to(&self, place: Place) -> io::Result<()> {
        match (self.pin, place) {
            (Some(pin), Place::Usual) => Pinned::move_sender(pin.both),
            (
                Some(Pin {
                    other: Some(other), ..
                }),
                Place::Other,
            ) => Pinned::move_sender(other),
            _ => Ok(()),
        }
    }

    /// Whether the sender is apart from the server, if they are pinned and can be.
    fn apart(&self) -> Option<bool> {
        self.pin?.other.map(|_| self.place == Place::Other)
    }

    fn sync(&self, sync: Sync) -> Vec<u8> {
        match sync {
            Sync::ReadBack => self.read_back.clone(),
            Sync::RoundTrip | Sync::Turns => self.round_trip.clone(),
        }
    }

    /// The server's processor time, read once it sleeps: only then is it exact.
    fn processor_time(&self) -> Option<Duration> {
        let clock = self.clock?;
        let start = Instant::now();
        while start.elapsed() < SETTLE && !self.raw.pid.is_some_and(process::is_asleep) {
            thread::sleep(LOOK);
        }
        clock.now()
    }

    fn timed(
        &mut self,
        unit: &[u8],
        times: u64,
        requests: u64,
        sync: Sync,
        until: Until,
    ) -> io::Result<(Reading, Answers)> {
        let tail = self.sync(sync);
        let load = Load {
            unit,
            times,
            tail: &tail,
            requests: requests + 1,
        };
        let before = self.processor_time();
        let start = Instant::now();
        let answers = self.raw.exchange(&load, until)?;
        let wall = start.elapsed();
        let mut reading = self.since(before, wall);
        (reading.requests, reading.syncs) = (requests, 1);
        reading.apart = self.apart();
        Ok((reading, answers))
    }

    fn since(&self, before: Option<Duration>, wall: Duration) -> Reading {
        let cpu = before.zip(self.processor_time());
        let cpu = cpu.map(|(before, after)| after.saturating_sub(before));
        Reading {
            cpu: cpu.map(micros),
            wall: micros(wall),
            ..Reading::default()
        }
    }

    fn set_the_scene(&mut self, workload: &Workload) -> io::Result<()> {
        if !workload.before.is_empty() {
            let until = Until::LastAnswered;
            self.timed(&workload.before, 1, 1, Sync::RoundTrip, until)?;
        }
        Ok(())
    }

    /// The processor time that `requests` requests cost a server that slept for `pause`, in
    /// microseconds; `None` where it cannot be read.
    pub(crate) fn after_pause(
        &mut self,
        bytes: &[u8],
        requests: u64,
        answers: u64,
        pause: Duration,
    ) -> io::Result<Option<f64>> {
        let load = Load {
            unit: bytes,
            times: 1,
            tail: &[],
            requests,
        };
        let until = match answers {
            0 => Until::Sent,
            some => Until::Answered(some),
        };
        let before = self.processor_time();
        thread::sleep(pause);
        self.raw.exchange(&load, until)?;
        thread::sleep(PAUSE);
        let time = self.since(before, Duration::ZERO).cpu;
        // Events are taken in, or the socket would fill up.
        self.timed(&[], 0, 0, Sync::RoundTrip, Until::LastAnswered)?;
        Ok(time)
    }

    /// A unit so many times, each sent as soon as the one before is answered.
    fn turns(
        &mut self,
        unit: &[u8],
        requests: u64,
        answers: u64,
        times: u64,
    ) -> io::Result<Reading> {
        let load = Load {
            unit,
            times: 1,
            tail: &[],
            requests,
        };
        let before = self.processor_time();
        let start = Instant::now();
        for _ in 0..times {
            self.raw.exchange(&load, Until::Answered(answers))?;
        }
        let mut reading = self.since(before, start.elapsed());
        (reading.requests, reading.syncs) = (times * requests, times);
        reading.apart = self.apart();
        Ok(reading)
    }

    /// The processor time that `what` costs a server that slept for `pause`, in microseconds;
    /// `None` where it cannot be read.
    pub(crate) fn during<E>(
        &self,
        pause: Duration,
        what: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<f64>, E> {
        let before = self.processor_time();
        thread::sleep(pause);
        what()?;
        thread::sleep(PAUSE);
        Ok(self.since(before, Duration::ZERO).cpu)
    }

    fn phase(&mut self, phase: &Phase, answers: &Answers, times: u64) -> io::Result<Reading> {
        if phase.sync == Sync::Turns {
            let requests = u64::from(phase.requests);
            return self.turns(&phase.unit, requests, answers.answered(), times);
        }
        let requests = times * u64::from(phase.requests);
        let until = Until::Answered(times * answers.answered() + 1);
        Ok(self
            .timed(&phase.unit, times, requests, phase.sync, until)?
            .0)
    }
}

impl Executor for LiveServer {
    fn place(&mut self, place: Place) -> io::Result<()> {
        self.move_to(place)?;
        self.place = place;
        Ok(())
    }

    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<Answers>> {
        self.set_the_scene(workload)?;
        let mut all = Vec::new();
        for phase in &workload.phases {
            let requests = u64::from(phase.requests);
            let (_, mut answers) =
                self.timed(&phase.unit, 1, requests, phase.sync, Until::LastAnswered)?;
            // The synchronisation's own reply is 32 bytes, and a pixel in 4 more where it reads back.
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

    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading> {
        if sync == Sync::Turns {
            let question = self.round_trip.clone();
            let reading = self.turns(&question, 1, 1, times)?;
            return Ok(Reading {
                requests: 0,
                ..reading
            });
        }
        let mut total = self.timed(&[], 0, 0, sync, Until::LastAnswered)?.0;
        for _ in 1..times {
            let (reading, _) = self.timed(&[], 0, 0, sync, Until::LastAnswered)?;
            total.add(&reading);
        }
        Ok(total)
    }

    fn alone(
        &mut self,
        request: &[u8],
        answered: bool,
        count: u32,
        place: Place,
    ) -> io::Result<Reading> {
        self.move_to(place)?;
        let load = Load {
            unit: request,
            times: 1,
            tail: &[],
            requests: 1,
        };
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
        self.move_to(self.place)?;
        // Events that came meanwhile are taken in before anything else is measured.
        self.timed(&[], 0, 0, Sync::RoundTrip, Until::LastAnswered)?;
        Ok(reading)
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
