//! The owners of an episode's time.

use super::cause::{Cause, ServerCause};

/// The owner of an instant of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The stimulus waits: nobody works on the episode yet.
    Waiting,
    /// The client runs.
    Client,
    /// The client does not run, for this reason.
    OffCpu(Cause),
    /// The server works for it, or is asked.
    Server(ServerCause),
    /// The way between client and server.
    Network,
    /// The client is done; other clients handle its effects.
    Others,
    /// The client waits for the answer to a request to another client, or for the screen's clock.
    Awaited,
}

/// Nanoseconds by owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts([u64; 15]);

impl Parts {
    /// The owners, in the order of [`Parts`].
    pub const OWNERS: [Owner; 15] = [
        Owner::Waiting,
        Owner::Client,
        Owner::OffCpu(Cause::Processor),
        Owner::OffCpu(Cause::Sleeping),
        Owner::OffCpu(Cause::Synchronisation),
        Owner::OffCpu(Cause::File),
        Owner::OffCpu(Cause::Poll),
        Owner::OffCpu(Cause::Elsewhere),
        Owner::Server(ServerCause::Reply),
        Owner::Server(ServerCause::Grabbed),
        Owner::Server(ServerCause::Drawing),
        Owner::Server(ServerCause::Processor),
        Owner::Network,
        Owner::Others,
        Owner::Awaited,
    ];

    fn index(owner: Owner) -> usize {
        Parts::OWNERS
            .iter()
            .position(|one| *one == owner)
            .unwrap_or(0)
    }

    /// Adds nanoseconds of an owner.
    pub(crate) fn add(&mut self, owner: Owner, nanos: u64) {
        let part = &mut self.0[Parts::index(owner)];
        *part = part.saturating_add(nanos);
    }

    /// Sets the nanoseconds of an owner.
    pub(crate) fn set(&mut self, owner: Owner, nanos: u64) {
        self.0[Parts::index(owner)] = nanos;
    }

    /// Gives up to `nanos` of one owner to another.
    pub(crate) fn shift(&mut self, from: Owner, to: Owner, nanos: u64) {
        let nanos = nanos.min(self.of(from));
        self.0[Parts::index(from)] -= nanos;
        self.add(to, nanos);
    }

    /// Adds all of `more`.
    pub(crate) fn merge(&mut self, more: &Parts) {
        for (part, more) in self.0.iter_mut().zip(more.0) {
            *part = part.saturating_add(more);
        }
    }

    /// The difference to `first`, an earlier sum of the same.
    pub(crate) fn without(mut self, first: &Parts) -> Parts {
        for (part, first) in self.0.iter_mut().zip(first.0) {
            *part = part.saturating_sub(first);
        }
        self
    }

    /// Nanoseconds of an owner.
    pub fn of(&self, owner: Owner) -> u64 {
        self.0[Parts::index(owner)]
    }

    /// The nanoseconds of all owners together.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, part| sum.saturating_add(*part))
    }

    fn sum(&self, of: impl Fn(&Owner) -> bool) -> u64 {
        let owners = Parts::OWNERS.into_iter().filter(of);
        owners.fold(0, |sum, owner| sum.saturating_add(self.of(owner)))
    }

    /// Nanoseconds off the processor, whatever the cause.
    pub fn off_cpu(&self) -> u64 {
        self.sum(|owner| matches!(owner, Owner::OffCpu(_)))
    }

    /// Nanoseconds of other clients: in effects of the episode, or awaited.
    pub fn others(&self) -> u64 {
        self.sum(|owner| matches!(owner, Owner::Others | Owner::Awaited))
    }

    /// Nanoseconds of the server.
    pub fn server(&self) -> u64 {
        self.sum(|owner| matches!(owner, Owner::Server(_)))
    }

    /// The name of the largest part, the first of equals.
    pub fn culprit(&self) -> &'static str {
        let parts = [
            ("waiting", self.of(Owner::Waiting)),
            ("client", self.of(Owner::Client)),
            ("off_cpu", self.off_cpu()),
            ("server", self.server()),
            ("network", self.of(Owner::Network)),
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
