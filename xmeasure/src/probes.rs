//! The measurements of a calibration, each a file of its own: what it prepares on the server,
//! what it measures, and what follows from that for the parameter file.

pub(crate) mod first_uses;
pub(crate) mod fonts;
pub(crate) mod late_work;
mod mixed_requests;
pub(crate) mod references;
pub(crate) mod requests;
pub(crate) mod screen_updates;
pub(crate) mod wakeups;

use std::io;
use std::time::Duration;

use x11prof_cost_model::ServerParameters;

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::progress::Meter;
use crate::sampling::executor::{Executor, SettledPace};
use crate::server::client::Client;
use crate::server::tracker::Tracker;

/// One measurement of a calibration.
pub(crate) trait Probe {
    /// True where `plan` needs it.
    fn is_wanted(_plan: &Plan) -> bool
    where
        Self: Sized,
    {
        true
    }

    /// Makes on the server what it needs, and the requests that it will send.
    fn prepare(client: &mut Client, plan: &Plan) -> Result<Self, MeasureError>
    where
        Self: Sized;

    /// What progress calls it.
    fn name(&self) -> &'static str;

    /// About how long `begin` and `measure` take.
    fn lasts(&self) -> ProbeDuration;

    /// Measures what is to be known from before all other measurements.
    fn begin(&mut self, _run: &mut Run<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Brings what was read so far to the pace of the whole calibration.
    fn settle(&mut self, _settled: &SettledPace) {}

    /// Measures.
    fn measure(&mut self, run: &mut Run<'_>) -> io::Result<()>;

    /// Writes what follows from it into the file. `tracker` tells what requests are filed under.
    fn fit(&self, plan: &Plan, tracker: &mut Tracker, parameters: &mut ServerParameters);
}

/// How long the two parts of a probe take, about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProbeDuration {
    pub(crate) begin: Duration,
    pub(crate) measure: Duration,
}

impl ProbeDuration {
    /// Of one that measures once.
    pub(crate) fn once(measure: Duration) -> ProbeDuration {
        ProbeDuration {
            begin: Duration::ZERO,
            measure,
        }
    }
}

/// What probes measure with.
pub(crate) struct Run<'a> {
    pub(crate) server: &'a mut dyn Executor,
    pub(crate) plan: Plan,
    pub(crate) tracker: Tracker,
    pub(crate) progress: Meter<'a>,
    /// Lets somebody look at what the server shows, for what it does only then.
    pub(crate) show: &'a mut dyn FnMut() -> io::Result<()>,
}
