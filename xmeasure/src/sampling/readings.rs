//! The loads of a calibration's passes, with their readings.

use crate::sampling::job::{BySync, Job, SingleRequest};
use crate::sampling::reading::Reading;
use crate::server::wire;
use crate::workloads::transport::TransportLoads;

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
            transport,
            requests,
            is_cut: false,
        }
    }

    /// The loads with their readings, the loads for transport first.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.transport.all().into_iter().chain(&self.requests)
    }
}
