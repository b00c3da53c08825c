//! The whole of a calibration: connect, prepare, sample, fit.

use std::io;

use x11prof_cost_model::{FORMAT, ServerParameters};
use x11prof_session::Operation;

use crate::error::MeasureError;
use crate::executor::LiveServer;
use crate::plan::{Plan, Progress};
use crate::process::Pinned;
use crate::raw_connection::RawConnection;
use crate::sampler::{self, Executor, Lone, Readings};
use crate::stage::Stage;
use crate::target::Target;
use crate::transport::{self, Transport};
use crate::workload::Workload;
use crate::{fit, identity, workloads};

/// Measures what requests cost the server `target`, as `plan` says; `progress` is told how far
/// it has come before each batch.
///
/// # Errors
///
/// Where the display cannot be reached or refuses, where none of the requests asked for can be
/// measured, and where the server goes away: then the error holds what was measured by then.
pub fn measure(
    target: &Target,
    plan: &Plan,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<ServerParameters, MeasureError> {
    let raw = RawConnection::open(target)?;
    let pinned = match (raw.pid, plan.pin) {
        (Some(pid), Some(pin)) => Some(Pinned::new(pid, pin)?),
        _ => None,
    };
    let pin = plan.pin.filter(|_| pinned.is_some());
    let mut stage = Stage::new(raw)?;
    let (mut loads, lone) = transport::loads(&mut stage, pin)?;
    let own = loads.len();
    loads.extend(workloads::all(&mut stage, plan)?);
    stage.synchronise()?;
    let mut frame = ServerParameters {
        format: FORMAT,
        server: identity::server(&stage, target),
        host: identity::host(&stage),
        ..ServerParameters::default()
    };
    let prepared = Prepared::new(&mut stage, loads, own, lone, plan);
    if !plan.only.is_empty() && !prepared.wanted(plan) {
        return Err(MeasureError::Nothing {
            names: plan.only.join(", "),
        });
    }
    let mut server = LiveServer::new(stage.raw, stage.window, pin);
    let mut readings = Readings::default();
    let result = prepared.sample(&mut server, plan, &mut readings, progress);
    drop(pinned);
    prepared.fill(&mut frame, &readings, plan);
    match result {
        Ok(()) => Ok(frame),
        Err(error) if is_gone(&error) => Err(MeasureError::ServerGone {
            partial: Box::new(frame),
        }),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(MeasureError::Protocol {
            what: "does not answer any more".into(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// All loads, and what each of their requests is as an operation.
struct Prepared {
    loads: Vec<Workload>,
    operations: Vec<Vec<Option<Operation>>>,
    lone: Vec<Lone>,
}

impl Prepared {
    /// Describes the loads and leaves out those that the plan does not want; the first `own` are
    /// needed for the transport costs.
    fn new(
        stage: &mut Stage,
        loads: Vec<Workload>,
        own: usize,
        lone: Vec<Lone>,
        plan: &Plan,
    ) -> Prepared {
        let mut prepared = Prepared {
            loads: Vec::new(),
            operations: Vec::new(),
            lone,
        };
        for (index, load) in loads.into_iter().enumerate() {
            let operations: Vec<Option<Operation>> = load
                .phases
                .iter()
                .map(|phase| {
                    stage
                        .mirror
                        .client(phase.first_request())
                        .into_iter()
                        .next()
                })
                .collect();
            // Some of the first mix requests; all but NoOperation are among the others again.
            let operations = if (1..own).contains(&index) {
                Vec::new()
            } else {
                operations
            };
            let wanted = |operation: &Operation| plan.wants(operation.request.as_str());
            // Two loads that the session does not tell apart have one price: the first one's.
            let known = prepared.operations.contains(&operations);
            if index < own || (!known && operations.iter().flatten().any(wanted)) {
                prepared.loads.push(load);
                prepared.operations.push(operations);
            }
        }
        prepared
    }

    fn wanted(&self, plan: &Plan) -> bool {
        let mut operations = self.operations.iter().flatten().flatten();
        operations.any(|operation| plan.wants(operation.request.as_str()))
    }

    fn name(&self, load: Option<usize>) -> &'static str {
        load.and_then(|load| self.operations.get(load)?.iter().flatten().next())
            .map_or("transport", |operation| operation.request.as_str())
    }

    fn sample(
        &self,
        executor: &mut dyn Executor,
        plan: &Plan,
        readings: &mut Readings,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> io::Result<()> {
        let total = self.loads.len() * plan.passes();
        let mut step = |done, load| {
            progress(Progress {
                done,
                total,
                name: self.name(load),
            })
        };
        sampler::sample(executor, &self.loads, &self.lone, plan, readings, &mut step)?;
        progress(Progress {
            done: total,
            total,
            name: "",
        });
        Ok(())
    }

    /// Fits what was read into the parameters.
    fn fill(&self, parameters: &mut ServerParameters, readings: &Readings, plan: &Plan) {
        let (cpu, wall) = Transport::both(readings);
        parameters.transport = transport::costs(cpu.as_ref(), wall.as_ref());
        let samples = fit::samples(
            &self.loads,
            &self.operations,
            readings,
            cpu.as_ref(),
            wall.as_ref(),
        );
        parameters.requests = fit::requests(&samples);
        parameters.requests.retain(|costs| plan.wants(&costs.name));
        parameters.method = identity::method(plan, &self.refusals(readings));
    }

    /// The loads that the server answered with errors.
    fn refusals(&self, readings: &Readings) -> Vec<String> {
        let refused = readings.refused.iter();
        let mut refused: Vec<String> = refused
            .map(|&load| format!("{} was refused", self.name(Some(load))))
            .collect();
        refused.dedup();
        refused
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}
