//! Taking samples: how often a load is repeated, and in which order loads are measured.

use std::io;
use std::time::{Duration, Instant};

use x11prof_cost_model::{Clock, Pace};

use crate::plan::{AIM, Plan};
use crate::sampling::statistics::{LEAST, estimate};
use crate::sampling::steady;
use crate::server::connection::Answers;
use crate::workloads::workload::{Sync, Workload};

/// Synchronisations measured together.
const SYNCHRONISATIONS: u64 = 30;
/// Turns measured together: on one processor, how often the server sleeps between them settles only
/// after some, as which of the two has run less evens out.
const TURNS: u64 = 512;
/// The most that one batch sends, in requests and in bytes.
const MOST_REQUESTS: u64 = 8_000_000;
const MOST_BYTES: u64 = 1 << 28;

/// A batch that loses this much more of its time than its load usually does was broken into, and is
/// run once more.
const BROKEN_INTO: f64 = 0.03;

/// How much longer the batches are that transport costs come from.
const OWN: u32 = 3;
/// Of a cycle of phases each is to take this part of a batch, unless another one takes this many
/// whole batches by then.
const PHASE: f64 = 0.25;
const MOST_BATCHES: f64 = 4.0;

/// What the clocks say of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// The server's processor time in microseconds, where it can be had.
    pub(crate) cpu: Option<f64>,
    /// Wall time in microseconds.
    pub(crate) wall: f64,
    /// Requests sent, synchronisations left out.
    pub(crate) requests: u64,
    /// Synchronisations.
    pub(crate) syncs: u64,
    /// How often the server went to sleep, where it is known.
    pub(crate) sleeps: Option<u64>,
    /// Whether the sender was kept on another processor than the server: then the wall counts.
    /// If it was kept on the same one, the server's own clock does: it is steadier there, but
    /// the wall holds the sender's time as well. `None` where neither was.
    pub(crate) apart: Option<bool>,
    /// The part of the wall time, in microseconds, in which somebody else had the processor.
    pub(crate) lost: f64,
    /// What a piece of work that is always the same took on the server's processor meanwhile, in
    /// microseconds, where that was looked at.
    pub(crate) pace: Option<f64>,
}

impl Reading {
    /// Adds another batch of the same kind.
    pub(crate) fn add(&mut self, other: &Reading) {
        self.cpu = self.cpu.zip(other.cpu).map(|(a, b)| a + b);
        self.wall += other.wall;
        self.requests += other.requests;
        self.syncs += other.syncs;
        self.sleeps = self.sleeps.zip(other.sleeps).map(|(a, b)| a + b);
        self.lost += other.lost;
        self.apart = other.apart;
    }

    /// It at a pace at which all takes so many times as long.
    pub(crate) fn times(&self, factor: f64) -> Reading {
        Reading {
            cpu: self.cpu.map(|cpu| cpu * factor),
            wall: self.wall * factor,
            lost: self.lost * factor,
            ..*self
        }
    }

    /// The part of the wall time that it lost.
    fn loss(&self) -> f64 {
        self.lost / self.wall.max(f64::MIN_POSITIVE)
    }

    /// The time on `clock`, where it counts.
    pub(crate) fn time(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Cpu => self.cpu.filter(|_| self.apart != Some(true)),
            Clock::Wall => Some(self.wall).filter(|_| self.apart != Some(false)),
        }
    }

    /// The part of the wall time in which the server was at work, where it had a processor to
    /// itself; without the synchronisations, of which `sync` were measured by themselves.
    pub(crate) fn busy(&self, sync: &Reading) -> Option<f64> {
        let cpu = self.cpu.filter(|_| self.apart == Some(true))?;
        let syncs = self.syncs as f64 / sync.syncs.max(1) as f64;
        let (cpu, wall) = (cpu - syncs * sync.cpu?, self.wall - syncs * sync.wall);
        (wall > 0.0).then(|| (cpu / wall).clamp(0.0, 1.0))
    }
}

/// Where the sender runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Where it was put for all batches.
    Usual,
    /// On another processor than the server's.
    Other,
}

/// What is measured. The real one is a server; tests have one whose costs are known.
pub(crate) trait Executor {
    /// Puts the sender there for what follows, if it can be put there.
    fn place(&mut self, place: Place) -> io::Result<()>;
    /// Runs a load once, to learn what it is answered with: for each phase, what one unit brings.
    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<Answers>>;
    /// Runs a load's units that many times: a reading for each phase.
    fn run(
        &mut self,
        workload: &Workload,
        answers: &[Answers],
        times: u64,
    ) -> io::Result<Vec<Reading>>;
    /// That many synchronisations and nothing else.
    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading>;
    /// A request `count` times, each time to a server that sleeps.
    fn alone(
        &mut self,
        request: &[u8],
        answered: bool,
        count: u32,
        place: Place,
    ) -> io::Result<Reading>;
    /// Brings what is measured from now on to the mean pace so far, or to the one that is `aim` times as slow as
    /// the fastest; `None` where the processor was not looked at.
    fn settle(&mut self, _aim: Option<f64>) -> Option<Settled> {
        None
    }
}

/// The pace of a calibration, once that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    pub(crate) pace: Pace,
    /// What a look took on average.
    pub(crate) mean_us: f64,
    /// What figures that were read before are to be multiplied by.
    pub(crate) factor: f64,
}

/// A request to be measured alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lone {
    pub(crate) request: Vec<u8>,
    /// It is answered by a reply.
    pub(crate) answered: bool,
    pub(crate) place: Place,
}

/// All readings: for each load, in the order given, one reading a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readings {
    pub(crate) syncs: Vec<Vec<Reading>>,
    pub(crate) lone: Vec<Vec<Reading>>,
    /// By load, by phase.
    pub(crate) loads: Vec<Vec<Vec<Reading>>>,
    /// By load, by phase; empty for a load that the server answered with errors.
    pub(crate) answers: Vec<Vec<Answers>>,
    /// Loads that the server answered with errors.
    pub(crate) refused: Vec<usize>,
    /// Why it ended before every load had been measured often enough.
    pub(crate) cut: Option<Cut>,
}

/// What ended a sampling early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The user.
    Stopped,
    /// The plan's time limit.
    Time,
}

/// Where a sampling stands: the load that comes next, batches done and still to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) load: Option<usize>,
    pub(crate) done: usize,
    pub(crate) to_do: usize,
}

/// Measures `loads` and `lone`, the first `own` of the loads in every pass, the others until
/// their figures are sure enough. `step` is told where it stands before each batch, and answers
/// whether to go on. On an error, what had been read by then is in `readings`.
///
/// Loads are not measured to the end one after the other but in passes over all of them, so that
/// a drift of the machine falls on all alike; every second pass goes backwards. A batch that was
/// broken into is run again at once, and that of the two counts which lost less.
pub(crate) fn sample(
    executor: &mut dyn Executor,
    loads: &[Workload],
    own: usize,
    lone: &[Lone],
    plan: &Plan,
    readings: &mut Readings,
    step: &mut dyn FnMut(Step) -> bool,
) -> io::Result<()> {
    *readings = Readings {
        syncs: vec![Vec::new(); Sync::ALL.len()],
        lone: vec![Vec::new(); lone.len()],
        loads: loads
            .iter()
            .map(|load| vec![Vec::new(); load.phases.len()])
            .collect(),
        answers: vec![Vec::new(); loads.len()],
        ..Readings::default()
    };
    let start = Instant::now();
    let mut times = vec![0; loads.len()];
    let mut done = 0;
    for pass in 0..plan.most_passes() {
        let mut order = readings.order(loads.len(), own, pass, plan);
        if pass >= plan.least_passes() && order.iter().all(|&load| load < own) {
            return Ok(());
        }
        if pass % 2 == 1 {
            order.reverse();
        }
        executor.place(if plan.is_apart(pass) {
            Place::Other
        } else {
            Place::Usual
        })?;
        for (sync, all) in Sync::ALL.into_iter().zip(&mut readings.syncs) {
            let times = match sync {
                Sync::Turns => TURNS,
                Sync::ReadBack | Sync::RoundTrip => SYNCHRONISATIONS,
            };
            all.push(executor.synchronise(sync, times)?);
        }
        for (lone, all) in lone.iter().zip(&mut readings.lone) {
            let count = plan.lone_requests();
            all.push(executor.alone(&lone.request, lone.answered, count, lone.place)?);
        }
        let passes_left = plan.least_passes().saturating_sub(pass + 1);
        for (position, &index) in order.iter().enumerate() {
            let (Some(load), Some(times), Some(answers), Some(all)) = (
                loads.get(index),
                times.get_mut(index),
                readings.answers.get_mut(index),
                readings.loads.get_mut(index),
            ) else {
                continue;
            };
            let to_do = order.len() - position + passes_left * loads.len();
            if !step(Step {
                load: Some(index),
                done,
                to_do,
            }) {
                readings.cut = Some(Cut::Stopped);
                return Ok(());
            }
            if start.elapsed() > plan.limit() {
                readings.cut = Some(Cut::Time);
                return Ok(());
            }
            done += 1;
            if pass == 0 {
                *answers = executor.rehearse(load)?;
                if answers.iter().any(|answers| answers.errors > 0) {
                    answers.clear();
                    readings.refused.push(index);
                } else {
                    // What is taken off everything else had better be sure.
                    let least = plan.batch() * if index < own { OWN } else { 1 };
                    *times = repetitions(executor, load, answers, least)?;
                }
            }
            if *times > 0 {
                let mut taken = executor.run(load, answers, *times)?;
                if is_broken_into(&taken, all) {
                    let again = executor.run(load, answers, *times)?;
                    if loss(&again) < loss(&taken) {
                        taken = again;
                    }
                }
                for (all, reading) in all.iter_mut().zip(taken) {
                    all.push(reading);
                }
            }
        }
    }
    Ok(())
}

/// The greatest part of their time that the phases of a load lost.
fn loss(phases: &[Reading]) -> f64 {
    phases.iter().map(Reading::loss).fold(0.0, f64::max)
}

/// True where somebody else had the processor for more of the time than `before`, in the passes
/// with the sender in the same place. Of the first of them nothing is usual yet.
fn is_broken_into(taken: &[Reading], before: &[Vec<Reading>]) -> bool {
    taken.iter().zip(before).any(|(taken, before)| {
        let alike = before.iter().filter(|it| it.apart == taken.apart);
        let usual = estimate(&alike.map(Reading::loss).collect::<Vec<_>>());
        usual.is_some_and(|usual| taken.loss() > usual.centre + BROKEN_INTO)
    })
}

impl Readings {
    /// The loads of a pass: all that are not sure yet, the first `own` in any case. Once each has
    /// been in as many passes as it must, the half whose intervals are the widest takes turns
    /// with whatever is the widest half by then.
    fn order(&self, loads: usize, own: usize, pass: usize, plan: &Plan) -> Vec<usize> {
        let unsure = (own..loads).filter_map(|load| {
            let spread = self.spread(load);
            (spread > AIM).then_some((load, spread))
        });
        let mut unsure: Vec<(usize, f64)> = unsure.collect();
        if pass >= plan.least_passes() {
            unsure.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            unsure.truncate(unsure.len().div_ceil(2));
            unsure.sort_by_key(|(load, _)| *load);
        }
        (0..own.min(loads))
            .chain(unsure.into_iter().map(|(load, _)| load))
            .collect()
    }

    /// The widest confidence interval of the load's phases, relative to the centre: none where it
    /// was refused and need not be measured again, and without end where there is none yet.
    fn spread(&self, load: usize) -> f64 {
        if self.refused.contains(&load) {
            return 0.0;
        }
        let of_phase = |readings: &Vec<Reading>| {
            // To whichever pace: a spread is relative.
            let factors = steady::factors(readings, 1.0);
            let each = |clock| -> Vec<f64> {
                let times = readings.iter().zip(&factors).filter_map(|(it, factor)| {
                    Some(it.time(clock)? * factor / it.requests.max(1) as f64)
                });
                times.collect()
            };
            let cpu = each(Clock::Cpu);
            let each = if cpu.is_empty() {
                each(Clock::Wall)
            } else {
                cpu
            };
            let spread = estimate(&each).and_then(|it| it.spread());
            spread
                .filter(|_| each.len() >= LEAST)
                .unwrap_or(f64::INFINITY)
        };
        let phases = self.loads.get(load).into_iter().flatten();
        phases.map(of_phase).fold(0.0, f64::max)
    }
}

/// How often a load must be repeated for its batch to take `least`.
pub(crate) fn repetitions(
    executor: &mut dyn Executor,
    load: &Workload,
    answers: &[Answers],
    least: Duration,
) -> io::Result<u64> {
    let least = least.as_secs_f64() * 1e6;
    let requests: u64 = load
        .phases
        .iter()
        .map(|phase| u64::from(phase.requests))
        .sum();
    let bytes: u64 = load
        .phases
        .iter()
        .map(|phase| phase.unit.len() as u64)
        .sum();
    let most = (MOST_REQUESTS / requests.max(1))
        .min(MOST_BYTES / bytes.max(1))
        .max(1);
    let mut times = 1;
    loop {
        let readings = executor.run(load, answers, times)?;
        let wall: f64 = readings.iter().map(|reading| reading.wall).sum();
        let shortest = readings.iter().map(|reading| reading.wall);
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        // How far from enough it is: for all phases together, and for the shortest.
        let short = (least / wall.max(1.0)).max(least * PHASE / shortest.max(1.0));
        let short = short.min(least * MOST_BATCHES / wall.max(1.0));
        if short <= 1.0 || times >= most {
            return Ok(times);
        }
        // A tenth more than a batch this short promises, and no more than tenfold at once.
        let factor = (short * 1.1).clamp(1.1, 10.0);
        times = ((times as f64 * factor).ceil() as u64).min(most);
    }
}

#[cfg(test)]
mod tests;
