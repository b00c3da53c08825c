//! Runs a complete calibration: connects to the server, prepares the probes, measures, and computes the costs. The list
//! of probes determines what is measured.

use std::io;
use std::time::Duration;

use x11prof_cost_model::ServerParameters;
use x11prof_proxy::HandlerTimes;

use crate::error::MeasureError;
use crate::plan::{Plan, Progress};
use crate::probes::fonts::FontFilesProbe;
use crate::probes::requests::{MEASURING, RequestCostsProbe};
use crate::probes::wakeups::Wakeups;
use crate::probes::{Probe, Run};
use crate::progress::Meter;
use crate::sampling::live::LiveServer;
use crate::server::client::Client;
use crate::server::connection::RawConnection;
use crate::server::identity;
use crate::server::process::Pinned;
use crate::server::target::Target;

/// The name, in progress reports, of the phase before the passes over the loads.
const PREPARING: &str = "preparing";

/// The probes except the request costs.
fn others(client: &mut Client, plan: &Plan) -> Result<Vec<Box<dyn Probe>>, MeasureError> {
    let mut probes = Vec::new();
    add::<FontFilesProbe>(&mut probes, client, plan)?;
    add::<Wakeups>(&mut probes, client, plan)?;
    Ok(probes)
}

fn add<P: Probe + 'static>(
    probes: &mut Vec<Box<dyn Probe>>,
    client: &mut Client,
    plan: &Plan,
) -> Result<(), MeasureError> {
    if P::is_wanted(plan) {
        probes.push(Box::new(P::prepare(client, plan)?));
    }
    Ok(())
}

/// Measures the costs of requests on the server `target` according to `plan`. Before each batch, calls `progress` with
/// the completed share of the calibration. `handlers` reads the times of the server's request handlers; `None` if the
/// server does not time its handlers.
///
/// # Errors
///
/// Fails if the display cannot be reached or refuses the connection, if none of the requested requests can be measured,
/// if the server exits, or if the plan's flag stops the calibration. If the server exits, the error contains the measurements so far.
pub fn measure(
    target: &Target,
    plan: &Plan,
    handlers: Option<HandlerTimes>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<ServerParameters, MeasureError> {
    let raw = RawConnection::open(target.link(), &plan.stop)?;
    let mut notes = Vec::new();
    let pinned = match (target.pid(), plan.pin) {
        (Some(pid), Some(pin)) => match Pinned::new(pid, pin) {
            Ok(pinned) => Some(pinned),
            Err(error) => {
                notes.push(format!("the server could not be pinned: {error}"));
                None
            }
        },
        _ => None,
    };
    let plan = Plan {
        pin: plan.pin.filter(|_| pinned.is_some()),
        timed: handlers.is_some(),
        ..plan.clone()
    };
    let mut client = Client::new(raw)?;
    let mut calibration = Calibration::prepare(&mut client, &plan)?;
    client.synchronise()?;
    let empty = target.parameters();
    let Client {
        raw,
        tracker,
        window,
        segments,
        ..
    } = client;
    let mut server = LiveServer::new(raw, window, target, handlers)?;
    calibration.notes = notes;
    let mut run = Run {
        plan: plan.clone(),
        progress: Meter::new(calibration.phases(&plan), progress),
        server: &mut server,
        tracker,
    };
    let parameters = calibration.run(&mut run, empty);
    drop((pinned, segments));
    parameters
}

/// The probes of a calibration.
pub(crate) struct Calibration {
    requests: RequestCostsProbe,
    others: Vec<Box<dyn Probe>>,
    /// Sentences about the measurement for the user.
    notes: Vec<String>,
}

impl Calibration {
    /// Prepares all probes that `plan` needs, with their resources on the server.
    pub(crate) fn prepare(client: &mut Client, plan: &Plan) -> Result<Calibration, MeasureError> {
        Ok(Calibration {
            others: others(client, plan)?,
            requests: RequestCostsProbe::prepare(client, plan)?,
            notes: Vec::new(),
        })
    }

    /// The names of the phases, with their approximate durations.
    pub(crate) fn phases(&self, plan: &Plan) -> Vec<(&'static str, Duration)> {
        let before = self.others.iter().map(|probe| probe.lasts().begin).sum();
        let passes = [(PREPARING, before), (MEASURING, plan.limit())];
        let others = self.others.iter();
        let others = others.map(|probe| (probe.name(), probe.lasts().measure));
        passes.into_iter().chain(others).collect()
    }

    /// Runs all probes, writes their results into `parameters`, and returns `parameters`.
    pub(crate) fn run(
        &mut self,
        run: &mut Run<'_>,
        mut parameters: ServerParameters,
    ) -> Result<ServerParameters, MeasureError> {
        let absent = self.requests.absent();
        if !absent.is_empty() {
            self.notes.push(format!("absent: {}", absent.join(", ")));
        }
        if let Err(error) = self.before(run) {
            return Err(failure(error, parameters));
        }
        if self.requests.is_empty(&run.plan) {
            return Err(nothing(&run.plan));
        }
        let mut measured = self.requests.measure(run);
        self.notes.extend(self.requests.notes());
        parameters.method = identity::method(&run.plan, &self.notes);
        self.requests
            .fit(&run.plan, &mut run.tracker, &mut parameters);
        if measured.is_ok() {
            measured = self.after(run, &mut parameters);
        }
        match measured {
            Ok(()) => Ok(parameters),
            Err(error) => Err(failure(error, parameters)),
        }
    }

    /// Runs the measurements that precede the passes over the loads, and prepares the loads.
    fn before(&mut self, run: &mut Run<'_>) -> io::Result<()> {
        run.progress.begin(PREPARING);
        for probe in &mut self.others {
            probe.begin(run)?;
        }
        self.requests.begin(run)
    }

    /// Runs the measurements after the passes, and writes the results to `parameters`.
    fn after(&mut self, run: &mut Run<'_>, parameters: &mut ServerParameters) -> io::Result<()> {
        for probe in &mut self.others {
            run.progress.begin(probe.name());
            probe.measure(run)?;
            probe.fit(&run.plan, &mut run.tracker, parameters);
        }
        Ok(())
    }
}

/// Returns the error for a plan of which no request can be measured.
fn nothing(plan: &Plan) -> MeasureError {
    MeasureError::Nothing {
        names: plan.only.join(", "),
    }
}

/// Converts an error of the connection. If the server closed the connection, the result contains the measurements so
/// far.
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

#[cfg(test)]
mod tests;
