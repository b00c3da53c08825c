//! A simulated server whose times come from `server-model`. A measurement on it must result in the costs that a report
//! charges, so calibration and model must agree on the meaning of each figure of a parameter file.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use x11prof_cost_model::{Measured, Micros, ServerParameters};
use x11prof_protocol::Request;
use x11prof_server_model::simulated::{Answer, Served, SimulatedServer};
use x11prof_session::ClientId;

use super::peer::{LoggedMessage, connected_with};
use crate::error::MeasureError;
use crate::plan::{Plan, Progress};
use crate::probes::requests::RequestCostsProbe;
use crate::probes::wakeups::Wakeups;
use crate::probes::{Probe, Run};
use crate::progress::Meter;
use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::reading::Reading;
use crate::server::client::Client;
use crate::server::exchange::ReceivedMessages;
use crate::server::wire;
use crate::workloads::workload::{Phase, Sync, Workload};

/// The measuring client, and a client that connects and disconnects.
const CLIENT: ClientId = ClientId(1);
const OTHER: ClientId = ClientId(2);
/// The server's sleep before each load.
const SLEEP: Micros = Micros(200.0);
/// The time in which a client reacts immediately.
const TURN: Micros = Micros(20.0);

/// A server whose times come from `server-model`.
struct Modelled {
    server: SimulatedServer,
    setup: (Vec<u8>, Vec<u8>),
    window: u32,
    notified: u32,
    /// The times by a unit's bytes: the first time, and each later time.
    units: HashMap<Vec<u8>, (Served, Served)>,
}

impl Modelled {
    /// A server with the costs `truth`, after all bytes that the client `sent`.
    fn new(truth: &ServerParameters, client: &Client, sent: &[LoggedMessage]) -> Modelled {
        let mut modelled = Modelled {
            server: SimulatedServer::new(truth),
            setup: client.raw.setup_bytes.clone(),
            window: client.window,
            notified: client.notified,
            units: HashMap::new(),
        };
        let (request, setup) = &modelled.setup;
        modelled.server.connect(CLIENT, request, setup);
        for sent in sent {
            if let LoggedMessage::Request(bytes) = sent {
                modelled.send(bytes);
            }
        }
        modelled
    }

    fn send(&mut self, bytes: &[u8]) -> Served {
        let (window, notified) = (self.window, self.notified);
        self.server
            .send_answered(CLIENT, bytes, |request| answer(request, window, notified))
    }

    fn reading(&self, served: &Served, requests: u64, syncs: u64) -> Reading {
        Reading {
            cpu: Some(served.cpu.0),
            wall: served.cpu.0,
            requests,
            syncs,
            sleeps: Some(served.wakeups),
        }
    }

    /// Sends a unit `times` times, then a synchronisation. Every repetition after the first takes the same time, so
    /// the unit is simulated at most twice.
    fn stream_of(&mut self, unit: &[u8], times: u64) -> Served {
        let (mut served, more) = match self.units.get(unit) {
            Some(known) => *known,
            None => {
                let sync = wire::input_focus();
                // The code of the unit and of the synchronisation is in the caches then.
                self.send(&[unit, &sync].concat());
                let [once, twice] = [1, 2].map(|times| {
                    self.server.wait(SLEEP);
                    self.send(&[unit.repeat(times), sync.clone()].concat())
                });
                let more = Served {
                    cpu: twice.cpu - once.cpu,
                    replies: twice.replies - once.replies,
                    reply_bytes: twice.reply_bytes - once.reply_bytes,
                    events: twice.events - once.events,
                    ..Served::default()
                };
                self.units.insert(unit.to_vec(), (once, more));
                (once, more)
            }
        };
        served.cpu += more.cpu * (times - 1) as f64;
        self.server.wait(served.cpu + SLEEP);
        served
    }

    fn phase(&mut self, phase: &Phase, times: u64) -> Reading {
        let requests = u64::from(phase.requests) * times;
        if phase.sync == Sync::Turns {
            let mut all = Served::default();
            for _ in 0..times {
                self.server.wait(TURN);
                all.add(&self.send(&phase.unit));
            }
            return self.reading(&all, requests, times);
        }
        let served = self.stream_of(&phase.unit, times);
        self.reading(&served, requests, 1)
    }
}

/// The reply to a request of the measuring client.
fn answer(request: &Request<'_>, window: u32, notified: u32) -> Answer {
    let word = |at: usize| request.order.u32(request.bytes, at).unwrap_or(0);
    match request.name.as_str() {
        "ChangeProperty" => Answer {
            events: u32::from(word(4) == notified),
            ..Answer::default()
        },
        // The long length is in words.
        "GetProperty" if word(4) == window => Answer {
            reply_data: word(20) * 4,
            ..Answer::default()
        },
        "GetProperty" | "GetImage" => Answer {
            reply_data: 4,
            ..Answer::default()
        },
        _ => Answer::default(),
    }
}

impl Executor for Modelled {
    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.server.now().as_nanos())
    }

    fn pause(&mut self, pause: &[Pause]) {
        for part in pause {
            self.server.wait(micros(part.lasts()));
        }
    }

    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<ReceivedMessages>> {
        let phases = workload.phases.iter().map(|phase| {
            let served = self.send(&phase.unit);
            ReceivedMessages {
                replies: served.replies,
                reply_bytes: served.reply_bytes,
                events: served.events,
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
        let phases = workload.phases.iter();
        Ok(phases.map(|phase| self.phase(phase, times)).collect())
    }

    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading> {
        let question = wire::input_focus();
        let turns = sync == Sync::Turns;
        let wait = if turns { TURN } else { SLEEP };
        let mut all = Served::default();
        for _ in 0..times {
            self.server.wait(wait);
            all.add(&self.send(&question));
        }
        let reading = self.reading(&all, 0, times);
        Ok(Reading {
            wall: reading.wall + if turns { wait.0 * times as f64 } else { 0.0 },
            ..reading
        })
    }

    fn alone(&mut self, bytes: &[u8], _: bool, count: u32) -> io::Result<Reading> {
        let mut all = Served::default();
        for _ in 0..count {
            self.server.wait(SLEEP);
            all.add(&self.send(bytes));
        }
        Ok(self.reading(&all, u64::from(count), 0))
    }

    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>> {
        self.pause(pause);
        Ok(Some(self.send(&batch.bytes).cpu.0))
    }

    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>> {
        self.pause(pause);
        let served = self.server.connect(OTHER, &self.setup.0, &self.setup.1);
        self.server.disconnect(OTHER);
        Ok(Some(served.cpu.0))
    }
}

fn micros(time: Duration) -> Micros {
    Micros(time.as_secs_f64() * 1e6)
}

/// The parameters that the probe `P` recovers from a modelled server with the costs `truth`.
fn calibrated<P: Probe>(truth: &ServerParameters, plan: &Plan) -> ServerParameters {
    let prepare = |client: &mut Client| P::prepare(client, plan);
    let mut parameters = ServerParameters {
        transport: truth.transport.clone(),
        ..ServerParameters::default()
    };
    let (client, sent, prepared) = connected_with(prepare);
    let mut server = Modelled::new(truth, &client, &sent);
    let mut ignored = |_: Progress<'_>| {};
    let mut run = Run {
        server: &mut server,
        plan: plan.clone(),
        tracker: client.tracker,
        progress: Meter::new(Vec::new(), &mut ignored),
    };
    let measured = prepared.and_then(|mut probe: P| {
        probe.begin(&mut run)?;
        probe.measure(&mut run)?;
        probe.fit(&run.plan, &mut run.tracker, &mut parameters);
        Ok::<(), MeasureError>(())
    });
    measured.unwrap();
    parameters
}

fn close(what: &str, found: Micros, expected: Micros, tolerance: f64) {
    let off = (found.0 - expected.0).abs();
    let (found, expected) = (found.0, expected.0);
    assert!(off <= tolerance, "{what}: {found} instead of {expected}");
}

/// A quick calibration of these requests.
fn quick(names: &[&str]) -> Plan {
    Plan {
        quick: true,
        only: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Plan::default()
    }
}

#[test]
fn model_wakeup_costs_are_recovered() {
    let truth = super::truth();
    let found = calibrated::<Wakeups>(&truth, &quick(&[]));
    let (found, truth) = (found.transport.unwrap(), truth.transport.unwrap());
    assert_eq!(found.after_sleep.len(), truth.after_sleep.len());
    for (found, truth) in found.after_sleep.iter().zip(&truth.after_sleep) {
        let at = |what: &str| format!("{what} after {} µs", truth.asleep_us.0);
        close(&at("sleep"), found.asleep_us, truth.asleep_us, 0.3);
        close(&at("wakeup"), found.wakeup_us, truth.wakeup_us, 1.5);
        let (connection, expected) = (found.connection_us, truth.connection_us);
        close(&at("connection"), connection, expected, 1.5);
        let megapixel = truth.megapixel_us.unwrap();
        close(
            &at("megapixel"),
            found.megapixel_us.unwrap(),
            megapixel,
            5.0,
        );
    }
}

#[test]
fn model_costs_are_recovered() {
    let truth = super::truth();
    let names = ["NoOperation", "GetInputFocus", "PolyFillRectangle"];
    let found = calibrated::<RequestCostsProbe>(&truth, &quick(&names));
    for name in names {
        let entries = found.requests.iter().filter(|entry| entry.name == name);
        assert!(entries.clone().count() > 0, "{name}");
        let expected = truth.requests.iter().find(|entry| entry.name == name);
        let first = expected.unwrap().points[0].cpu_us.unwrap();
        for point in entries.flat_map(|entry| &entry.points) {
            // One nanosecond per pixel.
            let expected = Micros(first.0 + (point.size - 1.0).max(0.0) / 1000.0);
            let tolerance = 0.02 * expected.0.max(0.1);
            let what = format!("{name} of {}", point.size);
            close(&what, point.cpu_us.unwrap(), expected, tolerance);
        }
    }
    let (found, truth) = (found.transport.unwrap(), truth.transport.unwrap());
    let cpu = |measured: Measured| measured.cpu_us.unwrap();
    let byte_read = (cpu(found.byte_read), cpu(truth.byte_read));
    close("byte read", byte_read.0, byte_read.1, 1e-6);
    close("wakeup", cpu(found.wakeup), cpu(truth.wakeup), 0.05);
    close("event", cpu(found.event), cpu(truth.event), 0.01);
}
