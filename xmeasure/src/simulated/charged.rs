//! A server that charges what the analysis would: by `server-model`, from the same parameters. What a
//! probe finds of it is what prices recordings.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{ServerParameters, Substitutions};
use x11prof_protocol::{Message, Side};
use x11prof_server_model::{Blocking, Charge, ClientId, ServerModel, Stretch, Time, Traffic};

use super::server::Simulated;
use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::reading::{Place, Reading};
use crate::server::client::Client;
use crate::server::connection::Answers;
use crate::server::tracker::Tracker;
use crate::workloads::workload::{Sync, Workload};

/// The client that measures, and one that comes and goes.
const MEASURING: ClientId = ClientId(1);
const PASSING: ClientId = ClientId(2);

/// The model, fed with the bytes that are sent and the least that they are answered with. What is
/// no batch after a pause goes to the `streams` of the simple server.
pub(crate) struct Charged {
    streams: Simulated,
    model: ServerModel,
    tracker: Tracker,
    /// What a client's setup is, both ways.
    setup: (Vec<u8>, Vec<u8>),
    /// The window whose events the client gets.
    notified: u32,
    now: Duration,
}

impl Charged {
    /// A server that costs what `truth` says; `tracker` and `again` follow its session with `client`.
    pub(crate) fn new(
        truth: &ServerParameters,
        client: &Client,
        tracker: Tracker,
        again: Tracker,
    ) -> Charged {
        let rules = Substitutions::default();
        Charged {
            streams: Simulated::new(truth, client, tracker),
            model: ServerModel::new(truth, &rules, Blocking::ByType),
            tracker: again,
            setup: client.raw.setup_bytes.clone(),
            notified: client.notified,
            now: Duration::from_secs(1),
        }
    }

    fn time(&self) -> Time {
        Time::from_nanos(self.now.as_nanos() as u64)
    }

    /// The server's time for these bytes and their answers, in microseconds.
    fn charge(&mut self, bytes: &[u8]) -> f64 {
        let (time, mut total) = (self.time(), 0.0);
        let mut add = |charge: &Charge<'_>| total += server_time(charge);
        let Charged { model, tracker, .. } = self;
        model.batch(MEASURING, time, &mut add);
        let mut answers = Vec::new();
        tracker.each(
            Side::Client,
            bytes,
            |message, operation, extensions, session| {
                if let Message::Request(request) = message {
                    let sequence = request.sequence.0 as u16;
                    let window = request.bytes.get(4..8);
                    let is_notified = window == Some(&self.notified.to_ne_bytes()[..]);
                    if request.has_reply {
                        answers.push(answer(1, sequence));
                    } else if request.name.as_str() == "ChangeProperty" && is_notified {
                        answers.push(answer(28, sequence));
                    }
                }
                let traffic = Traffic {
                    client: MEASURING,
                    time,
                    message,
                    operation: operation.as_ref(),
                    changed: None,
                    extensions,
                    session,
                };
                model.message(&traffic, &mut add);
            },
        );
        if !answers.is_empty() {
            model.wrote(MEASURING, time);
        }
        tracker.each(
            Side::Server,
            &answers.concat(),
            |message, _, extensions, session| {
                let traffic = Traffic {
                    client: MEASURING,
                    time,
                    message,
                    operation: None,
                    changed: None,
                    extensions,
                    session,
                };
                model.message(&traffic, &mut add);
            },
        );
        self.spend(total);
        total
    }

    /// The same of a client that connects and goes.
    fn charge_connection(&mut self) -> f64 {
        let (time, mut total) = (self.time(), 0.0);
        let mut add = |charge: &Charge<'_>| total += server_time(charge);
        let Charged { model, setup, .. } = self;
        model.batch(PASSING, time, &mut add);
        let mut tracker = Tracker::new();
        for (side, bytes) in [(Side::Client, &setup.0), (Side::Server, &setup.1)] {
            tracker.each(side, bytes, |message, _, extensions, session| {
                let traffic = Traffic {
                    client: PASSING,
                    time,
                    message,
                    operation: None,
                    changed: None,
                    extensions,
                    session,
                };
                model.message(&traffic, &mut add);
            });
        }
        model.closed(PASSING);
        self.spend(total);
        total
    }

    /// The sender runs on the server's processor.
    fn ran(&mut self, time: Duration) {
        let from = self.time();
        self.now += time;
        self.model.another_ran(Stretch {
            from,
            to: self.time(),
            waits: true,
        });
    }

    fn spend(&mut self, micros: f64) {
        self.now += Duration::from_secs_f64(micros / 1e6);
    }
}

/// The least reply or event to the request of that number.
fn answer(kind: u8, sequence: u16) -> Vec<u8> {
    let [low, high] = sequence.to_ne_bytes();
    let mut bytes = vec![kind, 0, low, high];
    bytes.resize(32, 0);
    bytes
}

fn server_time(charge: &Charge<'_>) -> f64 {
    match charge {
        Charge::Request { price, .. } => price.server.time.0,
        Charge::Transport { server, .. } => server.time.0,
        // Whose a wakeup was, and corrections.
        Charge::Failed { .. } | Charge::Pipelined { .. } | Charge::Blame { .. } => 0.0,
    }
}

impl Executor for Charged {
    fn elapsed(&self) -> Duration {
        self.now
    }

    fn pause(&mut self, pause: &[Pause]) {
        for part in pause {
            match part {
                Pause::Sleep(time) => self.now += *time,
                Pause::Work(time) if time.is_zero() => {}
                Pause::Work(time) => self.ran(*time),
            }
        }
    }

    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>> {
        self.pause(pause);
        Ok(Some(self.charge(&batch.bytes)))
    }

    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>> {
        self.pause(pause);
        Ok(Some(self.charge_connection()))
    }

    fn place(&mut self, place: Place) -> io::Result<()> {
        self.streams.place(place)
    }

    fn rehearse(&mut self, load: &Workload) -> io::Result<Vec<Answers>> {
        self.streams.rehearse(load)
    }

    fn run(&mut self, load: &Workload, all: &[Answers], times: u64) -> io::Result<Vec<Reading>> {
        self.streams.run(load, all, times)
    }

    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading> {
        self.streams.synchronise(sync, times)
    }

    fn alone(
        &mut self,
        bytes: &[u8],
        answered: bool,
        count: u32,
        place: Place,
    ) -> io::Result<Reading> {
        self.streams.alone(bytes, answered, count, place)
    }

    fn with_what_follows(&mut self, batch: &Batch, wait: Duration) -> io::Result<Reading> {
        self.streams.with_what_follows(batch, wait)
    }

    fn until_answered(&mut self, batch: &Batch, wait: Duration) -> io::Result<Reading> {
        self.streams.until_answered(batch, wait)
    }

    fn stream(&mut self, batch: &Batch, times: u64) -> io::Result<Reading> {
        self.streams.stream(batch, times)
    }

    fn share(&mut self, batch: &Batch) -> io::Result<()> {
        self.streams.share(batch)
    }

    fn find_late_work(&mut self, drawing: &Batch) -> io::Result<Duration> {
        self.streams.find_late_work(drawing)
    }
}
