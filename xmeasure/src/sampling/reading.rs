//! The clocks' figures for a batch.

use x11prof_cost_model::Clock;

/// The clocks' figures for a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// The server's processor time in microseconds, if it can be read.
    pub(crate) cpu: Option<f64>,
    /// Wall time in microseconds.
    pub(crate) wall: f64,
    /// The number of requests, without synchronisations.
    pub(crate) requests: u64,
    /// Synchronisations.
    pub(crate) syncs: u64,
    /// The number of the server's sleeps, if known.
    pub(crate) sleeps: Option<u64>,
}

impl Reading {
    /// Adds another batch of the same kind.
    pub(crate) fn add(&mut self, other: &Reading) {
        self.cpu = self.cpu.zip(other.cpu).map(|(a, b)| a + b);
        self.wall += other.wall;
        self.requests += other.requests;
        self.syncs += other.syncs;
        self.sleeps = self.sleeps.zip(other.sleeps).map(|(a, b)| a + b);
    }

    /// The time on `clock`. Wall time is used only if the server's CPU time cannot be read.
    pub(crate) fn time(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Cpu => self.cpu,
            Clock::Wall => self.cpu.is_none().then_some(self.wall),
        }
    }
}
