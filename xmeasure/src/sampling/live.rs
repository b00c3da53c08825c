//! Runs loads on a real server, and reads its clocks.

mod clocks;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use x11prof_proxy::HandlerTimes;
use x11prof_trace::HandlerTime;
use x11rb_protocol::protocol::xproto::{GetImageRequest, GetInputFocusRequest, ImageFormat};

use crate::error::MeasureError;
use crate::sampling::batch::Batch;
use crate::sampling::busy_client::BusyClient;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::handlers::{self, Handled};
use crate::sampling::reading::Reading;
use crate::server::connection::RawConnection;
use crate::server::exchange::{Load, ReceivedMessages, Until};
use crate::server::target::Target;
use crate::server::wire;
use crate::workloads::workload::{Phase, Sync, Workload};

/// The pause between individual requests, in which the server falls asleep.
const PAUSE: Duration = Duration::from_micros(200);
/// Time limit for the arrival of the times of completed handlers.
const SETTLE: Duration = Duration::from_millis(50);
/// The number of requests in one reading of handler times, if each request waits for its reply.
const HANDLED_TURNS: usize = 16;

/// A real server: the connection to it, and its clocks.
pub(crate) struct LiveServer {
    raw: RawConnection,
    read_back: Vec<u8>,
    round_trip: Vec<u8>,
    /// The times of the server's handlers; paused unless they are being read.
    handlers: Option<HandlerTimes>,
    /// The client that works in the pauses.
    busy: BusyClient,
    target: Target,
    start: Instant,
}

impl LiveServer {
    /// Creates the access to the server `target` over the connection `raw`. `window` is the window from which pixels
    /// are read back.
    pub(crate) fn new(
        raw: RawConnection,
        window: u32,
        target: &Target,
        handlers: Option<HandlerTimes>,
    ) -> io::Result<LiveServer> {
        let read_back = wire::core(GetImageRequest {
            format: ImageFormat::Z_PIXMAP,
            drawable: window,
            x: 0,
            y: 0,
            width: 1,
            height: 1,
            plane_mask: !0,
        });
        let mut server = LiveServer {
            busy: BusyClient::new(),
            target: target.clone(),
            start: Instant::now(),
            raw,
            read_back,
            round_trip: wire::core(GetInputFocusRequest),
            handlers,
        };
        server.pause_handlers(true)?;
        Ok(server)
    }

    fn pause_handlers(&mut self, paused: bool) -> io::Result<()> {
        let handlers = self.handlers.as_mut();
        handlers.map_or(Ok(()), |handlers| handlers.pause(paused))
    }

    fn drain(&mut self, times: &mut Vec<HandlerTime>) -> io::Result<()> {
        let handlers = self.handlers.as_mut();
        // If a time is lost, the calibration repeats the request.
        handlers.map_or(Ok(()), |handlers| handlers.drain(times).map(drop))
    }

    /// Returns the handler times of one unit of a phase, or of `HANDLED_TURNS` requests if each waits for its reply.
    /// `None` if the times do not arrive.
    fn handled_phase(
        &mut self,
        phase: &Phase,
        answers: &ReceivedMessages,
    ) -> io::Result<Option<Handled>> {
        let mut times = Vec::new();
        self.drain(&mut times)?;
        times.clear();
        let before = self.processor_time();
        let first = self.raw.last_sequence().wrapping_add(1);
        let (load, answered) = (phase.load(1), answers.answered());
        let repeated = match phase.sync {
            Sync::Turns => HANDLED_TURNS,
            Sync::ReadBack | Sync::RoundTrip => 1,
        };
        for _ in 1..repeated {
            self.raw.exchange(&load, Until::Answered(answered))?;
        }
        let tail = self.sync(phase.sync);
        let last = Load {
            tail: &tail,
            requests: load.requests + 1,
            ..load
        };
        self.raw.exchange(&last, Until::LastAnswered)?;
        let requests = repeated * load.requests as usize;
        let cpu = self.since(before, Duration::ZERO).cpu;
        let (client, last) = (self.raw.client(), self.raw.last_sequence());
        let start = Instant::now();
        while !handlers::contains(&times, client, last) {
            if start.elapsed() > SETTLE {
                return Ok(None);
            }
            self.drain(&mut times)?;
        }
        let each = handlers::by_request(&times, client, first, requests);
        let mut handled = Handled::new(&each, phase.kinds.max(1) as usize);
        // The server's CPU time is an upper bound for its handlers' times; a handler with a longer time was
        // interrupted.
        if let (Some(cpu), Some(handled), 1) = (cpu, &mut handled, phase.kinds) {
            let most = cpu / requests.max(1) as f64;
            handled
                .warm
                .iter_mut()
                .for_each(|warm| *warm = warm.min(most));
        }
        Ok(handled)
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
    ) -> io::Result<(Reading, ReceivedMessages)> {
        let (tail, requests) = (self.sync(sync), load.requests);
        let load = Load {
            tail: &tail,
            requests: requests + 1,
            ..load
        };
        let before = self.processor_time();
        let start = Instant::now();
        let answers = self.raw.exchange(&load, until)?;
        let wall = start.elapsed();
        let mut reading = self.since(before, wall);
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

    /// Sends a load `times` times, each after the reply to the previous one.
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

    fn phase(
        &mut self,
        phase: &Phase,
        answers: &ReceivedMessages,
        times: u64,
    ) -> io::Result<Reading> {
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
        answers: &[ReceivedMessages],
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

impl Drop for LiveServer {
    fn drop(&mut self) {
        // If the server has exited, there is no timer to resume.
        let _ = self.pause_handlers(false);
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

    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<ReceivedMessages>> {
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
        answers: &[ReceivedMessages],
        times: u64,
    ) -> io::Result<Vec<Reading>> {
        self.set_the_scene(workload)?;
        if let ([phase], [answers]) = (workload.phases.as_slice(), answers) {
            return Ok(vec![self.phase(phase, answers, times)?]);
        }
        self.cycles(workload, answers, times)
    }

    fn handled(
        &mut self,
        workload: &Workload,
        answers: &[ReceivedMessages],
    ) -> io::Result<Option<Vec<Handled>>> {
        if self.handlers.is_none() {
            return Ok(None);
        }
        self.set_the_scene(workload)?;
        self.pause_handlers(false)?;
        let phases = workload.phases.iter().zip(answers);
        let handled = phases.map(|(phase, answers)| self.handled_phase(phase, answers));
        let handled: io::Result<Option<Vec<Handled>>> = handled.collect();
        self.pause_handlers(true)?;
        handled
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
        // Read the events, or the socket would fill up.
        self.timed(Load::default(), Sync::RoundTrip, Until::LastAnswered)?;
        Ok(time)
    }

    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>> {
        let before = self.processor_time();
        self.pause(pause);
        RawConnection::open(self.target.link(), &self.raw.stop).map_err(gone)?;
        thread::sleep(PAUSE);
        Ok(self.since(before, Duration::ZERO).cpu)
    }

    fn alone(&mut self, request: &[u8], answered: bool, count: u32) -> io::Result<Reading> {
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
        // Read pending events before the next measurement.
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

/// An error for a server that accepts no new connection: it has exited or hangs.
fn gone(error: MeasureError) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, error.to_string())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
