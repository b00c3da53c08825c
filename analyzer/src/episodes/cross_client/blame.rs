//! The blame of an episode: the owner of the most time in its chain of waits, from the stimulus to the end of all effects.

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::path_step::PathStep;
use crate::episodes::cause::{Cause, ServerCause};
use crate::episodes::episode::Episode;
use crate::episodes::latency_component::LatencyComponent;

/// The kind of owner of a part of an episode's latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlameKind {
    /// The client of the episode.
    Client,
    /// The client of the episode handled earlier input.
    Queue,
    /// Another client, which the episode's client waited for or whose work the episode's client caused.
    OtherClient,
    /// The display server.
    Server,
    /// The network link between the client and the server.
    Network,
    /// A client had grabbed the server.
    Grab,
    /// The client waited for a file.
    Disk,
    /// The client waited for time to pass.
    Sleep,
    /// A thread of the client waited for another one: a lock, a condition.
    Thread,
    /// The client waited for another process, or for an object that is not in the trace.
    Elsewhere,
    /// No processor was free for the client.
    Processor,
    /// The server was ready, but no processor was free.
    ServerProcessor,
    /// The client waited for the reply to an open request, and the client that has to reply is unknown.
    Awaited,
}

impl BlameKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            BlameKind::Client => "client",
            BlameKind::Queue => "queue",
            BlameKind::OtherClient => "other_client",
            BlameKind::Server => "server",
            BlameKind::Network => "network",
            BlameKind::Grab => "grab",
            BlameKind::Disk => "disk",
            BlameKind::Sleep => "sleep",
            BlameKind::Thread => "lock",
            BlameKind::Elsewhere => "elsewhere",
            BlameKind::Processor => "processor",
            BlameKind::ServerProcessor => "server_processor",
            BlameKind::Awaited => "awaited",
        }
    }

    /// Returns the first kind of the latency component that this kind belongs to (see
    /// [`LatencyBreakdown::culprit`](crate::episodes::latency_component::LatencyBreakdown::culprit)).
    fn component(self) -> BlameKind {
        match self {
            BlameKind::Grab | BlameKind::ServerProcessor => BlameKind::Server,
            BlameKind::Sleep | BlameKind::Thread | BlameKind::Elsewhere | BlameKind::Processor => {
                BlameKind::Disk
            }
            BlameKind::Awaited => BlameKind::OtherClient,
            kind => kind,
        }
    }
}

/// Facts about an episode that decide who owns the time of a step in its chain of waits.
#[derive(Debug)]
pub(crate) struct BlameContext {
    whose: ConnectionId,
    /// The clients that were ready for longer than they ran, so they lacked processors. If a client is not in this
    /// list, time in which it was ready counts as its work.
    crowded: Vec<ConnectionId>,
    /// True if the stimulus waited mostly because the client handled something else.
    queued: bool,
    /// True if time in which no processor was free counts as the work that it delayed.
    ready_is_work: bool,
}

impl BlameContext {
    pub(crate) fn of(episode: &Episode) -> BlameContext {
        let path = &episode.path;
        let sum = |client: ConnectionId, owner: LatencyComponent| {
            let of = path.iter();
            let of = of.filter(|step| (step.client, step.owner) == (client, owner));
            of.fold(0_u64, |sum, step| step.nanos.saturating_add(sum))
        };
        let crowded = |client: &ConnectionId| {
            let ready = sum(*client, LatencyComponent::OffCpu(Cause::Processor));
            ready > sum(*client, LatencyComponent::Client)
        };
        let mut clients: Vec<ConnectionId> = path.iter().map(|step| step.client).collect();
        clients.sort_unstable();
        clients.dedup();
        clients.retain(crowded);
        BlameContext {
            whose: episode.client,
            crowded: clients,
            queued: episode.queued() > episode.waited_idle,
            ready_is_work: false,
        }
    }
}

/// An owner of time in a chain of waits. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blame {
    pub(crate) kind: BlameKind,
    pub(crate) client: ConnectionId,
    /// The request that blocked the client, or that caused another client to act.
    pub(crate) request: Option<Symbol>,
    pub(crate) nanos: u64,
    /// The part of the time in which the client or server was ready and no processor was free, in nanoseconds.
    pub(crate) ready: u64,
}

impl Blame {
    /// The owner of the time of `step`; `whole` has the facts about the whole episode.
    pub(crate) fn of(step: &PathStep, whole: &BlameContext) -> Blame {
        let whose = whole.whose;
        let own = |kind| {
            let other = step.client != whose;
            let kind = if other { BlameKind::OtherClient } else { kind };
            (kind, step.client, step.asked.filter(|_| other))
        };
        let (kind, client, request) = match (step.owner, step.by) {
            (LatencyComponent::Server(ServerCause::Grabbed), by) => {
                (BlameKind::Grab, by.unwrap_or(step.client), step.request)
            }
            // The client that waited for the server.
            (LatencyComponent::Server(ServerCause::Processor), _) if !whole.ready_is_work => {
                (BlameKind::ServerProcessor, whose, None)
            }
            (LatencyComponent::Server(_), _) => (BlameKind::Server, step.client, step.request),
            (LatencyComponent::Network, _) => (BlameKind::Network, step.client, step.request),
            // The client waited for a client whose activity is not part of the tree.
            (_, Some(by)) => (BlameKind::OtherClient, by, step.request),
            (LatencyComponent::OffCpu(Cause::Processor), None)
                if !whole.ready_is_work
                    && (step.client == whose || whole.crowded.contains(&step.client)) =>
            {
                (BlameKind::Processor, step.client, None)
            }
            (LatencyComponent::OffCpu(Cause::File), None) => own(BlameKind::Disk),
            (LatencyComponent::OffCpu(Cause::Sleeping | Cause::Poll), None) => {
                own(BlameKind::Sleep)
            }
            (LatencyComponent::OffCpu(Cause::Elsewhere), None) => own(BlameKind::Elsewhere),
            (LatencyComponent::OffCpu(Cause::Synchronisation), None) => own(BlameKind::Thread),
            (LatencyComponent::Awaited, None) => (BlameKind::Awaited, step.client, step.request),
            (LatencyComponent::Waiting, None) if whole.queued => own(BlameKind::Queue),
            (
                LatencyComponent::Waiting
                | LatencyComponent::Client
                | LatencyComponent::OffCpu(_)
                | LatencyComponent::Others,
                None,
            ) => own(BlameKind::Client),
        };
        Blame {
            kind,
            client,
            request,
            nanos: step.nanos,
            ready: match step.owner {
                LatencyComponent::OffCpu(Cause::Processor)
                | LatencyComponent::Server(ServerCause::Processor) => step.nanos,
                _ => 0,
            },
        }
    }

    /// The owner of the most time in the episode's chain of waits, within the largest latency component; `None` for an
    /// empty chain.
    pub(crate) fn most(episode: &Episode) -> Option<Blame> {
        Blame::most_in(episode, &BlameContext::of(episode))
    }

    /// As [`most`](Blame::most), but time in which no processor was free counts as the work that it delayed, because
    /// the same work has the same cause on a busy machine.
    pub(crate) fn most_work(episode: &Episode) -> Option<Blame> {
        let whole = BlameContext {
            ready_is_work: true,
            ..BlameContext::of(episode)
        };
        Blame::most_in(episode, &whole)
    }

    fn most_in(episode: &Episode, whole: &BlameContext) -> Option<Blame> {
        let mut all: Vec<Blame> = Vec::new();
        for step in &episode.path {
            let one = Blame::of(step, whole);
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
        let component = |kind: BlameKind| {
            let same = all
                .iter()
                .filter(|one| one.kind.component() == kind.component());
            same.map(|one| one.nanos).fold(0, u64::saturating_add)
        };
        // The first of equals.
        let of_most = |one: &&Blame| {
            let ready = if whole.ready_is_work { one.ready } else { 0 };
            (component(one.kind), one.nanos.saturating_sub(ready))
        };
        all.iter().rev().max_by_key(of_most).copied()
    }
}
