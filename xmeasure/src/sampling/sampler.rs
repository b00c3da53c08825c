//! Measures the loads in passes. Determines the number of repetitions of each load, and the order of the loads.

use std::io;
use std::time::Duration;

use crate::plan::Plan;
use crate::sampling::batch::Batch;
use crate::sampling::executor::{Executor, Pause};
use crate::sampling::job::Job;
use crate::sampling::readings::{IDLE, Readings};
use crate::server::exchange::ReceivedMessages;
use crate::workloads::workload::{Sync, Workload};

/// The number of synchronisations that are measured together.
const SYNCHRONISATIONS: u64 = 30;
/// Number of turns per measurement. On one processor, the frequency of the server's sleeps between turns becomes
/// steady only after some turns, when the CPU times of client and server have evened out.
const TURNS: u64 = 512;
/// Maximum number of requests and bytes of a batch.
const BATCH_REQUESTS: u64 = 8_000_000;
const BATCH_BYTES: u64 = 1 << 28;

/// The maximum number of requests of a load whose handlers are timed. A long load of drawing requests takes Xephyr
/// seconds, because Xephyr shows each changed box separately. Replies to more requests would fill the socket, and the
/// server would not write them within the handler.
pub(crate) const HANDLED: u32 = 256;
/// The factor by which batches for transport costs are longer.
const LONGER: u32 = 3;
/// The minimum share of a batch's time that the shortest phase of a cycle should take.
const PHASE_SHARE: f64 = 0.25;
/// The limit on a cycle's time, as a multiple of `least`. At this limit, the shortest phase may take a smaller share.
const PHASE_BATCHES: f64 = 4.0;

/// The progress of sampling: the next request, and the numbers of batches done and still to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The name of the request that is measured next; `None` for a load without an entry in the parameter file.
    pub(crate) request: Option<&'static str>,
    pub(crate) done: usize,
    pub(crate) to_do: usize,
}

/// Measures all loads of `readings` in passes, so that a drift of the machine affects all loads equally. Every second
/// pass has the reverse order. Before each batch, `step` receives the progress. On an error,
/// `readings` has the readings so far.
pub(crate) fn sample(
    executor: &mut dyn Executor,
    readings: &mut Readings,
    plan: &Plan,
    step: &mut dyn FnMut(Step, Duration),
) -> io::Result<()> {
    let start = executor.elapsed();
    let mut done = 0;
    for pass in 0..plan.passes() {
        transport(executor, readings, plan)?;
        let mut jobs: Vec<&mut Job> = readings.transport.all_mut();
        jobs.extend(&mut readings.requests);
        jobs.retain(|job| job.refused.is_none());
        if pass % 2 == 1 {
            jobs.reverse();
        }
        let passes_left = plan.passes() - pass;
        let all = jobs.len();
        // A file without some loads is of little use, so the first pass has a longer time limit, for a busy
        // machine.
        let limit = plan.limit() * if pass == 0 { 10 } else { 1 };
        for (position, job) in jobs.into_iter().enumerate() {
            let here = Step {
                request: job.name(),
                done,
                to_do: passes_left * all - position,
            };
            step(here, executor.elapsed());
            if executor.elapsed().saturating_sub(start) > limit {
                readings.is_cut = true;
                return Ok(());
            }
            done += 1;
            if pass == 0 {
                rehearse(executor, job, plan)?;
            }
            read(executor, job, plan)?;
        }
    }
    Ok(())
}

/// Runs one pass over the synchronisations, the requests that are sent alone, and a pause.
fn transport(executor: &mut dyn Executor, readings: &mut Readings, plan: &Plan) -> io::Result<()> {
    for sync in Sync::ALL {
        let times = match sync {
            Sync::Turns => TURNS,
            Sync::ReadBack | Sync::RoundTrip => SYNCHRONISATIONS,
        };
        let reading = executor.synchronise(sync, times)?;
        readings.syncs.of_mut(sync).push(reading);
    }
    for alone in [&mut readings.alone.nothing, &mut readings.alone.question] {
        let count = plan.lone_requests();
        let reading = executor.alone(&alone.request, alone.answered, count)?;
        alone.readings.push(reading);
    }
    let question = Batch::single(readings.alone.question.request.clone(), true);
    let idle = executor.after(&[Pause::Sleep(IDLE)], &question)?;
    readings.idle.extend(idle);
    Ok(())
}

/// Determines a load's replies and its number of repetitions.
fn rehearse(executor: &mut dyn Executor, job: &mut Job, plan: &Plan) -> io::Result<()> {
    job.answers = executor.rehearse(&job.load)?;
    job.refused = job.answers.iter().find_map(|answers| answers.first_error);
    if job.refused.is_some() {
        job.answers.clear();
        return Ok(());
    }
    if plan.timed && !job.always {
        job.times = 1;
        return Ok(());
    }
    // Times that are subtracted from the times of all other loads must be precise, so their batches are longer.
    let least = plan.batch() * if job.always { LONGER } else { 1 };
    job.times = repetitions(executor, &job.load, &job.answers, least)?;
    Ok(())
}

/// Measures a load one more time.
fn read(executor: &mut dyn Executor, job: &mut Job, plan: &Plan) -> io::Result<()> {
    if job.times == 0 {
        return Ok(());
    }
    if plan.timed {
        let mut load = job.load.clone();
        load.shorten(HANDLED);
        let handled = executor.handled(&load, &job.answers)?;
        for (all, handled) in job.handled.iter_mut().zip(handled.unwrap_or_default()) {
            all.push(handled);
        }
        if !job.always {
            return Ok(());
        }
    }
    let taken = executor.run(&job.load, &job.answers, job.times)?;
    for (readings, reading) in job.readings.iter_mut().zip(taken) {
        readings.push(reading);
    }
    Ok(())
}

/// Determines the number of repetitions of a load so that its batch takes at least `least`.
fn repetitions(
    executor: &mut dyn Executor,
    load: &Workload,
    answers: &[ReceivedMessages],
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
        // The factor by which the batch is too short: because of all phases together, or because of the shortest phase.
        let short = (least / wall.max(1.0)).max(least * PHASE_SHARE / shortest.max(1.0));
        let short = short.min(least * PHASE_BATCHES / wall.max(1.0));
        if short <= 1.0 || times >= most {
            return Ok(times);
        }
        // Adds 10 % to the estimate. A single step increases the number at most tenfold.
        let factor = (short * 1.1).clamp(1.1, 10.0);
        times = ((times as f64 * factor).ceil() as u64).min(most);
    }
}

#[cfg(test)]
mod tests;
