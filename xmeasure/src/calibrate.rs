//! The whole of a calibration: connect, prepare, explore, sample, fit.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use x11prof_cost_model::{FORMAT, ServerParameters};
use x11prof_session::Operation;

use crate::error::MeasureError;
use crate::plan::{Plan, Progress};
use crate::probes::first_uses::FirstUses;
use crate::probes::fonts::Fonts;
use crate::probes::late_work::{DRAWINGS, drawing};
use crate::probes::references::References;
use crate::probes::requests::explorer::Explorer;
use crate::probes::screen_updates::Pictures;
use crate::probes::transport::{self, Transport};
use crate::probes::wakeups::Rest;
use crate::progress::Meter;
use crate::sampling::live::LiveServer;
use crate::sampling::sampler::{self, Cut, Executor, Lone, Readings, Step};
use crate::sampling::steady::steady;
use crate::server::client::Stage;
use crate::server::connection::{Answers, RawConnection};
use crate::server::identity;
use crate::server::process::Pinned;
use crate::server::target::Target;
use crate::server::tracker::Mirror;
use crate::workloads::loads::Loads;
use crate::workloads::selection::{self, Needs};
use crate::workloads::workload::Workload;
use crate::{fit, workloads};

/// The phases of a calibration, as its progress names them.
const PREPARING: &str = "preparing";
const CHOOSING: &str = "choosing sizes";
const MEASURING: &str = "measuring";
const FONTS: &str = "fonts";
const RESTING: &str = "sleeps and wakeups";
const SHOWING: &str = "updates of the screen";
const FIRST_USES: &str = "first uses";

/// Bytes of a reply without data.
const HEAD: u64 = 32;

/// Measures what requests cost the server `target`, as `plan` says. `progress` is told how far it
/// has come before each batch, and answers whether to go on: where it says no, what was measured
/// by then is the result. `shown` is called when all but what the server does for a viewer has
/// been measured, to have one look at it.
///
/// # Errors
///
/// Where the display cannot be reached or refuses, where none of the requests asked for can be
/// measured, and where the server goes away: then the error holds what was measured by then.
pub fn measure(
    target: &Target,
    plan: &Plan,
    shown: &mut dyn FnMut() -> io::Result<()>,
    progress: &mut dyn FnMut(Progress<'_>) -> bool,
) -> Result<ServerParameters, MeasureError> {
    let start = Instant::now();
    let raw = RawConnection::open(target)?;
    let mut notes = Vec::new();
    let pinned = match (raw.pid, plan.pin) {
        (Some(pid), Some(pin)) => match Pinned::new(pid, pin) {
            Ok(pinned) => Some(pinned),
            Err(error) => {
                notes.push(format!("the server could not be pinned: {error}"));
                None
            }
        },
        _ => None,
    };
    let pin = plan.pin.filter(|_| pinned.is_some());
    let mut stage = Stage::new(raw)?;
    let (own, lone) = transport::loads(&mut stage, pin)?;
    let mut rest = Rest::new(&mut stage)?;
    let pictures = Pictures::new(&mut stage)?;
    let first_uses = FirstUses::new(&mut stage, plan)?;
    let fonts = Fonts::new(&mut stage, plan)?;
    let mut loads = workloads::all(&mut stage, plan)?;
    let drawing = drawing(&mut stage)?;
    let references = References::new(&mut stage)?;
    stage.synchronise()?;
    if !loads.absent.is_empty() {
        loads.absent.dedup();
        notes.push(format!("absent: {}", loads.absent.join(", ")));
    }
    let frame = ServerParameters {
        format: FORMAT,
        server: identity::server(&stage, target),
        host: identity::host(&stage),
        ..ServerParameters::default()
    };
    let Stage {
        raw,
        mirror,
        window,
        kept,
        ..
    } = stage;
    let mut server = LiveServer::new(raw, window, pin);
    server.find_pace();
    let lingers = server.watch(&drawing, DRAWINGS)?;
    if !lingers.is_zero() {
        notes.push(format!(
            "read {} ms after what draws, for the server works on after it has answered",
            lingers.as_millis().max(1)
        ));
    }
    // What is prepared before and measured after the passes is part of the time limit.
    let rests = |lasts: Duration| match plan.entries_only {
        true => Duration::ZERO,
        false => lasts,
    };
    let around = start.elapsed()
        + rests(Rest::LASTS / 2)
        + rests(Pictures::LASTS)
        + fonts.lasts()
        + first_uses.lasts(plan);
    let plan = Plan {
        time_limit: plan.time_limit.map(|limit| limit.saturating_sub(around)),
        ..plan.clone()
    };
    let phases = vec![
        (PREPARING, rests(Rest::LASTS / 2)),
        (CHOOSING, plan.exploring()),
        (MEASURING, plan.limit()),
        (FONTS, fonts.lasts()),
        (RESTING, rests(Rest::LASTS / 2)),
        (SHOWING, rests(Pictures::LASTS)),
        (FIRST_USES, first_uses.lasts(&plan)),
    ];
    let mut meter = Meter::new(phases, progress);
    meter.begin(PREPARING);
    if !plan.entries_only {
        rest.begin(&mut server, target)?;
    }
    let mut run = Run {
        plan: &plan,
        mirror,
        references,
        meter,
        notes,
        pinned: pinned.is_some(),
        begun: 1.0,
        stopped: false,
    };
    server.watch_pace();
    let mut parameters = run.measure(&mut server, own, lone, loads, frame)?;
    rest.times(run.begun);
    let behind = || -> io::Result<()> {
        run.meter.begin(FONTS);
        let entries = fonts.measure(&mut server, &mut run.mirror, &plan)?;
        parameters.requests.extend(entries);
        if plan.entries_only {
            parameters.transport = None;
        }
        if let Some(transport) = &mut parameters.transport {
            run.meter.begin(RESTING);
            rest.measure(&mut server, target, transport)?;
            run.meter.begin(SHOWING);
            shown()?;
            transport.deferred = pictures.measure(&mut server, target, &plan)?;
        }
        if !run.stopped && run.meter.begin(FIRST_USES) {
            first_uses.measure(
                &mut server,
                &mut run.mirror,
                &plan,
                &mut parameters.requests,
            )?;
        }
        Ok(())
    };
    let measured = behind();
    drop((pinned, kept));
    match measured {
        Ok(()) => Ok(parameters),
        Err(error) => Err(failure(error, parameters)),
    }
}

/// The loads, with questions whose replies carry data asked one by one: what the server writes
/// behind the head of a reply is a write of its own only to a client that takes it.
fn in_turns(server: &mut dyn Executor, loads: Vec<Workload>) -> io::Result<Vec<Workload>> {
    let mut all = Vec::new();
    for load in loads {
        let mut turns = load.in_turns();
        if let Some(one) = &turns {
            let answers = server.rehearse(one)?;
            let with_data = |it: &Answers| it.replies == 1 && it.reply_bytes > HEAD;
            turns = turns.filter(|_| answers.iter().all(with_data));
        }
        all.push(turns.unwrap_or(load));
    }
    Ok(all)
}

/// One calibration on its way.
struct Run<'a> {
    plan: &'a Plan,
    mirror: Mirror,
    references: References,
    meter: Meter<'a>,
    notes: Vec<String>,
    pinned: bool,
    /// What was read before all of it is to be multiplied by, for the pace.
    begun: f64,
    /// Whether it was told to stop.
    stopped: bool,
}

/// The loads, the transport's own ones first, and what their requests are as operations: by
/// phase, by kind.
struct Prepared {
    loads: Vec<Workload>,
    operations: Vec<Vec<Vec<Operation>>>,
    own: usize,
    lone: Vec<Lone>,
}

impl Run<'_> {
    fn measure(
        &mut self,
        server: &mut dyn Executor,
        own: Vec<Workload>,
        lone: Vec<Lone>,
        loads: Loads,
        frame: ServerParameters,
    ) -> Result<ServerParameters, MeasureError> {
        let mut parameters = frame;
        let start = match self.references.look(server, self.plan) {
            Ok(start) => start,
            Err(error) => return Err(failure(error, parameters)),
        };
        let chosen = match self.explore(server, loads) {
            Ok(chosen) => chosen,
            Err(error) => return Err(failure(error, parameters)),
        };
        let chosen = match in_turns(server, chosen) {
            Ok(chosen) => chosen,
            Err(error) => return Err(failure(error, parameters)),
        };
        let prepared = self.prepare(own, chosen, lone);
        if prepared.loads.len() == prepared.own && !prepared.measures(self.plan) {
            let wanted = self.plan.wanted.iter().map(|it| it.request.to_string());
            let mut names: Vec<String> = self.plan.only.iter().cloned().chain(wanted).collect();
            names.dedup();
            return Err(MeasureError::Nothing {
                names: names.join(", "),
            });
        }
        let mut readings = Readings::default();
        let mut result = self.sample(server, &prepared, &mut readings);
        let mut references = Vec::new();
        if result.is_ok() && readings.cut != Some(Cut::Stopped) {
            match self.references.look(server, self.plan) {
                Ok(end) => references = self.references.compare(&start, &end),
                Err(error) => result = Err(error),
            }
        }
        let settled = server.settle(self.plan.pace);
        if let Some(settled) = &settled {
            steady(&mut readings, settled);
            self.begun = settled.factor;
        } else if self.plan.pace.is_some() {
            let note =
                "the server's processor could not be looked at: the figures are as they were read";
            self.notes.push(note.into());
        }
        prepared.fill(&mut parameters, &readings, self.plan);
        self.notes.extend(prepared.refusals(&readings));
        match readings.cut {
            Some(Cut::Stopped) => {
                self.stopped = true;
                self.notes.push("interrupted".into());
            }
            Some(Cut::Time) => {
                let passes = readings.syncs.first().map_or(0, Vec::len);
                let note = format!("ended by the time limit in pass {passes}");
                self.notes.push(note);
            }
            None => {}
        }
        parameters.method = identity::method(self.plan, self.pinned, &self.notes);
        parameters.method.references = references;
        parameters.method.pace = settled.map(|it| it.pace);
        if readings.cut == Some(Cut::Time) {
            parameters.method.unmeasured = prepared.unmeasured(&readings);
        }
        match result {
            Ok(()) => Ok(parameters),
            Err(error) => Err(failure(error, parameters)),
        }
    }

    /// What is wanted of all loads, sizes and combinations chosen.
    fn explore(
        &mut self,
        server: &mut dyn Executor,
        mut loads: Loads,
    ) -> io::Result<Vec<Workload>> {
        let plan = self.plan;
        let mirror = &mut self.mirror;
        let mut wants = |load: &Workload| {
            let mut operations = mirror.describe(load).into_iter().flatten();
            operations.any(|operation| plan.wants(operation.request.as_str()))
        };
        loads.series.retain(|series| {
            let first = series.sizes.first();
            first.is_some_and(|size| wants(&(series.load)(*size)))
        });
        loads.candidates.retain(|candidate| wants(&candidate.probe));
        selection::tell_apart(&mut loads, mirror);
        if !plan.wanted.is_empty() {
            selection::narrow(&mut loads, plan, mirror);
        }
        let meter = &mut self.meter;
        meter.begin(CHOOSING);
        let (start, lasts) = (Instant::now(), plan.exploring());
        let mut explorer = Explorer {
            executor: server,
            describe: &mut |load| mirror.describe(load).into_iter().flatten().next(),
            batch: plan.batch() / 4,
            until: start + lasts,
            step: &mut |name| meter.step(part(start.elapsed(), lasts), name),
        };
        explorer.choose(loads)
    }

    /// Describes the loads, and leaves out those that the plan does not want or that are known.
    fn prepare(&mut self, own: Vec<Workload>, chosen: Vec<Workload>, lone: Vec<Lone>) -> Prepared {
        let mut prepared = Prepared {
            own: own.len(),
            loads: own,
            operations: Vec::new(),
            lone,
        };
        for (index, load) in prepared.loads.iter().enumerate() {
            let operations = self.mirror.describe(load);
            // Some of these mix requests; all but NoOperation are among the others again.
            let filed = if index == 0 { operations } else { Vec::new() };
            prepared.operations.push(filed);
        }
        let described: Vec<_> = chosen
            .into_iter()
            .map(|load| (self.mirror.describe(&load), load))
            .collect();
        let needs = Needs::new(
            self.plan,
            described.iter().flat_map(|(all, _)| all.iter().flatten()),
        );
        for (operations, load) in described {
            let all = || operations.iter().flatten();
            // Two loads that the session does not tell apart have one price: the first one's.
            let twice = prepared.operations.contains(&operations) && !load.is_answer;
            let known = all().all(|operation| self.plan.knows(operation));
            if !twice && !known && all().any(|it| needs.include(it)) {
                prepared.loads.push(load);
                prepared.operations.push(operations);
            }
        }
        prepared
    }

    fn sample(
        &mut self,
        server: &mut dyn Executor,
        prepared: &Prepared,
        readings: &mut Readings,
    ) -> io::Result<()> {
        let start = Instant::now();
        let limit = self.plan.limit();
        let meter = &mut self.meter;
        meter.begin(MEASURING);
        let mut step = |step: Step| {
            let Step { load, done, to_do } = step;
            // It ends with the time, or once all has been done often enough.
            let of_all = done as f64 / (done + to_do).max(1) as f64;
            let part = part(start.elapsed(), limit).max(of_all);
            meter.step(part, prepared.name(load))
        };
        sampler::sample(
            server,
            &prepared.loads,
            prepared.own,
            &prepared.lone,
            self.plan,
            readings,
            &mut step,
        )
    }
}

/// Which part of `whole` has gone; all of none.
fn part(gone: Duration, whole: Duration) -> f64 {
    match whole.is_zero() {
        true => 1.0,
        false => gone.as_secs_f64() / whole.as_secs_f64(),
    }
}

impl Prepared {
    /// True where the plan wants one of the transport's own loads.
    fn measures(&self, plan: &Plan) -> bool {
        let mut operations = self.operations.iter().flatten().flatten();
        operations.any(|operation| plan.wants(operation.request.as_str()))
    }

    fn name(&self, load: Option<usize>) -> &'static str {
        load.and_then(|load| self.operations.get(load)?.iter().flatten().next())
            .map_or("transport", |operation| operation.request.as_str())
    }

    /// Fits what was read into the parameters.
    fn fill(&self, parameters: &mut ServerParameters, readings: &Readings, plan: &Plan) {
        let (cpu, wall) = Transport::both(readings, &self.loads);
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
    }

    /// The requests of loads that had no turn.
    fn unmeasured(&self, readings: &Readings) -> Vec<String> {
        let loads = self.own..self.loads.len();
        let read = |load: &usize| {
            readings
                .loads
                .get(*load)
                .is_some_and(|it| it.iter().any(|it| !it.is_empty()))
        };
        let without = loads.filter(|load| !read(load) && !readings.refused.contains(load));
        let names: BTreeSet<&str> = without.map(|load| self.name(Some(load))).collect();
        names.into_iter().map(str::to_owned).collect()
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

/// The error that a failed connection means; what was measured by then goes with it.
fn failure(error: io::Error, partial: ServerParameters) -> MeasureError {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => {
            MeasureError::ServerGone {
                partial: Box::new(partial),
            }
        }
        TimedOut => MeasureError::Protocol {
            what: "does not answer any more".into(),
        },
        _ => error.into(),
    }
}
