//! The loads of a calibration.

use crate::workloads::workload::{Sync, Workload};

/// The loads that a server supports.
#[derive(Default)]
pub(crate) struct Loads {
    pub(crate) all: Vec<Workload>,
    /// Descriptions of the features that the server lacks.
    pub(crate) absent: Vec<String>,
}

impl Loads {
    /// Adds a load.
    pub(crate) fn push(&mut self, load: Workload) {
        self.all.push(load);
    }

    /// Adds a load of one item for each size.
    pub(crate) fn series(
        &mut self,
        sizes: impl IntoIterator<Item = u16>,
        load: impl Fn(u16) -> Workload,
    ) {
        self.all.extend(sizes.into_iter().map(load));
    }

    /// Adds a load that repeats a request that does not draw.
    pub(crate) fn plain(&mut self, request: Vec<u8>) {
        self.push(Workload::repeated(&request, Sync::RoundTrip));
    }

    /// Adds a load of an expensive request.
    pub(crate) fn costly(&mut self, request: Vec<u8>) {
        self.push(Workload::costly(&request));
    }

    /// Adds two alternating requests, the second of which undoes the first. The measurement is their mean, because
    /// it cannot distinguish them.
    pub(crate) fn pair(&mut self, there: Vec<u8>, back: Vec<u8>) {
        self.push(Workload::alternating(&there, &back));
    }

    /// Records that the server lacks a feature.
    pub(crate) fn lacks(&mut self, what: impl Into<String>) {
        self.absent.push(what.into());
    }
}
