//! The sampler and the fit against a server whose costs are known.

use std::io;

use x11prof_cost_model::left_behind;
use x11prof_session::Operation;

use super::{Cut, Executor, Lone, Place, Reading, Readings, Step, sample};
use crate::fit;
use crate::plan::Plan;
use crate::probes::references::References;
use crate::probes::transport::{self, Transport};
use crate::server::connection::Answers;
use crate::workloads::workload::{Phase, Sync, Workload};

/// Costs in microseconds.
const SYNC: f64 = 9.0;
const WAKEUP: f64 = 6.0;
/// What a turn takes beyond its request and its reply.
const TURN: f64 = 4.0;
const BYTE: f64 = 0.001;
const WRITTEN: f64 = 0.0005;
const REPLY: f64 = 0.2;
const WRITE: f64 = 2.5;
const EVENT: f64 = 0.3;

/// A server of known costs. The loads' first byte tells which request it is.
struct Mock {
    /// Batches until it dies.
    left: u64,
    /// One batch of so many is broken into: it takes twice its time.
    broken: Option<u64>,
    /// From that batch on, a request of kind 70 costs as much more.
    spoilt: Option<(u64, f64)>,
    batches: u64,
}

impl Mock {
    fn new() -> Mock {
        Mock {
            left: u64::MAX,
            broken: None,
            spoilt: None,
            batches: 0,
        }
    }

    /// By which a batch's time is multiplied: by one, but for the loads of no constant cost.
    fn noise(&self, kind: u8) -> f64 {
        // Far apart from batch to batch, and without a pattern that passes could fall in with.
        let part = (self.batches.wrapping_mul(7919) % 1009) as f64 / 1009.0 - 0.5;
        match kind {
            WIDE => 1.0 + 0.8 * part,
            LESS_WIDE => 1.0 + 0.2 * part,
            _ => 1.0,
        }
    }
}

/// Bytes that the socket holds.
const SOCKET: u64 = 1 << 17;
/// Requests whose cost is not constant, by a little and by much.
const LESS_WIDE: u8 = 80;
const WIDE: u8 = 81;

/// What a request costs itself, replies it gives, bytes of them, events.
fn request(kind: u8) -> (f64, u64, u64, u64) {
    match kind {
        127 => (0.01, 0, 0, 0),
        43 => (0.01, 1, 32, 0),
        20 => (0.4, 1, 36, 0),
        21 => (0.4, 1, 32 + 2048, 0),
        22 => (0.4, 1, 32 + 16384, 0),
        23 => (0.4, 1, 32 + 131_072, 0),
        18 => (0.5, 0, 0, 0),
        19 => (0.5, 0, 0, 1),
        70 => (2.0, 0, 0, 0),
        _ => (7.0, 0, 0, 0),
    }
}

impl Mock {
    fn phase(&mut self, phase: &Phase, times: u64) -> io::Result<Reading> {
        self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        let requests = times * u64::from(phase.requests);
        let (own, replies, reply_bytes, events) = request(phase.unit.first().copied().unwrap_or(0));
        let bytes = times * phase.unit.len() as u64;
        let each =
            own + replies as f64 * REPLY + reply_bytes as f64 * WRITTEN + events as f64 * EVENT;
        let (sync, syncs) = match phase.sync {
            Sync::Turns => (TURN, times),
            _ => (SYNC, 1),
        };
        // It sleeps until more comes of what the socket does not hold.
        let between = times * (phase.unit.len() as u64 / SOCKET);
        let time = sync * syncs as f64 + requests as f64 * each + bytes as f64 * BYTE;
        let time = time + between as f64 * (TURN - WRITE);
        self.batches += 1;
        let kind = phase.unit.first().copied().unwrap_or(0);
        let more = self.spoilt.filter(|it| kind == 70 && self.batches > it.0);
        let time = time * self.noise(kind) + requests as f64 * more.map_or(0.0, |it| it.1);
        let broken = self
            .broken
            .is_some_and(|every| self.batches.is_multiple_of(every));
        let lost = if broken { time } else { 0.0 };
        Ok(Reading {
            cpu: Some(time + lost),
            wall: time + lost,
            requests,
            syncs,
            sleeps: Some(syncs + between),
            apart: None,
            lost,
            pace: None,
        })
    }
}

impl Executor for Mock {
    fn place(&mut self, _: Place) -> io::Result<()> {
        Ok(())
    }

    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<Answers>> {
        let answers = workload.phases.iter().map(|phase| {
            let kind = phase.unit.first().copied().unwrap_or(0);
            let (_, replies, reply_bytes, events) = request(kind);
            let n = u64::from(phase.requests);
            Answers {
                replies: replies * n,
                reply_bytes: reply_bytes * n,
                events: events * n,
                errors: u64::from(kind == 255),
                first_error: None,
            }
        });
        Ok(answers.collect())
    }

    fn run(&mut self, workload: &Workload, _: &[Answers], times: u64) -> io::Result<Vec<Reading>> {
        if let [phase] = workload.phases.as_slice() {
            return Ok(vec![self.phase(phase, times)?]);
        }
        let mut all = Vec::new();
        for phase in &workload.phases {
            let mut total = self.phase(phase, 1)?;
            for _ in 1..times {
                total.add(&self.phase(phase, 1)?);
            }
            all.push(total);
        }
        Ok(all)
    }

    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading> {
        let each = match sync {
            Sync::Turns => TURN + request(43).0 + REPLY + 32.0 * WRITTEN + 4.0 * BYTE,
            _ => SYNC,
        };
        let time = each * times as f64;
        Ok(Reading {
            cpu: Some(time),
            wall: time,
            requests: 0,
            syncs: times,
            sleeps: Some(times),
            apart: None,
            lost: 0.0,
            pace: None,
        })
    }

    fn alone(&mut self, bytes: &[u8], _: bool, count: u32, place: Place) -> io::Result<Reading> {
        let (own, replies, reply_bytes, events) = request(bytes.first().copied().unwrap_or(0));
        let wakeup = if place == Place::Usual {
            WAKEUP
        } else {
            WAKEUP * 2.0
        };
        let write = if replies + events > 0 { WRITE } else { 0.0 };
        let made = replies as f64 * REPLY + events as f64 * EVENT + reply_bytes as f64 * WRITTEN;
        let each = wakeup + own + bytes.len() as f64 * BYTE + made + write;
        let time = each * f64::from(count);
        let requests = u64::from(count);
        Ok(Reading {
            cpu: Some(time),
            wall: time,
            requests,
            syncs: 0,
            sleeps: Some(requests),
            apart: None,
            lost: 0.0,
            pace: None,
        })
    }
}

fn of_kind(kind: u8, length: usize) -> Workload {
    let mut bytes = vec![0; length];
    bytes[0] = kind;
    let (_, _, replied, _) = request(kind);
    match replied {
        0..=32 => Workload::repeated(&bytes, Sync::RoundTrip),
        _ => Workload::answered(&bytes),
    }
}

/// The transport loads, one request of 20 bytes, a cycle, and a refused one.
fn loads() -> (Vec<Workload>, Vec<Lone>) {
    let cycle = [70, 71].map(|kind| Phase::new(vec![vec![kind, 0, 0, 0]; 50], Sync::RoundTrip));
    let loads = vec![
        of_kind(127, 4),
        of_kind(127, 16_384),
        of_kind(127, 65_536),
        of_kind(127, 262_140),
        of_kind(43, 4),
        of_kind(20, 24),
        of_kind(21, 24),
        of_kind(22, 24),
        of_kind(23, 24),
        of_kind(18, 28),
        of_kind(19, 28),
        of_kind(70, 20),
        Workload::cycle(cycle),
        of_kind(255, 4),
    ];
    let lone = [127_u8, 43].map(|kind| {
        let request = loads
            .iter()
            .map(|load| &load.phases[0])
            .find(|phase| phase.unit[0] == kind)
            .map(|phase| &phase.unit[..phase.bytes_each() as usize]);
        Lone {
            request: request.unwrap().to_vec(),
            answered: kind == 43,
            place: Place::Usual,
        }
    });
    (loads, lone.to_vec())
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-3 * expected.max(0.01),
        "{found} instead of {expected}"
    );
}

#[test]
fn known_costs_are_found_again() {
    let (loads, lone) = loads();
    let plan = Plan {
        quick: true,
        ..Plan::default()
    };
    let mut readings = Readings::default();
    let mut steps = 0;
    let mut mock = Mock::new();
    sample(
        &mut mock,
        &loads,
        11,
        &lone,
        &plan,
        &mut readings,
        &mut |step: Step| {
            steps += usize::from(step.load.is_some());
            true
        },
    )
    .unwrap();
    // The one that was refused is not tried again; the others are the same in every pass.
    let others = loads.len() - 1;
    assert_eq!(steps, others * plan.least_passes() + 1);
    assert_eq!(readings.refused, [13]);

    let (cpu, wall) = Transport::both(&readings, &loads);
    let costs = transport::costs(cpu.as_ref(), wall.as_ref()).unwrap();
    close(costs.wakeup.cpu_us.unwrap().0, WAKEUP);
    close(costs.byte_read.cpu_us.unwrap().0, BYTE);
    close(costs.byte_written.unwrap().cpu_us.unwrap().0, WRITTEN);
    close(costs.flush.unwrap().cpu_us.unwrap().0, WRITE);
    close(costs.reply.cpu_us.unwrap().0, REPLY);
    close(costs.event.cpu_us.unwrap().0, EVENT);
    close(cpu.as_ref().unwrap().centre.reply, REPLY);
    close(cpu.as_ref().unwrap().centre.event, EVENT);

    let operations: Vec<_> = loads
        .iter()
        .map(|load| {
            load.phases
                .iter()
                .map(|_| vec![Operation::new("Request".into())])
                .collect()
        })
        .collect();
    let samples = fit::samples(&loads, &operations, &readings, cpu.as_ref(), wall.as_ref());
    let times: Vec<f64> = samples
        .iter()
        .map(|sample| sample.cpu.unwrap().centre)
        .collect();
    let expected = [
        0.01, 0.01, 0.01, 0.01, 0.01, 0.4, 0.4, 0.4, 0.4, 0.5, 0.5, 2.0, 2.0, 7.0,
    ];
    assert_eq!(times.len(), expected.len());
    for (found, expected) in times.into_iter().zip(expected) {
        close(found, expected);
    }
}

#[test]
fn what_was_read_before_the_server_died_is_kept() {
    let (loads, lone) = loads();
    let plan = Plan {
        quick: true,
        ..Plan::default()
    };
    let mut readings = Readings::default();
    let mut mock = Mock {
        left: 100,
        ..Mock::new()
    };
    let error = sample(
        &mut mock,
        &loads,
        11,
        &lone,
        &plan,
        &mut readings,
        &mut |_| true,
    )
    .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert!(!readings.loads[0][0].is_empty());
    let (cpu, _) = Transport::both(&readings, &loads);
    close(cpu.unwrap().centre.byte_read, BYTE);
}

#[test]
fn stopped_it_keeps_what_it_has() {
    let (loads, lone) = loads();
    let mut readings = Readings::default();
    let mut mock = Mock::new();
    let mut go_on = |step: Step| step.done < 19;
    let plan = Plan::default();
    sample(
        &mut mock,
        &loads,
        11,
        &lone,
        &plan,
        &mut readings,
        &mut go_on,
    )
    .unwrap();
    assert_eq!(readings.cut, Some(Cut::Stopped));
    assert_eq!(readings.loads[12][0].len(), 2);
}

/// Runs a whole plan over the loads and `more`.
fn sampled(mock: &mut Mock, more: &[Workload]) -> (Vec<Workload>, Readings) {
    let (mut loads, lone) = loads();
    loads.extend_from_slice(more);
    let mut readings = Readings::default();
    let plan = Plan::default();
    sample(mock, &loads, 11, &lone, &plan, &mut readings, &mut |_| true).unwrap();
    (loads, readings)
}

#[test]
fn batches_that_were_broken_into_are_run_again() {
    let undisturbed = sampled(&mut Mock::new(), &[]).1;
    let mut mock = Mock {
        broken: Some(97),
        ..Mock::new()
    };
    let (loads, readings) = sampled(&mut mock, &[]);
    for load in 0..loads.len() {
        for (found, expected) in readings.loads[load].iter().zip(&undisturbed.loads[load]) {
            // Of the first pass nothing is usual yet, and what it lost may call for more passes.
            for (found, expected) in found.iter().zip(expected).skip(1) {
                let each = |it: &Reading| it.wall / it.requests as f64;
                close(each(found), each(expected));
            }
        }
    }
}

/// What the references of a calibration say where kind 70 costs so much more from its middle on.
fn left_behind_by(more: f64) -> Vec<String> {
    let kinds = [("drawing", 70), ("silent", 18), ("told", 19), ("none", 127)];
    let references = kinds.map(|(name, kind)| (name, of_kind(kind, 20)));
    let references = References::of(references.to_vec());
    let (mut mock, plan) = (Mock::new(), Plan::default());
    let start = references.look(&mut mock, &plan).unwrap();
    mock.spoilt = Some((mock.batches + 50, more));
    sampled(&mut mock, &[]);
    let end = references.look(&mut mock, &plan).unwrap();
    left_behind(&references.compare(&start, &end))
}

#[test]
fn what_a_calibration_leaves_behind_is_seen_at_its_end() {
    assert!(left_behind_by(0.0).is_empty());
    let remarks = left_behind_by(1.0);
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    // Of 2.02 microseconds, its bytes counted.
    assert!(
        remarks[0].starts_with("drawing took 1.50 times"),
        "{remarks:?}"
    );
}

#[test]
fn time_goes_to_what_is_least_sure() {
    let more = [of_kind(LESS_WIDE, 4), of_kind(WIDE, 4)];
    let (loads, readings) = sampled(&mut Mock::new(), &more);
    let count = |load: usize| readings.loads[load][0].len();
    let (less, most) = (count(loads.len() - 2), count(loads.len() - 1));
    let least = Plan::default().least_passes();
    assert_eq!(count(11), least);
    assert!(less >= least && most > less, "{less} and {most}");
}
