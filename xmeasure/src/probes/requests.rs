//! Measures the costs of all requests and of transport, in passes over all loads. The transport loads are in each pass,
//! because their costs are subtracted from all others.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use x11prof_cost_model::ServerParameters;

use super::{Probe, ProbeDuration, Run};
use crate::error::MeasureError;
use crate::fit::transport::BothClocks;
use crate::fit::{entries, samples};
use crate::plan::Plan;
use crate::sampling::executor::Executor;
use crate::sampling::job::Job;
use crate::sampling::readings::Readings;
use crate::sampling::sampler::{self, HANDLED, Step};
use crate::server::client::Client;
use crate::server::exchange::ReceivedMessages;
use crate::server::tracker::Tracker;
use crate::workloads::loads::Loads;
use crate::workloads::transport::TransportLoads;
use crate::workloads::workload::Workload;
use crate::workloads::{self, transport};

/// The name of this probe's phase in progress reports.
pub(crate) const MEASURING: &str = "measuring";

/// Length of a reply without data, in bytes.
const HEAD: u64 = 32;

/// The loads of all requests and, after the measurement, their readings.
pub(crate) struct RequestCostsProbe {
    lasts: ProbeDuration,
    transport: Option<TransportLoads<Workload>>,
    loads: Option<Loads>,
    readings: Option<Readings>,
}

impl RequestCostsProbe {
    /// Descriptions of the features that the server lacks, so that their requests cannot be measured.
    pub(crate) fn absent(&self) -> Vec<String> {
        let absent = self.loads.as_ref().map(|loads| loads.absent.clone());
        let mut absent = absent.unwrap_or_default();
        absent.sort();
        absent.dedup();
        absent
    }

    /// True if none of the requests that `plan` selects can be measured.
    pub(crate) fn is_empty(&self, plan: &Plan) -> bool {
        let wants = |job: &Job| {
            let mut operations = job.operations.iter().flatten();
            operations.any(|operation| plan.wants(operation.request.as_str()))
        };
        self.readings
            .as_ref()
            .is_none_or(|readings| readings.requests.is_empty() && !readings.jobs().any(wants))
    }

    /// Sentences about the measurement for the user.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Some(readings) = &self.readings else {
            return Vec::new();
        };
        let refused = |job: &Job| {
            let (code, major, minor) = job.refused?;
            let name = named(job.name());
            Some(format!(
                "{name} was refused (error {code} of request {major}.{minor})"
            ))
        };
        let mut notes: Vec<String> = readings.requests.iter().filter_map(refused).collect();
        notes.dedup();
        if readings.is_cut {
            let passes = readings.syncs.read_back.len();
            notes.push(format!("ended by the time limit in pass {passes}"));
        }
        notes
    }

    /// Returns the loads of the plan as jobs. If two loads have the same operations in the session, only the first load
    /// is measured.
    fn jobs(&mut self, run: &mut Run<'_>) -> io::Result<Vec<Job>> {
        let mut jobs: Vec<Job> = Vec::new();
        for mut load in self.loads.take().unwrap_or_default().all {
            if run.plan.timed {
                load.shorten(HANDLED);
            }
            let mut operations = run.tracker.describe(&load);
            let mut all = operations.iter().flatten();
            if !all.any(|operation| run.plan.wants(operation.request.as_str())) {
                continue;
            }
            if let Some(turns) = in_turns(run.server, &load)? {
                operations = run.tracker.describe(&turns);
                load = turns;
            }
            if jobs.iter().all(|job| job.operations != operations) {
                jobs.push(Job::new(load, operations));
            }
        }
        Ok(jobs)
    }
}

impl Probe for RequestCostsProbe {
    fn prepare(client: &mut Client, plan: &Plan) -> Result<RequestCostsProbe, MeasureError> {
        Ok(RequestCostsProbe {
            lasts: ProbeDuration::once(plan.limit()),
            transport: Some(transport::loads(client)?),
            loads: Some(workloads::all(client, plan)?),
            readings: None,
        })
    }

    fn name(&self) -> &'static str {
        MEASURING
    }

    fn lasts(&self) -> ProbeDuration {
        self.lasts
    }

    /// Determines the operations of the plan's loads.
    fn begin(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        let mut jobs = self.jobs(run)?;
        let Some(transport) = self.transport.take() else {
            return Ok(());
        };
        let no_operation = transport.no_operation.clone();
        let transport = transport.map(|load| {
            let operations = run.tracker.describe(&load);
            // Some of these loads mix requests; all except NoOperation are also measured as separate loads.
            let filed = load == no_operation;
            Job::always(load, if filed { operations } else { Vec::new() })
        });
        jobs.retain(|job| job.operations != transport.no_operation.operations);
        self.readings = Some(Readings::new(transport, jobs));
        Ok(())
    }

    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        let Some(readings) = &mut self.readings else {
            return Ok(());
        };
        run.progress.begin(MEASURING);
        let (start, limit) = (run.server.elapsed(), run.plan.limit());
        let progress = &mut run.progress;
        let mut step = |step: Step, now: Duration| {
            let Step {
                request,
                done,
                to_do,
            } = step;
            // The sampling ends at the time limit, or when all loads have been read often enough.
            let of_all = done as f64 / (done + to_do).max(1) as f64;
            let part = share(now.saturating_sub(start), limit).max(of_all);
            progress.step(part, named(request));
        };
        sampler::sample(run.server, readings, &run.plan, &mut step)
    }

    fn fit(&self, plan: &Plan, _: &mut Tracker, parameters: &mut ServerParameters) {
        let Some(readings) = &self.readings else {
            return;
        };
        let transport = BothClocks::new(readings);
        parameters.transport = transport.costs().filter(|_| !plan.entries_only);
        parameters.method.warnings = readings.warnings(plan.passes());
        parameters.requests = entries::entries(&samples::samples(readings, &transport));
        parameters.requests.retain(|entry| plan.wants(&entry.name));
        if readings.is_cut {
            let left = readings.requests.iter();
            let left = left.filter(|job| !job.is_read() && job.refused.is_none());
            let names: BTreeSet<&str> = left.map(|job| named(job.name())).collect();
            parameters.method.unmeasured = names.into_iter().map(str::to_owned).collect();
        }
    }
}

/// The name of a request for progress reports; `transport` for a load without an entry in the parameter file.
fn named(request: Option<&'static str>) -> &'static str {
    request.unwrap_or("transport")
}

/// Returns a variant of `load` that sends each request after the reply to the previous request; `None` if the replies
/// have no data. A server writes the header and the data of a reply separately only if the client reads the header
/// promptly.
fn in_turns(server: &mut dyn Executor, load: &Workload) -> io::Result<Option<Workload>> {
    let Some(turns) = load.in_turns() else {
        return Ok(None);
    };
    let answers = server.rehearse(&turns)?;
    let with_data = |answer: &ReceivedMessages| answer.replies == 1 && answer.reply_bytes > HEAD;
    Ok(answers.iter().all(with_data).then_some(turns))
}

/// The quotient of `gone` and `whole`; 1 if `whole` is zero.
fn share(gone: Duration, whole: Duration) -> f64 {
    match whole.is_zero() {
        true => 1.0,
        false => gone.as_secs_f64() / whole.as_secs_f64(),
    }
}
