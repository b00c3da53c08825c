//! The loads of a calibration.

use crate::workloads::workload::Workload;

/// The loads that a server supports, and the features that it lacks.
#[derive(Default)]
pub(crate) struct Loads {
    pub(crate) all: Vec<Workload>,
    /// Descriptions of the features that the server lacks, so that their loads are skipped.
    pub(crate) absent: Vec<String>,
}

impl Loads {
    /// Adds a load to the list.
    pub(crate) fn push(&mut self, load: Workload) {
        self.all.push(load);
    }

    /// Notes that the server lacks the feature `what`.
    pub(crate) fn lacks(&mut self, what: impl Into<String>) {
        self.absent.push(what.into());
    }
}
