//! What the clocks say of a batch, and where its sender was.

use x11prof_cost_model::Clock;

/// What the clocks say of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// The server's processor time in microseconds, where it can be read.
    pub(crate) cpu: Option<f64>,
    /// Wall time in microseconds.
    pub(crate) wall: f64,
    /// Requests sent, synchronisations left out.
    pub(crate) requests: u64,
    /// Synchronisations.
    pub(crate) syncs: u64,
    /// How often the server went to sleep, where it is known.
    pub(crate) sleeps: Option<u64>,
    /// Whether the sender was kept on another processor than the server: then the wall counts.
    /// If it was kept on the same one, the server's own clock does: it is steadier there, but
    /// the wall holds the sender's time as well. `None` where neither was.
    pub(crate) apart: Option<bool>,
    /// The part of the wall time, in microseconds, in which somebody else had the processor.
    pub(crate) lost: f64,
    /// What a piece of work that is always the same took on the server's processor at that time, in
    /// microseconds, where that was read.
    pub(crate) pace: Option<f64>,
}

impl Reading {
    /// Adds another batch of the same kind.
    pub(crate) fn add(&mut self, other: &Reading) {
        self.cpu = self.cpu.zip(other.cpu).map(|(a, b)| a + b);
        self.wall += other.wall;
        self.requests += other.requests;
        self.syncs += other.syncs;
        self.sleeps = self.sleeps.zip(other.sleeps).map(|(a, b)| a + b);
        self.lost += other.lost;
        self.apart = other.apart;
    }

    /// It at a pace at which everything takes `factor` times as long.
    pub(crate) fn times(&self, factor: f64) -> Reading {
        Reading {
            cpu: self.cpu.map(|cpu| cpu * factor),
            wall: self.wall * factor,
            lost: self.lost * factor,
            ..*self
        }
    }

    /// The part of the wall time that it lost.
    pub(crate) fn loss(&self) -> f64 {
        self.lost / self.wall.max(f64::MIN_POSITIVE)
    }

    /// The time on `clock`, where it counts.
    pub(crate) fn time(&self, clock: Clock) -> Option<f64> {
        match clock {
            Clock::Cpu => self.cpu.filter(|_| self.apart != Some(true)),
            Clock::Wall => Some(self.wall).filter(|_| self.apart != Some(false)),
        }
    }

    /// The part of the wall time in which the server was at work, where it had a processor to
    /// itself; without the synchronisations, of which `sync` were measured by themselves.
    pub(crate) fn busy(&self, sync: &Reading) -> Option<f64> {
        let cpu = self.cpu.filter(|_| self.apart == Some(true))?;
        let syncs = self.syncs as f64 / sync.syncs.max(1) as f64;
        let (cpu, wall) = (cpu - syncs * sync.cpu?, self.wall - syncs * sync.wall);
        (wall > 0.0).then(|| (cpu / wall).clamp(0.0, 1.0))
    }
}

/// Where the sender runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Where it was put for all batches.
    Usual,
    /// On another processor than the server's.
    Other,
}
