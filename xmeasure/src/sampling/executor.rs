//! What is measured: everything goes through a trait, so that a simulated server can stand in.

use std::io;
use std::time::Duration;

use x11prof_cost_model::Pace;

use crate::sampling::batch::Batch;
use crate::sampling::reading::{Place, Reading};
use crate::server::exchange::Answers;
use crate::workloads::workload::{Sync, Workload};

/// What the sender does while it leaves the server alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It sleeps: the server's processor is idle.
    Sleep(Duration),
    /// It works as programs do between two batches, on the server's processor where both are pinned there.
    Work(Duration),
}

/// A server under measurement. The real one is behind a socket; tests have a simulated one whose
/// costs are known.
pub(crate) trait Executor {
    /// How long the measurement has taken so far.
    fn elapsed(&self) -> Duration;

    /// Leaves the server alone.
    fn pause(&mut self, pause: &[Pause]);

    /// Puts the sender there for what follows, if it can be put there.
    fn place(&mut self, place: Place) -> io::Result<()>;

    /// Runs a load once, to learn what it is answered with: for each phase, what one unit brings.
    fn rehearse(&mut self, workload: &Workload) -> io::Result<Vec<Answers>>;

    /// Runs a load's units that many times: a reading for each phase.
    fn run(
        &mut self,
        workload: &Workload,
        answers: &[Answers],
        times: u64,
    ) -> io::Result<Vec<Reading>>;

    /// That many synchronisations and nothing else.
    fn synchronise(&mut self, sync: Sync, times: u64) -> io::Result<Reading>;

    /// A request `count` times, each time to a server that sleeps.
    fn alone(
        &mut self,
        request: &[u8],
        answered: bool,
        count: u32,
        place: Place,
    ) -> io::Result<Reading>;

    /// The processor time that a batch costs the server after a pause, in microseconds; `None`
    /// where it cannot be read.
    fn after(&mut self, pause: &[Pause], batch: &Batch) -> io::Result<Option<f64>>;

    /// The same of a new connection, made and closed.
    fn connect_after(&mut self, pause: &[Pause]) -> io::Result<Option<f64>>;

    /// A batch without answers, sent to a server that sleeps, with all that the server does for
    /// it within `wait`. The wall is not read.
    fn with_what_follows(&mut self, batch: &Batch, wait: Duration) -> io::Result<Reading>;

    /// Finds out for how long the server goes on with `drawing` after it has answered and fallen
    /// asleep; what it does then is read as well from now on. Zero of most servers.
    fn find_late_work(&mut self, drawing: &Batch) -> io::Result<Duration>;

    /// Begins to read how fast the processor is while loads run.
    fn watch_pace(&mut self) {}

    /// Brings what is measured from now on to the mean pace so far, or to the one that is `aim`
    /// times as slow as the fastest; `None` where the pace was not read.
    fn settle(&mut self, _aim: Option<f64>) -> Option<SettledPace> {
        None
    }
}

/// The pace of a calibration, once that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettledPace {
    pub(crate) pace: Pace,
    /// What a look took on average, in microseconds.
    pub(crate) mean_us: f64,
    /// What figures that were read before are to be multiplied by.
    pub(crate) factor: f64,
}
