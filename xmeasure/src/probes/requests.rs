//! The cost of every request, and of the transport, from passes over all loads. The transport's loads are in each pass,
//! because their figures are subtracted from all others'.

mod explorer;

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use x11prof_cost_model::ServerParameters;
use x11prof_session::Operation;

use self::explorer::Explorer;
use super::{Probe, ProbeDuration, Run};
use crate::error::MeasureError;
use crate::fit::transport::BothClocks;
use crate::fit::{entries, samples};
use crate::plan::Plan;
use crate::sampling::executor::Executor;
use crate::sampling::job::Job;
use crate::sampling::readings::{Readings, StoppedBy};
use crate::sampling::sampler::{self, Step};
use crate::server::client::Client;
use crate::server::exchange::Answers;
use crate::server::tracker::Tracker;
use crate::workloads::loads::Loads;
use crate::workloads::selection::{self, Needs};
use crate::workloads::transport::TransportLoads;
use crate::workloads::workload::Workload;
use crate::workloads::{self, transport};

/// The phases, as progress names them.
pub(crate) const CHOOSING: &str = "choosing sizes";
pub(crate) const MEASURING: &str = "measuring";

/// Bytes of a reply without data.
const HEAD: u64 = 32;

/// The loads, and then their readings.
pub(crate) struct RequestCostsProbe {
    lasts: ProbeDuration,
    transport: Option<TransportLoads<Workload>>,
    loads: Option<Loads>,
    readings: Option<Readings>,
}

impl RequestCostsProbe {
    /// The features that the server lacks, in words.
    pub(crate) fn absent(&self) -> Vec<String> {
        let absent = self.loads.as_ref().map(|loads| loads.absent.clone());
        let mut absent = absent.unwrap_or_default();
        absent.sort();
        absent.dedup();
        absent
    }

    /// True where nothing that `plan` names can be measured.
    pub(crate) fn is_empty(&self, plan: &Plan) -> bool {
        let wants = |job: &Job| {
            let mut operations = job.operations.iter().flatten();
            operations.any(|operation| plan.wants(operation.request.as_str()))
        };
        self.readings
            .as_ref()
            .is_none_or(|readings| readings.requests.is_empty() && !readings.jobs().any(wants))
    }

    /// Facts about the measurement for the user.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Some(readings) = &self.readings else {
            return Vec::new();
        };
        let refused = readings.requests.iter().filter(|job| job.refused);
        let mut notes: Vec<String> = refused
            .map(|job| format!("{} was refused", named(job.name())))
            .collect();
        notes.dedup();
        match readings.cut {
            Some(StoppedBy::Stopped) => notes.push("interrupted".into()),
            Some(StoppedBy::Time) => {
                let passes = readings.syncs.read_back.len();
                notes.push(format!("ended by the time limit in pass {passes}"));
            }
            None => {}
        }
        notes
    }

    /// The loads that the plan wants, with their sizes and combinations chosen.
    fn choose(&mut self, run: &mut Run<'_>) -> io::Result<Vec<Workload>> {
        let mut loads = self.loads.take().unwrap_or_default();
        let (plan, tracker) = (&run.plan, &mut run.tracker);
        let mut wants = |load: &Workload| {
            let mut operations = tracker.describe(load).into_iter().flatten();
            operations.any(|operation| plan.wants(operation.request.as_str()))
        };
        loads.series.retain(|series| {
            let first = series.sizes.first();
            first.is_some_and(|size| wants(&(series.load)(*size)))
        });
        loads.candidates.retain(|candidate| wants(&candidate.probe));
        selection::tell_apart(&mut loads, tracker);
        if !plan.needed.is_empty() {
            selection::narrow(&mut loads, plan, tracker);
        }
        run.progress.begin(CHOOSING);
        let (start, lasts) = (run.server.elapsed(), plan.exploring());
        let progress = &mut run.progress;
        let mut explorer = Explorer {
            executor: &mut *run.server,
            describe: &mut |load| tracker.describe(load).into_iter().flatten().next(),
            until: start + lasts,
            step: &mut |name, now| progress.step(share(now.saturating_sub(start), lasts), name),
        };
        explorer.choose(loads)
    }

    /// The loads as jobs, without those that the plan excludes or that are known.
    fn jobs(&self, chosen: Vec<Workload>, run: &mut Run<'_>) -> Vec<Job> {
        let described: Vec<_> = chosen
            .into_iter()
            .map(|load| (run.tracker.describe(&load), load))
            .collect();
        let plan = &run.plan;
        let all = described.iter().flat_map(|(all, _)| all.iter().flatten());
        let needs = Needs::new(plan, all);
        let mut jobs: Vec<Job> = Vec::new();
        for (operations, load) in described {
            let all = || operations.iter().flatten();
            // Two loads that the session does not tell apart have one price: the first one's.
            let is_known = |operations: &Vec<Vec<Operation>>| {
                jobs.iter().any(|job| job.operations == *operations)
            };
            let twice = is_known(&operations);
            let known = all().all(|operation| plan.knows(operation));
            if !twice && !known && all().any(|operation| needs.include(operation)) {
                jobs.push(Job::new(load, operations));
            }
        }
        jobs
    }
}

impl Probe for RequestCostsProbe {
    fn prepare(client: &mut Client, plan: &Plan) -> Result<RequestCostsProbe, MeasureError> {
        Ok(RequestCostsProbe {
            lasts: ProbeDuration {
                begin: plan.exploring(),
                measure: plan.limit(),
            },
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

    /// Chooses sizes and combinations.
    fn begin(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        let chosen = self.choose(run)?;
        let chosen = in_turns(run.server, chosen)?;
        let Some(transport) = self.transport.take() else {
            return Ok(());
        };
        let no_operation = transport.no_operation.clone();
        let transport = transport.map(|load| {
            let operations = run.tracker.describe(&load);
            // Some of these mix requests; all but NoOperation are among the others again.
            let filed = load == no_operation;
            Job::always(load, if filed { operations } else { Vec::new() })
        });
        let mut jobs = self.jobs(chosen, run);
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
            // The sampling ends with the time, or once all loads have been read often enough.
            let of_all = done as f64 / (done + to_do).max(1) as f64;
            let part = share(now.saturating_sub(start), limit).max(of_all);
            progress.step(part, named(request))
        };
        sampler::sample(run.server, readings, &run.plan, &mut step)
    }

    fn fit(&self, plan: &Plan, _: &mut Tracker, parameters: &mut ServerParameters) {
        let Some(readings) = &self.readings else {
            return;
        };
        let transport = BothClocks::new(readings);
        parameters.transport = transport.costs().filter(|_| !plan.entries_only);
        parameters.requests = entries::entries(&samples::samples(readings, &transport));
        parameters.requests.retain(|entry| plan.wants(&entry.name));
        if readings.cut == Some(StoppedBy::Time) {
            let left = readings.requests.iter();
            let left = left.filter(|job| !job.is_read() && !job.refused);
            let names: BTreeSet<&str> = left.map(|job| named(job.name())).collect();
            parameters.method.unmeasured = names.into_iter().map(str::to_owned).collect();
        }
    }
}

/// The name of a request for progress; some loads have no entry.
fn named(request: Option<&'static str>) -> &'static str {
    request.unwrap_or("transport")
}

/// The loads, in which questions with long replies are asked one by one: the server writes the data after a reply's
/// head separately only to a client that takes the head.
fn in_turns(server: &mut dyn Executor, loads: Vec<Workload>) -> io::Result<Vec<Workload>> {
    let mut all = Vec::new();
    for load in loads {
        let mut turns = load.in_turns();
        if let Some(one) = &turns {
            let answers = server.rehearse(one)?;
            let with_data = |answer: &Answers| answer.replies == 1 && answer.reply_bytes > HEAD;
            turns = turns.filter(|_| answers.iter().all(with_data));
        }
        all.push(turns.unwrap_or(load));
    }
    Ok(all)
}

/// The share of `whole` that has gone; 1 if `whole` is zero.
fn share(gone: Duration, whole: Duration) -> f64 {
    match whole.is_zero() {
        true => 1.0,
        false => gone.as_secs_f64() / whole.as_secs_f64(),
    }
}
