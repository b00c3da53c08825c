//! The measurements of a calibration. Each file defines a probe: its resources on the server, its measurement, and its
//! part of the parameter file.

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

/// One kind of measurement of a calibration.
pub(crate) trait Probe {
    /// True if `plan` requires the probe.
    fn is_wanted(_plan: &Plan) -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Creates the probe's resources on the server, and its requests.
    fn prepare(client: &mut Client, plan: &Plan) -> Result<Self, MeasureError>
    where
        Self: Sized;

    /// The name of the probe, for progress reports.
    fn name(&self) -> &'static str;

    /// The approximate durations of `begin` and `measure`.
    fn lasts(&self) -> ProbeDuration;

    /// Performs the measurements that must precede the measurements of all other probes.
    fn begin(&mut self, _run: &mut Run<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Performs the probe's measurements, except those that `begin` performs.
    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()>;

    /// Writes the results of the probe into `parameters`. `tracker` determines the operations of requests.
    fn fit(&self, plan: &Plan, tracker: &mut Tracker, parameters: &mut ServerParameters);
}

/// The approximate durations of the two parts of a probe's measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProbeDuration {
    pub(crate) begin: Duration,
    pub(crate) measure: Duration,
}

impl ProbeDuration {
    /// The duration of a probe that only has the part `measure`.
    pub(crate) fn once(measure: Duration) -> ProbeDuration {
        ProbeDuration {
            begin: Duration::ZERO,
            measure,
        }
    }
}

/// The state of a running calibration, which all probes use.
pub(crate) struct Run<'a> {
    pub(crate) server: &'a mut dyn Executor,
    pub(crate) plan: Plan,
    pub(crate) tracker: Tracker,
    pub(crate) progress: Meter<'a>,
}
