//! The simulated server. It charges the costs of a parameter file.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use x11prof_cost_model::{CostTable, Measured, ServerParameters, Substitutions, TransportCosts};

use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::handlers::Handled;
use crate::sampling::reading::Reading;
use crate::server::client::Client;
use crate::server::exchange::ReceivedMessages;
use crate::server::tracker::Tracker;
use crate::workloads::workload::{Phase, Sync, Workload};

/// Bytes of a reply without data.
const HEAD: u64 = 32;

/// A simulated server with known costs, in microseconds.
pub(crate) struct Simulated {
    pub(crate) truth: ServerParameters,
    costs: CostTable,
    tracker: Tracker,
    /// A cache of the contents of batches by their bytes, because batches repeat.
    known: HashMap<Vec<u8>, Content>,
    now: Duration,
    /// The window with the long property, and the window whose property changes this client receives.
    window: u32,
    notified: u32,
    pub(crate) quirks: Quirks,
    /// The number of loads that have run on the server.
    pub(crate) batches: u64,
}

/// Properties that make a server harder to measure. Requests are identified by their opcodes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Quirks {
    /// The number of loads after which the server dies; `None` for never.
    pub(crate) dies_after: Option<u64>,
    /// The opcode of the request to which the server replies with errors; `None` for none.
    pub(crate) refuses: Option<u8>,
}

/// The contents of a batch: numbers of messages, and the cost in a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    requests: u64,
    time: f64,
    replies: u64,
    reply_bytes: u64,
    events: u64,
    megapixels: f64,
}

impl Simulated {
    /// Creates a server with the costs `truth`; `tracker` tracks its session with `client`.
    pub(crate) fn new(truth: &ServerParameters, client: &Client, tracker: Tracker) -> Simulated {
        Simulated {
            costs: CostTable::new(truth, &Substitutions::default()),
            truth: truth.clone(),
            tracker,
            known: HashMap::new(),
            now: Duration::ZERO,
            window: client.window,
            notified: client.notified,
            quirks: Quirks::default(),
            batches: 0,
        }
    }

    fn transport(&self) -> &TransportCosts {
        self.truth.transport.as_ref().unwrap()
    }

    /// The messages that a request starting with `bytes` causes: replies, their bytes, events.
    fn answers(&self, bytes: &[u8]) -> (u64, u64, u64) {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        match bytes[0] {
            // ChangeProperty.
            18 => (0, 0, u64::from(word(4) == self.notified)),
            // GetProperty: its long length is in words.
            20 if word(4) == self.window => (1, HEAD + u64::from(word(20)) * 4, 0),
            20 => (1, HEAD + 4, 0),
            // GetImage of one pixel.
            73 => (1, HEAD + 4, 0),
            3 | 14 | 15 | 16 | 38 | 43 | 47 | 49 | 101 | 119 => (1, HEAD, 0),
            _ => (0, 0, 0),
        }
    }

    fn content(&mut self, bytes: &[u8]) -> Content {
        if let Some(known) = self.known.get(bytes) {
            return known.clone();
        }
        let mut content = Content::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let words = u16::from_ne_bytes([rest[2], rest[3]]);
            let (replies, reply_bytes, events) = self.answers(rest);
            content.requests += 1;
            content.replies += replies;
            content.reply_bytes += reply_bytes;
            content.events += events;
            rest = &rest[usize::from(words) * 4..];
        }
        for operation in self.tracker.sent(bytes) {
            content.time += self.costs.cost(&operation).server.time.0;
            if operation.request.as_str() == "PolyFillRectangle" {
                content.megapixels += operation.op_size / 1e6;
            }
        }
        let transport = self.transport();
        content.time += bytes.len() as f64 * cpu(transport.byte_read)
            + content.replies as f64 * cpu(transport.reply)
            + content.reply_bytes as f64 * cpu(transport.byte_written.unwrap())
            + content.events as f64 * cpu(transport.event);
        self.known.insert(bytes.to_vec(), content.clone());
        content
    }

    /// The costs of a wakeup, of a new connection and of a megapixel after these pauses, in microseconds.
    pub(super) fn woken(&self, pause: &[Pause]) -> (f64, f64, f64) {
        let slept: Duration = pause.iter().map(|part| part.lasts()).sum();
        let micros = slept.as_secs_f64() * 1e6;
        let sleeps = &self.transport().after_sleep;
        let point = sleeps.iter().rfind(|point| point.asleep_us.0 <= micros);
        let point = point.or(sleeps.first()).unwrap();
        (
            point.wakeup_us.0,
            point.connection_us.0,
            point.megapixel_us.unwrap_or_default().0,
        )
    }

    /// The time of the synchronisation at the end of a batch; for turns, of each turn.
    fn sync(&self, sync: Sync) -> f64 {
        match sync {
            Sync::Turns => self.transport().after_sleep[0].wakeup_us.0,
            Sync::RoundTrip | Sync::ReadBack => cpu(self.transport().wakeup) + 1.0,
        }
    }

    /// Advances the server's clock by `time` microseconds and returns a reading.
    fn reading(&mut self, time: f64, requests: u64, syncs: u64) -> Reading {
        self.now += Duration::from_secs_f64(time / 1e6);
        Reading {
            cpu: Some(time),
            wall: time,
            requests,
            syncs,
            sleeps: Some(syncs),
        }
    }

    /// Counts a load; an error if the server has died.
    fn run_once(&mut self) -> io::Result<()> {
        self.batches += 1;
        match self.quirks.dies_after {
            Some(count) if self.batches > count => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(()),
        }
    }

    fn phase(&mut self, phase: &Phase, times: u64) -> io::Result<Reading> {
        let content = self.content(&phase.unit);
        let syncs = if phase.sync == Sync::Turns { times } else { 1 };
        let time = content.time * times as f64 + self.sync(phase.sync) * syncs as f64;
        let requests = content.requests * times;
        self.run_once()?;
        Ok(self.reading(time, requests, syncs))
    }
}

fn cpu(measured: Measured) -> f64 {
    measured.cpu_us.unwrap().0
}

impl Executor for Simulated {
    fn elapsed(&self) -> Duration {
        self.now
    }

    fn pause(&mut self, pause: &[Pause]) {
        self.now += pause.iter().map(|part| part.lasts()).sum::<Duration>();
    }

    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<ReceivedMessages>> {
        let phases = workload.phases.iter().map(|phase| {
            let content = self.content(&phase.unit);
            ReceivedMessages {
                replies: content.replies,
                reply_bytes: content.reply_bytes,
                events: content.events,
                first_error: self
                    .quirks
                    .refuses
                    .filter(|refused| *refused == phase.unit[0])
                    .map(|refused| (1, refused, 0)),
                ..ReceivedMessages::default()
            }
        });
        Ok(phases.collect())
    }

    fn run(
        &mut self,
        workload: &Workload,
        _: &[ReceivedMessages],
        times: u64,
    ) -> io::Result<Vec<Reading>> {
        let [phase] = workload.phases.as_slice() else {
            let mut readings = Vec::new();
            for phase in &workload.phases {
                let mut total = self.phase(phase, 1)?;
                for _ in 1..times {
                    total.add(&self.phase(phase, 1)?);
                }
                readings.push(total);
            }
            return Ok(readings);
        };
        Ok(vec![self.phase(phase, times)?])
    }

    /// Returns the times of the handlers in a stream: all of the server's time.
    fn handled(
        &mut self,
        workload: &Workload,
        _: &[ReceivedMessages],
    ) -> io::Result<Option<Vec<Handled>>> {
        let mut all = Vec::new();
        for phase in &workload.phases {
            let content = self.content(&phase.unit);
            let each = content.time / content.requests as f64;
            all.push(Handled {
                warm: vec![each; phase.kinds as usize],
                cold: each,
            });
        }
        self.run_once()?;
        Ok(Some(all))
    }

    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading> {
        let mut each = self.sync(sync);
        let mut slept = 0.0;
        if sync == Sync::Turns {
            each += self.content(&crate::server::wire::input_focus()).time;
            slept = self.transport().after_sleep[0].asleep_us.0;
        }
        let reading = self.reading(each * times as f64, 0, times);
        Ok(Reading {
            wall: reading.wall + slept * times as f64,
            ..reading
        })
    }

    fn alone(&mut self, bytes: &[u8], _: bool, count: u32) -> io::Result<Reading> {
        let content = self.content(bytes);
        let each = cpu(self.transport().wakeup) + content.time;
        Ok(self.reading(each * f64::from(count), u64::from(count), 0))
    }

    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>> {
        self.pause(pause);
        let content = self.content(&batch.bytes);
        let (wakeup, _, megapixel) = self.woken(pause);
        let time = wakeup + content.time + megapixel * content.megapixels;
        Ok(self.reading(time, content.requests, 0).cpu)
    }

    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>> {
        self.pause(pause);
        let (wakeup, connection, _) = self.woken(pause);
        Ok(self.reading(wakeup + connection, 0, 0).cpu)
    }
}
