//! The loads of a calibration: single ones, and series over a size, whose sizes are yet to be chosen.

use crate::workloads::workload::{Sync, Workload};

/// A load that can be made at any size.
pub(crate) struct Series {
    /// The sizes to start from, in ascending order; the first and the last bound the series.
    pub(crate) sizes: Vec<u16>,
    /// An interval between two sizes is halved at most this often.
    pub(crate) deepest: usize,
    /// The load of one item of that size.
    pub(crate) load: Box<dyn Fn(u16) -> Workload>,
}

impl Series {
    /// A series.
    pub(crate) fn new(
        sizes: impl IntoIterator<Item = u16>,
        load: impl Fn(u16) -> Workload + 'static,
    ) -> Series {
        Series {
            sizes: sizes.into_iter().collect(),
            deepest: 2,
            load: Box::new(load),
        }
    }
}

impl Series {
    /// The series with intervals halved as often as this at most.
    pub(crate) fn halved_to(mut self, deepest: usize) -> Series {
        self.deepest = deepest;
        self
    }
}

/// Loads of a combination of attributes, measured only if their cost does not follow from the others'.
pub(crate) struct Candidate {
    /// The load whose cost decides.
    pub(crate) probe: Workload,
    pub(crate) series: Series,
    pub(crate) single: Vec<Workload>,
}

/// The loads that a server can be given.
#[derive(Default)]
pub(crate) struct Loads {
    pub(crate) single: Vec<Workload>,
    pub(crate) series: Vec<Series>,
    pub(crate) candidates: Vec<Candidate>,
    /// The features that the server lacks, in words.
    pub(crate) absent: Vec<String>,
}

impl Loads {
    /// Adds a single load.
    pub(crate) fn push(&mut self, load: Workload) {
        self.single.push(load);
    }

    /// Adds a load of a request that draws nothing, again and again.
    pub(crate) fn plain(&mut self, request: Vec<u8>) {
        self.push(Workload::repeated(&request, Sync::RoundTrip));
    }

    /// Adds a load of a request that takes the server long.
    pub(crate) fn costly(&mut self, request: Vec<u8>) {
        self.push(Workload::costly(&request));
    }

    /// Adds two requests in turn, the second of which undoes the first. The measurement is their mean, for it cannot
    /// tell them from each other.
    pub(crate) fn pair(&mut self, there: Vec<u8>, back: Vec<u8>) {
        self.push(Workload::alternating(&there, &back));
    }

    /// Notes that the server lacks something.
    pub(crate) fn lacks(&mut self, what: impl Into<String>) {
        self.absent.push(what.into());
    }
}
