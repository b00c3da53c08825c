//! The cost of one request of each load beyond its transport.

use x11prof_cost_model::Clock;
use x11prof_session::Operation;

use crate::fit::transport::{BothClocks, Transport};
use crate::sampling::job::Job;
use crate::sampling::reading::Reading;
use crate::sampling::readings::Readings;
use crate::sampling::statistics::{Estimate, estimate};
use crate::server::exchange::Answers;
use crate::workloads::workload::Phase;

/// The cost of one request of a phase beyond its transport.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) operation: Operation,
    pub(crate) cpu: Option<Estimate>,
    pub(crate) wall: Option<Estimate>,
}

/// The samples of all phases that were measured and that an operation is known for.
pub(crate) fn samples(readings: &Readings, transport: &BothClocks) -> Vec<Sample> {
    let jobs = readings.jobs();
    jobs.flat_map(|job| samples_of(job, transport)).collect()
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
            }));
        }
    }
    samples
}

/// The entry of the crate's definition: the time of one request less its transport.
fn beyond_transport(
    reading: &Reading,
    phase: &Phase,
    answers: &Answers,
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
