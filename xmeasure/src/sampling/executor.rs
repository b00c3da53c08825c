//! The server under measurement as a trait, so that tests can substitute a simulated server.

use std::io;
use std::time::Duration;

use crate::sampling::batch::Batch;
use crate::sampling::handlers::Handled;
use crate::sampling::reading::Reading;
use crate::server::exchange::ReceivedMessages;
use crate::workloads::workload::{Sync, Workload};

/// The activity of the sender during a pause, in which it sends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The sender sleeps, so that the server's processor is idle.
    Sleep(Duration),
    /// The sender works as programs do between two batches; on the server's processor, if both are pinned to it.
    Work(Duration),
}

#[cfg(test)]
impl Pause {
    /// The length of the pause, in which the sender sends nothing to the server.
    pub(crate) fn lasts(self) -> Duration {
        match self {
            Pause::Sleep(time) | Pause::Work(time) => time,
        }
    }
}

/// A server under measurement. The real server is behind a socket. In tests, a simulated server has known costs.
pub(crate) trait Executor {
    /// The duration of the measurement up to now.
    fn elapsed(&self) -> Duration;

    /// Sends nothing to the server during these pauses.
    fn pause(&mut self, pause: &[Pause]);

    /// Runs a load once to determine its replies. Returns the replies to one unit of each phase.
    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<ReceivedMessages>>;

    /// Runs the units of a load `times` times, and returns the reading of each phase. `answers` are the replies to one
    /// unit of each phase.
    fn run(
        &mut self,
        workload: &Workload,
        answers: &[ReceivedMessages],
        times: u64,
    ) -> io::Result<Vec<Reading>>;

    /// Runs each phase of a load once, and returns the handler times of each phase; `None` if the server does not time
    /// its handlers, or if times did not arrive. `answers` are the replies to one unit of each phase.
    fn handled(
        &mut self,
        _workload: &Workload,
        _answers: &[ReceivedMessages],
    ) -> io::Result<Option<Vec<Handled>>> {
        Ok(None)
    }

    /// Runs only synchronisations of the kind `sync`, `times` times.
    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading>;

    /// Sends `request` individually `count` times, each time to a sleeping server. `answered` is true if it has a
    /// reply.
    fn alone(&mut self, request: &[u8], answered: bool, count: u32) -> io::Result<Reading>;

    /// Returns the CPU time of a batch after a pause, in microseconds; `None` if it cannot be read.
    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>>;

    /// The CPU time of opening and closing a connection after a pause, in microseconds; `None` if it cannot be read.
    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>>;
}
