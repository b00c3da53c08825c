//! The loads of a calibration's passes and their readings.

use crate::sampling::job::{BySync, Job, SingleRequest};
use crate::sampling::reading::Reading;
use crate::server::wire;
use crate::workloads::transport::TransportLoads;

/// A request without a reply and a request with one, sent individually.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SingleRequestPair {
    pub(crate) nothing: SingleRequest,
    pub(crate) question: SingleRequest,
}

impl SingleRequestPair {
    /// NoOperation and GetInputFocus.
    fn new() -> SingleRequestPair {
        SingleRequestPair {
            nothing: SingleRequest::new(wire::no_operation(1), false),
            question: SingleRequest::new(wire::input_focus(), true),
        }
    }
}

/// The loads of the passes with the readings of them.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    /// The readings by kind, one in each pass.
    pub(crate) syncs: BySync<Vec<Reading>>,
    pub(crate) alone: SingleRequestPair,
    pub(crate) transport: TransportLoads<Job>,
    pub(crate) requests: Vec<Job>,
    /// Why the sampling ended before all loads had been measured often enough; `None` if it was complete.
    pub(crate) cut: Option<StoppedBy>,
}

/// The cause of a sampling's early end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoppedBy {
    /// The user.
    Stopped,
    /// The plan's time limit.
    Time,
}

impl Readings {
    /// Loads without readings.
    pub(crate) fn new(transport: TransportLoads<Job>, requests: Vec<Job>) -> Readings {
        Readings {
            syncs: BySync::default(),
            alone: SingleRequestPair::new(),
            transport,
            requests,
            cut: None,
        }
    }

    /// The loads, the transport's first.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.transport.all().into_iter().chain(&self.requests)
    }
}
