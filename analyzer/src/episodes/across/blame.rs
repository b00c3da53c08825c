//! Whom to look at first: what the most time of an episode's chain was spent in.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::path_step::PathStep;
use crate::episodes::cause::{Cause, ServerCause};
use crate::episodes::owner::Owner;

/// What time was spent in, as results name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlameKind {
    /// The client whose episode it is.
    Client,
    /// Another client, which that one made act, or waited for.
    OtherClient,
    /// The server.
    Server,
    /// The way to it.
    Network,
    /// Another client had the server for itself.
    Grab,
    /// A file.
    Disk,
    /// The client waited for time to pass.
    Sleep,
    /// No processor was free, for longer than the client ran.
    Processor,
    /// The server could run, and no processor was free for it.
    ServerProcessor,
}

impl BlameKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            BlameKind::Client => "client",
            BlameKind::OtherClient => "other_client",
            BlameKind::Server => "server",
            BlameKind::Network => "network",
            BlameKind::Grab => "grab",
            BlameKind::Disk => "disk",
            BlameKind::Sleep => "sleep",
            BlameKind::Processor => "processor",
            BlameKind::ServerProcessor => "server_processor",
        }
    }
}

/// The clients of a chain that could run for longer than they ran: theirs is a want of processors. Else a
/// preempted client is one that works.
#[derive(Debug)]
pub(crate) struct Crowded(Vec<ConnectionId>);

impl Crowded {
    pub(crate) fn of(path: &[PathStep]) -> Crowded {
        let sum = |client: ConnectionId, owner: Owner| {
            let of = path.iter();
            let of = of.filter(|step| (step.client, step.owner) == (client, owner));
            of.fold(0_u64, |sum, step| step.nanos.saturating_add(sum))
        };
        let crowded = |client: &ConnectionId| {
            let ready = sum(*client, Owner::OffCpu(Cause::Processor));
            ready > sum(*client, Owner::Client)
        };
        let mut clients: Vec<ConnectionId> = path.iter().map(|step| step.client).collect();
        clients.sort_unstable();
        clients.dedup();
        clients.retain(crowded);
        Crowded(clients)
    }
}

/// Who has time of a chain, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blame {
    pub(crate) kind: BlameKind,
    pub(crate) client: ConnectionId,
    /// The request that was waited for, or that made another client act.
    pub(crate) request: Option<Symbol>,
    pub(crate) nanos: u64,
    /// Those of them in which it could run and no processor was free.
    pub(crate) ready: u64,
}

impl Blame {
    /// Who has the time of a link in the chain of an episode of `whose`.
    pub(crate) fn of(step: &PathStep, whose: ConnectionId, crowded: &Crowded) -> Blame {
        let own = |kind| {
            let other = step.client != whose;
            let kind = if other { BlameKind::OtherClient } else { kind };
            (kind, step.client, step.asked.filter(|_| other))
        };
        let (kind, client, request) = match (step.owner, step.by) {
            (Owner::Server(ServerCause::Grabbed), by) => {
                (BlameKind::Grab, by.unwrap_or(step.client), step.request)
            }
            // Whoever waited for it.
            (Owner::Server(ServerCause::Processor), _) => (BlameKind::ServerProcessor, whose, None),
            (Owner::Server(_), _) => (BlameKind::Server, step.client, step.request),
            (Owner::Network, _) => (BlameKind::Network, step.client, step.request),
            // It waited for one whose doing has no part in the tree.
            (_, Some(by)) => (BlameKind::OtherClient, by, step.request),
            (Owner::OffCpu(Cause::Processor), None) if crowded.0.contains(&step.client) => {
                (BlameKind::Processor, step.client, None)
            }
            (Owner::OffCpu(Cause::File), None) => own(BlameKind::Disk),
            (Owner::OffCpu(Cause::Sleeping | Cause::Poll), None) => own(BlameKind::Sleep),
            (Owner::Waiting | Owner::Client | Owner::OffCpu(_) | Owner::Others, None) => {
                own(BlameKind::Client)
            }
        };
        Blame {
            kind,
            client,
            request,
            nanos: step.nanos,
            ready: match step.owner {
                Owner::OffCpu(Cause::Processor) => step.nanos,
                _ => 0,
            },
        }
    }

    /// Who has the most of a chain; `None` of an empty one.
    pub(crate) fn most(path: &[PathStep], whose: ConnectionId) -> Option<Blame> {
        let crowded = Crowded::of(path);
        let mut all: Vec<Blame> = Vec::new();
        for step in path {
            let one = Blame::of(step, whose, &crowded);
            let same = |of: &&mut Blame| {
                (of.kind, of.client, of.request) == (one.kind, one.client, one.request)
            };
            match all.iter_mut().find(same) {
                Some(of) => {
                    of.nanos = of.nanos.saturating_add(one.nanos);
                    of.ready = of.ready.saturating_add(one.ready);
                }
                None => all.push(one),
            }
        }
        // The first of equals.
        all.into_iter().rev().max_by_key(|one| one.nanos)
    }
}
