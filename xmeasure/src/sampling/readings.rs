//! The loads of a calibration's passes, with their readings.

use std::time::Duration;

use crate::sampling::job::{BySync, Job, SingleRequest};
use crate::sampling::reading::Reading;
use crate::server::wire;
use crate::workloads::transport::TransportLoads;

/// A pause in each pass, in which only other clients use the server.
pub(crate) const IDLE: Duration = Duration::from_millis(100);
/// A share of other clients up to this is less than the calibration's own uncertainty.
const NEGLIGIBLE: f64 = 0.02;

/// A request without a reply and a request with a reply, both sent individually.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SingleRequestPair {
    pub(crate) nothing: SingleRequest,
    pub(crate) question: SingleRequest,
}

impl SingleRequestPair {
    /// Creates the pair of NoOperation and GetInputFocus.
    fn new() -> SingleRequestPair {
        SingleRequestPair {
            nothing: SingleRequest::new(wire::no_operation(1), false),
            question: SingleRequest::new(wire::input_focus(), true),
        }
    }
}

/// The loads of all passes, with their readings.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    /// The readings of each kind of synchronisation, one for each pass.
    pub(crate) syncs: BySync<Vec<Reading>>,
    pub(crate) alone: SingleRequestPair,
    /// The CPU time of the server in each pause of `IDLE`, in microseconds.
    pub(crate) idle: Vec<f64>,
    pub(crate) transport: TransportLoads<Job>,
    pub(crate) requests: Vec<Job>,
    /// True if the plan's time limit ended sampling before all loads had been measured often enough.
    pub(crate) is_cut: bool,
}

impl Readings {
    /// Creates the loads without readings.
    pub(crate) fn new(transport: TransportLoads<Job>, requests: Vec<Job>) -> Readings {
        Readings {
            syncs: BySync::default(),
            alone: SingleRequestPair::new(),
            idle: Vec::new(),
            transport,
            requests,
            is_cut: false,
        }
    }

    /// Sentences about what disturbed the sampling in `passes` planned passes.
    pub(crate) fn warnings(&self, passes: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let time = IDLE.as_secs_f64() * 1e6 * self.idle.len() as f64;
        let others = self.idle.iter().sum::<f64>() / time;
        if others >= NEGLIGIBLE {
            warnings.push(format!(
                "other clients kept the server busy for {:.0} % of the time, so costs may be too high; calibrate again \
                 when they are idle, or calibrate a private server (--server)",
                100.0 * others
            ));
        }
        // The last pass was not completed.
        let complete = self.idle.len().saturating_sub(1);
        if self.is_cut && complete * 2 < passes {
            warnings.push(format!(
                "the machine was busy: only {complete} of {passes} passes were completed, so costs may be wrong; \
                 calibrate again when it is idle"
            ));
        }
        warnings
    }

    /// The loads with their readings, the loads for transport first.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.transport.all().into_iter().chain(&self.requests)
    }
}
