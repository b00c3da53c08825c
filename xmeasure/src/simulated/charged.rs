//! A server that charges what the analysis would: `server-model`'s, from the same parameters. What a
//! probe finds of it is what prices recordings.

use std::io;
use std::time::Duration;

use x11prof_cost_model::{Micros, ServerParameters};
use x11prof_server_model::ClientId;
use x11prof_server_model::simulated::{Answer, Served, SimulatedServer};

use super::peer::logged;
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

/// The model's server for batches after pauses. Long streams go to the simple one.
pub(crate) struct Charged {
    streams: Simulated,
    server: SimulatedServer,
    /// What a client's setup is, both ways.
    setup: (Vec<u8>, Vec<u8>),
    /// The window whose events the client gets.
    notified: u32,
}

impl Charged {
    /// A server that costs what `truth` says, a client of it, and what `prepare` gives.
    pub(crate) fn connected<T>(
        truth: &ServerParameters,
        prepare: impl FnOnce(&mut Client) -> T,
    ) -> (Charged, Client, T) {
        let (client, log, prepared) = logged(prepare);
        let setup = client.raw.setup_bytes.clone();
        let (mut server, mut tracker) = (SimulatedServer::new(truth), Tracker::new());
        server.connect(MEASURING, &setup.0, &setup.1);
        for (at, (sent, bytes)) in log.iter().enumerate() {
            match sent {
                true => drop(tracker.sent(bytes)),
                false => tracker.received(bytes),
            }
            // The setup is the first of it.
            if *sent && at > 0 {
                server.send(MEASURING, bytes);
            }
        }
        let charged = Charged {
            streams: Simulated::new(truth, &client, tracker),
            server,
            setup,
            notified: client.notified,
        };
        (charged, client, prepared)
    }

    /// A batch, and how it is answered.
    fn send(&mut self, batch: &Batch) -> Served {
        let notified = self.notified.to_ne_bytes();
        self.server
            .send_answered(MEASURING, &batch.bytes, |request| {
                let watched = request.name.as_str() == "ChangeProperty"
                    && request.bytes.get(4..8) == Some(&notified[..]);
                Answer {
                    events: u32::from(watched),
                    ..Answer::default()
                }
            })
    }
}

fn micros(time: Duration) -> Micros {
    Micros(time.as_secs_f64() * 1e6)
}

impl Executor for Charged {
    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.server.now().as_nanos())
    }

    fn pause(&mut self, pause: &[Pause]) {
        for part in pause {
            match part {
                Pause::Sleep(time) => {
                    self.server.wait(micros(*time));
                }
                Pause::Work(time) => self.server.another_works(micros(*time)),
            }
        }
    }

    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>> {
        self.pause(pause);
        Ok(Some(self.send(batch).cpu.0))
    }

    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>> {
        self.pause(pause);
        let served = self.server.connect(PASSING, &self.setup.0, &self.setup.1);
        self.server.disconnect(PASSING);
        Ok(Some(served.cpu.0))
    }

    fn with_what_follows(&mut self, batch: &Batch, wait: Duration) -> io::Result<Reading> {
        let mut served = self.send(batch);
        served.add(&self.server.wait(micros(wait)));
        Ok(Reading {
            cpu: Some(served.cpu.0),
            requests: batch.requests,
            ..Reading::default()
        })
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
