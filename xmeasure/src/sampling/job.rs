//! A load in the passes of a calibration, with its operations and all its readings.

use x11prof_session::Operation;

use crate::sampling::handlers::Handled;
use crate::sampling::reading::Reading;
use crate::sampling::statistics::undisturbed;
use crate::server::exchange::ReceivedMessages;
use crate::workloads::workload::{Sync, Workload};

/// A load to be measured, with the readings up to now.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) load: Workload,
    /// The operations of the load's requests, by phase and kind; empty if they have no entry in the parameter file.
    pub(crate) operations: Vec<Vec<Operation>>,
    /// True if the load is in every pass, in longer batches, because its costs are subtracted from the costs of other
    /// loads.
    pub(crate) always: bool,
    /// The replies to one unit of each phase; empty until the load has run, and if the server refused it.
    pub(crate) answers: Vec<ReceivedMessages>,
    /// The server's first error, if it replied with errors: its code, and the opcodes of the request.
    pub(crate) refused: Option<(u8, u8, u16)>,
    /// The readings of each phase, one for each pass.
    pub(crate) readings: Vec<Vec<Reading>>,
    /// The handler times of each phase, one for each pass; empty if the server does not time its handlers.
    pub(crate) handled: Vec<Vec<Handled>>,
    /// The number of times that a batch repeats the load's units.
    pub(crate) times: u64,
}

impl Job {
    /// Creates a job that is measured until the interval of its figures is small enough.
    pub(crate) fn new(load: Workload, operations: Vec<Vec<Operation>>) -> Job {
        Job {
            readings: vec![Vec::new(); load.phases.len()],
            handled: vec![Vec::new(); load.phases.len()],
            load,
            operations,
            always: false,
            answers: Vec::new(),
            refused: None,
            times: 0,
        }
    }

    /// Creates a job that is measured in every pass.
    pub(crate) fn always(load: Workload, operations: Vec<Vec<Operation>>) -> Job {
        Job {
            always: true,
            ..Job::new(load, operations)
        }
    }

    /// The name of the request that the job measures; `None` if the load has no entry in the parameter file.
    pub(crate) fn name(&self) -> Option<&'static str> {
        let operation = self.operations.iter().flatten().next()?;
        Some(operation.request.as_str())
    }

    /// True if the job has at least one reading.
    pub(crate) fn is_read(&self) -> bool {
        self.readings.iter().any(|phase| !phase.is_empty())
            || self.handled.iter().any(|phase| !phase.is_empty())
    }

    /// The warm handler time in microseconds, over all passes, of the only kind of request in the first phase; `None`
    /// without handler times.
    pub(crate) fn handler_time(&self) -> Option<f64> {
        let passes = self.handled.first()?.iter();
        let times = passes.filter_map(|handled| handled.warm.first().copied());
        Some(undisturbed(&times.collect::<Vec<_>>())?.centre)
    }

    /// The readings of the first phase, for loads with one phase.
    pub(crate) fn first(&self) -> &[Reading] {
        self.readings.first().map_or(&[], Vec::as_slice)
    }

    /// The synchronisation of the first phase, for loads with one phase; `None` without phases.
    pub(crate) fn sync(&self) -> Option<Sync> {
        Some(self.load.phases.first()?.sync)
    }
}

/// A request that is sent individually, with the readings up to now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SingleRequest {
    pub(crate) request: Vec<u8>,
    /// True if the request has a reply.
    pub(crate) answered: bool,
    /// The readings of the request, one for each pass.
    pub(crate) readings: Vec<Reading>,
}

impl SingleRequest {
    pub(crate) fn new(request: Vec<u8>, answered: bool) -> SingleRequest {
        SingleRequest {
            request,
            answered,
            readings: Vec::new(),
        }
    }
}

/// A value for each kind of synchronization.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct BySync<T> {
    pub(crate) read_back: T,
    pub(crate) round_trip: T,
    pub(crate) turns: T,
}

impl<T> BySync<T> {
    /// The value for the synchronisation `sync`.
    pub(crate) fn of(&self, sync: Sync) -> &T {
        match sync {
            Sync::ReadBack => &self.read_back,
            Sync::RoundTrip => &self.round_trip,
            Sync::Turns => &self.turns,
        }
    }

    /// The value for the synchronisation `sync`, for changes.
    pub(crate) fn of_mut(&mut self, sync: Sync) -> &mut T {
        match sync {
            Sync::ReadBack => &mut self.read_back,
            Sync::RoundTrip => &mut self.round_trip,
            Sync::Turns => &mut self.turns,
        }
    }
}
