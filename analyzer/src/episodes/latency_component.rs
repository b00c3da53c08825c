//! The components of a latency: each instant of an episode has one owner.

use super::cause::{Cause, ServerCause};

/// The party to which an instant of an episode is attributed, such as the client or the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LatencyComponent {
    /// The stimulus waits: the client has not begun to handle it.
    Waiting,
    /// The client runs on a processor.
    Client,
    /// The client does not run on a processor, for this reason.
    OffCpu(Cause),
    /// The server works for the client, or a reply is pending.
    Server(ServerCause),
    /// Bytes are in flight between client and server.
    Network,
    /// The client has finished; other clients handle the effects.
    Others,
    /// The client waits for the reply to a request to another client, or for the screen's clock.
    Awaited,
}

/// The nanoseconds of a latency, by owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencyBreakdown([u64; 15]);

impl LatencyBreakdown {
    /// All owners, in the order of the array in [`LatencyBreakdown`].
    pub const OWNERS: [LatencyComponent; 15] = [
        LatencyComponent::Waiting,
        LatencyComponent::Client,
        LatencyComponent::OffCpu(Cause::Processor),
        LatencyComponent::OffCpu(Cause::Sleeping),
        LatencyComponent::OffCpu(Cause::Synchronisation),
        LatencyComponent::OffCpu(Cause::File),
        LatencyComponent::OffCpu(Cause::Poll),
        LatencyComponent::OffCpu(Cause::Elsewhere),
        LatencyComponent::Server(ServerCause::Reply),
        LatencyComponent::Server(ServerCause::Grabbed),
        LatencyComponent::Server(ServerCause::Drawing),
        LatencyComponent::Server(ServerCause::Processor),
        LatencyComponent::Network,
        LatencyComponent::Others,
        LatencyComponent::Awaited,
    ];

    fn index(owner: LatencyComponent) -> usize {
        LatencyBreakdown::OWNERS
            .iter()
            .position(|one| *one == owner)
            .unwrap_or(0)
    }

    /// Adds `nanos` nanoseconds to an owner.
    pub(crate) fn add(&mut self, owner: LatencyComponent, nanos: u64) {
        let part = &mut self.0[LatencyBreakdown::index(owner)];
        *part = part.saturating_add(nanos);
    }

    /// Sets the nanoseconds of an owner to `nanos`.
    pub(crate) fn set(&mut self, owner: LatencyComponent, nanos: u64) {
        self.0[LatencyBreakdown::index(owner)] = nanos;
    }

    /// Moves up to `nanos` nanoseconds from owner `from` to owner `to`.
    pub(crate) fn shift(&mut self, from: LatencyComponent, to: LatencyComponent, nanos: u64) {
        let nanos = nanos.min(self.of(from));
        self.0[LatencyBreakdown::index(from)] -= nanos;
        self.add(to, nanos);
    }

    /// Adds the nanoseconds of `more`, owner by owner.
    pub(crate) fn merge(&mut self, more: &LatencyBreakdown) {
        for (part, more) in self.0.iter_mut().zip(more.0) {
            *part = part.saturating_add(more);
        }
    }

    /// Returns the nanoseconds added since `first`, an earlier state of the same sums.
    pub(crate) fn without(mut self, first: &LatencyBreakdown) -> LatencyBreakdown {
        for (part, first) in self.0.iter_mut().zip(first.0) {
            *part = part.saturating_sub(first);
        }
        self
    }

    /// The nanoseconds of an owner.
    pub fn of(&self, owner: LatencyComponent) -> u64 {
        self.0[LatencyBreakdown::index(owner)]
    }

    /// The sum of the nanoseconds of all owners: the latency.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, part| sum.saturating_add(*part))
    }

    fn sum(&self, of: impl Fn(&LatencyComponent) -> bool) -> u64 {
        let owners = LatencyBreakdown::OWNERS.into_iter().filter(of);
        owners.fold(0, |sum, owner| sum.saturating_add(self.of(owner)))
    }

    /// The nanoseconds in which the client was off the processor, for any cause.
    pub fn off_cpu(&self) -> u64 {
        self.sum(|owner| matches!(owner, LatencyComponent::OffCpu(_)))
    }

    /// The nanoseconds in which other clients handled effects of the episode, or the client waited for them.
    pub fn others(&self) -> u64 {
        self.sum(|owner| matches!(owner, LatencyComponent::Others | LatencyComponent::Awaited))
    }

    /// The nanoseconds of the server, for any cause.
    pub fn server(&self) -> u64 {
        self.sum(|owner| matches!(owner, LatencyComponent::Server(_)))
    }

    /// The name of the component with the most time; the first one if several are equal.
    pub fn culprit(&self) -> &'static str {
        let parts = [
            ("waiting", self.of(LatencyComponent::Waiting)),
            ("client", self.of(LatencyComponent::Client)),
            ("off_cpu", self.off_cpu()),
            ("server", self.server()),
            ("network", self.of(LatencyComponent::Network)),
            ("other_clients", self.others()),
        ];
        let mut largest = parts[0];
        for part in parts {
            if part.1 > largest.1 {
                largest = part;
            }
        }
        largest.0
    }
}
