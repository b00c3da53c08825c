//! The server under measurement, as a trait so that tests can substitute a simulated server.

use std::io;
use std::time::Duration;

use crate::sampling::batch::Batch;
use crate::sampling::handlers::Handled;
use crate::sampling::reading::Reading;
use crate::server::exchange::ReceivedMessages;
use crate::workloads::workload::{Sync, Workload};

/// The sender's work while it leaves the server alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The sender sleeps: the server's processor is idle.
    Sleep(Duration),
    /// The sender works as programs do between two batches, on the server's processor if both are pinned there.
    Work(Duration),
}

#[cfg(test)]
impl Pause {
    /// The length of the pause.
    pub(crate) fn lasts(self) -> Duration {
        match self {
            Pause::Sleep(time) | Pause::Work(time) => time,
        }
    }
}

/// A server under measurement. The real one is behind a socket; tests have a simulated one of known costs.
pub(crate) trait Executor {
    /// The duration of the measurement so far.
    fn elapsed(&self) -> Duration;

    /// Leaves the server alone.
    fn pause(&mut self, pause: &[Pause]);

    /// Runs a load once to determine its replies: for each phase, the replies to one unit.
    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<ReceivedMessages>>;

    /// Runs a load's units `times` times, and returns a reading for each phase.
    fn run(
        &mut self,
        workload: &Workload,
        answers: &[ReceivedMessages],
        times: u64,
    ) -> io::Result<Vec<Reading>>;

    /// Runs each phase of a load once, and returns its handler times; `None` if the server does not time its handlers,
    /// or if their times did not arrive.
    fn handled(
        &mut self,
        _workload: &Workload,
        _answers: &[ReceivedMessages],
    ) -> io::Result<Option<Vec<Handled>>> {
        Ok(None)
    }

    /// Runs only this many synchronisations.
    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading>;

    /// Sends a request `count` times, each time to a sleeping server.
    fn alone(&mut self, request: &[u8], answered: bool, count: u32) -> io::Result<Reading>;

    /// The CPU time of a batch after a pause, in microseconds; `None` if it cannot be read.
    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>>;

    /// The CPU time of a new connection, opened and closed, after a pause.
    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>>;
}
