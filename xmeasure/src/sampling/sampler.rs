//! Taking samples: how often a load is repeated, and in which order loads are measured.

use std::io;
use std::time::Duration;

use x11prof_cost_model::Clock;

use crate::plan::{AIM, Plan};
use crate::sampling::executor::Executor;
use crate::sampling::job::{Job, SingleRequest};
use crate::sampling::reading::Reading;
use crate::sampling::readings::{Readings, StoppedBy};
use crate::sampling::statistics::{LEAST, estimate};
use crate::server::exchange::Answers;
use crate::workloads::workload::{Sync, Workload};

/// Synchronisations measured together.
const SYNCHRONISATIONS: u64 = 30;
/// Turns measured together: on one processor, how often the server sleeps between them settles only
/// after some, as which of the two has run less evens out.
const TURNS: u64 = 512;
/// The most requests, and the most bytes, of a batch.
const BATCH_REQUESTS: u64 = 8_000_000;
const BATCH_BYTES: u64 = 1 << 28;

/// A batch was interrupted, and is run again, if it loses this much more of its time than its load usually does.
const INTERRUPTED: f64 = 0.03;

/// The factor of the length of batches for transport costs.
const LONGER: u32 = 3;
/// The share of a batch that each phase of a cycle is to take, unless another phase takes this many
/// whole batches by then.
const PHASE_SHARE: f64 = 0.25;
const PHASE_BATCHES: f64 = 4.0;

/// The state of a sampling: the next request, the batches done and still to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// `None` of a load that is not filed.
    pub(crate) request: Option<&'static str>,
    pub(crate) done: usize,
    pub(crate) to_do: usize,
}

/// Measures all loads of `readings`: the transport's in every pass, the others until their figures are certain enough.
/// Before each batch `step` gets the state, and returns false to stop. On an error `readings` holds the readings so
/// far.
///
/// Each pass covers all loads, so that a drift of the machine changes all alike; every second pass goes backwards. A
/// batch that was interrupted is run again at once, and the one that lost less counts.
pub(crate) fn sample(
    executor: &mut dyn Executor,
    readings: &mut Readings,
    plan: &Plan,
    step: &mut dyn FnMut(Step, Duration) -> bool,
) -> io::Result<()> {
    let start = executor.elapsed();
    let mut done = 0;
    for pass in 0..plan.last_pass() {
        let Readings {
            syncs,
            alone,
            alone_elsewhere,
            transport,
            requests,
            cut,
        } = readings;
        let mut jobs: Vec<&mut Job> = transport.all_mut();
        jobs.extend(requests);
        let mut order = order(&jobs, pass, plan);
        if pass >= plan.least_passes() && order.iter().all(|&at| jobs[at].always) {
            return Ok(());
        }
        if pass % 2 == 1 {
            order.reverse();
        }
        for sync in Sync::ALL {
            let times = match sync {
                Sync::Turns => TURNS,
                Sync::ReadBack | Sync::RoundTrip => SYNCHRONISATIONS,
            };
            syncs.of_mut(sync).push(executor.synchronise(sync, times)?);
        }
        for pair in [Some(alone), alone_elsewhere.as_mut()]
            .into_iter()
            .flatten()
        {
            for alone in [&mut pair.nothing, &mut pair.question] {
                let count = plan.lone_requests();
                let SingleRequest {
                    request,
                    answered,
                    place,
                    readings,
                } = alone;
                readings.push(executor.alone(request, *answered, count, *place)?);
            }
        }
        let passes_left = plan.least_passes().saturating_sub(pass + 1);
        for (position, &at) in order.iter().enumerate() {
            let to_do = order.len() - position + passes_left * jobs.len();
            let Some(job) = jobs.get_mut(at) else {
                continue;
            };
            let request = job.name();
            let here = Step {
                request,
                done,
                to_do,
            };
            if !step(here, executor.elapsed()) {
                *cut = Some(StoppedBy::Stopped);
                return Ok(());
            }
            if executor.elapsed().saturating_sub(start) > plan.limit() {
                *cut = Some(StoppedBy::Time);
                return Ok(());
            }
            done += 1;
            if pass == 0 {
                rehearse(executor, job, plan)?;
            }
            read(executor, job)?;
        }
    }
    Ok(())
}

/// Learns a load's answers, and its number of repetitions.
fn rehearse(executor: &mut dyn Executor, job: &mut Job, plan: &Plan) -> io::Result<()> {
    job.answers = executor.rehearse(&job.load)?;
    if job.answers.iter().any(|answers| answers.errors > 0) {
        job.answers.clear();
        job.refused = true;
        return Ok(());
    }
    // Figures that are subtracted from all others must be certain.
    let least = plan.batch() * if job.always { LONGER } else { 1 };
    job.times = repetitions(executor, &job.load, &job.answers, least)?;
    Ok(())
}

/// Reads a load once more.
fn read(executor: &mut dyn Executor, job: &mut Job) -> io::Result<()> {
    if job.times == 0 {
        return Ok(());
    }
    let mut taken = executor.run(&job.load, &job.answers, job.times)?;
    if is_interrupted(&taken, &job.readings) {
        let again = executor.run(&job.load, &job.answers, job.times)?;
        if loss(&again) < loss(&taken) {
            taken = again;
        }
    }
    for (readings, reading) in job.readings.iter_mut().zip(taken) {
        readings.push(reading);
    }
    Ok(())
}

/// The greatest share of their time that the phases of a load lost.
fn loss(phases: &[Reading]) -> f64 {
    phases.iter().map(Reading::loss).fold(0.0, f64::max)
}

/// True where somebody else had the processor for more of the time than `before`. In the first pass nothing is usual
/// yet.
fn is_interrupted(taken: &[Reading], before: &[Vec<Reading>]) -> bool {
    taken.iter().zip(before).any(|(taken, before)| {
        let usual = estimate(&before.iter().map(Reading::loss).collect::<Vec<_>>());
        usual.is_some_and(|usual| taken.loss() > usual.centre + INTERRUPTED)
    })
}

/// The loads of a pass, by their places in `jobs`: all uncertain ones, and those that are in every pass. Once each has
/// had its least passes, each pass takes the half with the widest intervals at that time.
fn order(jobs: &[&mut Job], pass: usize, plan: &Plan) -> Vec<usize> {
    let (always, others): (Vec<_>, Vec<_>) =
        jobs.iter().enumerate().partition(|(_, job)| job.always);
    let unsure = others.into_iter().filter_map(|(at, job)| {
        let spread = spread(job);
        (spread > AIM).then_some((at, spread))
    });
    let mut unsure: Vec<(usize, f64)> = unsure.collect();
    if pass >= plan.least_passes() {
        unsure.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        unsure.truncate(unsure.len().div_ceil(2));
        unsure.sort_by_key(|(at, _)| *at);
    }
    let always = always.into_iter().map(|(at, _)| at);
    always.chain(unsure.into_iter().map(|(at, _)| at)).collect()
}

/// The widest confidence interval of a load's phases, relative to the centre: 0 for a refused load, which need not be
/// measured again, infinite if there is none yet.
fn spread(job: &Job) -> f64 {
    if job.refused {
        return 0.0;
    }
    let of_phase = |readings: &Vec<Reading>| {
        let each = |clock| -> Vec<f64> {
            let times = readings
                .iter()
                .filter_map(|reading| Some(reading.time(clock)? / reading.requests.max(1) as f64));
            times.collect()
        };
        let cpu = each(Clock::Cpu);
        let each = if cpu.is_empty() {
            each(Clock::Wall)
        } else {
            cpu
        };
        let spread = estimate(&each).and_then(|estimate| estimate.spread());
        spread
            .filter(|_| each.len() >= LEAST)
            .unwrap_or(f64::INFINITY)
    };
    job.readings.iter().map(of_phase).fold(0.0, f64::max)
}

/// The repetitions of a load that make its batch take `least`.
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
    let most = (BATCH_REQUESTS / requests.max(1))
        .min(BATCH_BYTES / bytes.max(1))
        .max(1);
    let mut times = 1;
    loop {
        let readings = executor.run(load, answers, times)?;
        let wall: f64 = readings.iter().map(|reading| reading.wall).sum();
        let shortest = readings.iter().map(|reading| reading.wall);
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        // The missing factor: for all phases together, and for the shortest.
        let short = (least / wall.max(1.0)).max(least * PHASE_SHARE / shortest.max(1.0));
        let short = short.min(least * PHASE_BATCHES / wall.max(1.0));
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
