//! The cost of one request of each load, without its transport.

use x11prof_cost_model::Clock;
use x11prof_session::Operation;

use crate::fit::handled::{HandlerTransport, of_kind};
use crate::fit::transport::{BothClocks, Transport};
use crate::sampling::job::Job;
use crate::sampling::reading::Reading;
use crate::sampling::readings::Readings;
use crate::sampling::rounding::rounded;
use crate::sampling::statistics::{Estimate, estimate, midmean, undisturbed};
use crate::server::exchange::ReceivedMessages;
use crate::workloads::workload::Phase;

/// The cost of one request of a phase, without its transport.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) operation: Operation,
    pub(crate) cpu: Option<Estimate>,
    pub(crate) wall: Option<Estimate>,
    /// The time of the request after other loads, divided by its time after equal requests; `None` if not measured.
    pub(crate) cold: Option<f64>,
}

/// The samples of all measured phases with a known operation.
pub(crate) fn samples(readings: &Readings, transport: &BothClocks) -> Vec<Sample> {
    let handlers = transport.cpu.as_ref();
    let handlers = handlers.and_then(|cpu| HandlerTransport::new(readings, cpu));
    let jobs = readings.jobs();
    let of = |job| match &handlers {
        Some(handlers) => handled(job, handlers),
        None => samples_of(job, transport),
    };
    jobs.flat_map(of).collect()
}

/// The samples of a job whose handlers were timed.
fn handled(job: &Job, transport: &HandlerTransport) -> Vec<Sample> {
    let phases = job.load.phases.iter().zip(&job.operations);
    let read = job.answers.iter().zip(&job.handled);
    let mut samples = Vec::new();
    for ((phase, kinds), (answers, passes)) in phases.zip(read) {
        for (kind, operation) in kinds.iter().enumerate() {
            let entry = |time: f64| transport.beyond_transport(time, phase, answers);
            let times: Vec<f64> = of_kind(passes, kind).into_iter().map(entry).collect();
            let Some(cpu) = undisturbed(&times) else {
                continue;
            };
            let cold = midmean(passes.iter().map(|pass| entry(pass.cold)));
            let cold = cold.filter(|_| kinds.len() == 1 && cpu.centre > 0.0);
            samples.push(Sample {
                operation: operation.clone(),
                cpu: Some(cpu),
                wall: None,
                cold: cold.map(|cold| rounded((cold / cpu.centre).max(1.0), 2)),
            });
        }
    }
    samples
}

fn samples_of(job: &Job, transport: &BothClocks) -> Vec<Sample> {
    let mut samples = Vec::new();
    let phases = job.load.phases.iter().zip(&job.operations);
    let read = job.answers.iter().zip(&job.readings);
    for ((phase, kinds), (answers, all)) in phases.zip(read) {
        let on = |transport: &Option<Transport>, clock| {
            let transport = transport.as_ref()?;
            let times = all
                .iter()
                .filter_map(|reading| beyond_transport(reading, phase, answers, transport, clock));
            estimate(&times.collect::<Vec<_>>())
        };
        let cpu = on(&transport.cpu, Clock::Cpu);
        let wall = on(&transport.wall, Clock::Wall);
        if cpu.is_some() || wall.is_some() {
            samples.extend(kinds.iter().map(|operation| Sample {
                operation: operation.clone(),
                cpu,
                wall,
                cold: None,
            }));
        }
    }
    samples
}

/// Returns the entry for a parameter file as the crate's documentation defines it: the time of one request minus its
/// transport.
fn beyond_transport(
    reading: &Reading,
    phase: &Phase,
    answers: &ReceivedMessages,
    transport: &Transport,
    clock: Clock,
) -> Option<f64> {
    let figures = &transport.centre;
    let requests = f64::from(phase.requests.max(1));
    let each = figures.each(reading, phase.sync, clock)?;
    Some(
        each - phase.bytes_each() * figures.byte_read
            - answers.replies as f64 / requests * figures.reply
            - answers.reply_bytes as f64 / requests * figures.byte_written
            - answers.events as f64 / requests * figures.event,
    )
}
