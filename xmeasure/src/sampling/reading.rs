//! The clocks' readings for a batch.

use x11prof_cost_model::Clock;

/// The readings of the clocks for a batch of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// The CPU time of the server in microseconds; `None` if it cannot be read.
    pub(crate) cpu: Option<f64>,
    /// The wall-clock time in microseconds.
    pub(crate) wall: f64,
    /// The number of requests in the measured batch, without synchronizations.
    pub(crate) requests: u64,
    /// The number of synchronisations.
    pub(crate) syncs: u64,
    /// The number of times that the server went to sleep; `None` if unknown.
    pub(crate) sleeps: Option<u64>,
}

impl Reading {
    /// Adds the reading of another batch of the same kind.
    pub(crate) fn add(&mut self, other: &Reading) {
        self.cpu = self.cpu.zip(other.cpu).map(|(a, b)| a + b);
        self.wall += other.wall;
        self.requests += other.requests;
        self.syncs += other.syncs;
        self.sleeps = self.sleeps.zip(other.sleeps).map(|(a, b)| a + b);
    }

    /// The time on `clock` in microseconds; `None` if it is not available. Wall-clock time is used only if the server's
    /// CPU time cannot be read.
    pub(crate) fn time(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Cpu => self.cpu,
            Clock::Wall => self.cpu.is_none().then_some(self.wall),
        }
    }
}
