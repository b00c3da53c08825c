//! The measurements of a calibration. Each file defines a probe: its resources on the server, its measurement, and
//! its part of the parameter file.

pub(crate) mod fonts;
pub(crate) mod requests;
pub(crate) mod wakeups;

use std::io;
use std::time::Duration;

use x11prof_cost_model::ServerParameters;

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::progress::Meter;
use crate::sampling::executor::Executor;
use crate::server::client::Client;
use crate::server::tracker::Tracker;

/// A measurement of a calibration.
pub(crate) trait Probe {
    /// True if `plan` needs the probe.
    fn is_wanted(_plan: &Plan) -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Makes the probe's resources on the server, and its requests.
    fn prepare(client: &mut Client, plan: &Plan) -> Result<Self, MeasureError>
    where
        Self: Sized;

    /// The probe's name, for progress reports.
    fn name(&self) -> &'static str;

    /// The approximate duration of `begin` and `measure`.
    fn lasts(&self) -> ProbeDuration;

    /// Makes the measurements that must precede all others.
    fn begin(&mut self, _run: &mut Run<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Makes the measurements.
    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()>;

    /// Writes the probe's results into the file. `tracker` determines the operations of requests.
    fn fit(&self, plan: &Plan, tracker: &mut Tracker, parameters: &mut ServerParameters);
}

/// The approximate durations of a probe's two parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProbeDuration {
    pub(crate) begin: Duration,
    pub(crate) measure: Duration,
}

impl ProbeDuration {
    /// The duration of a probe that measures once.
    pub(crate) fn once(measure: Duration) -> ProbeDuration {
        ProbeDuration {
            begin: Duration::ZERO,
            measure,
        }
    }
}

/// The server that probes measure.
pub(crate) struct Run<'a> {
    pub(crate) server: &'a mut dyn Executor,
    pub(crate) plan: Plan,
    pub(crate) tracker: Tracker,
    pub(crate) progress: Meter<'a>,
}
