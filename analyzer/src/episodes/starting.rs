//! The episodes of start-ups. They end with the first frame, as `start_up` defines it. The client's state machine ends
//! its first episode when the client is first idle, so this module shortens or prolongs that episode.

use std::collections::{BTreeMap, HashMap};

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

use super::cause::{Cause, ServerCause};
use super::cross_client::path_step::PathStep;
use super::episode::{
    Child, Episode, LatencyBreakdown, LatencyComponent, Trigger, add_times, without,
};
use crate::pipeline::start_up::StartUpReport;
use crate::text::label::Label;

/// The client could run, and had no processor.
const NO_FREE_CPU: LatencyComponent = LatencyComponent::OffCpu(Cause::Processor);
/// The landmark of the start-up of a client that shows no window. This start-up ends when the client is first idle.
const NOTHING_SHOWN: &str = "Connected, nothing shown";
/// A start-up counts as complete this long after its first frame, in nanoseconds: other clients handle its effects
/// within a second.
const KNOWN_WITHIN: u64 = 2_000_000_000;
/// Maximum number of tracked clients. Start-ups of further clients end when the client is first idle.
const MAX_CLIENTS: usize = 4096;
/// Maximum number of later episodes of one client that are held until its start-up is known.
const MAX_HELD: usize = 64;

/// A client whose start-up is not yet known to be complete.
#[derive(Debug, Default)]
struct Held {
    /// The beginning and end of the start-up; `Some(None)` if the client has no start-up; `None` while unknown.
    reported: Option<Option<FirstFrame>>,
    /// The client's first episode, which ends when the client is first idle.
    first: Option<Episode>,
    /// The client's episodes after the first.
    later: Vec<Episode>,
}

/// The times of a start-up, in nanoseconds.
#[derive(Debug)]
struct FirstFrame {
    start: u64,
    end: u64,
    report: StartUpReport,
}

/// Clients whose start-up has not ended. All episodes of a trace pass through this type.
#[derive(Debug, Default)]
pub(crate) struct Starting {
    /// Episodes that belong to no pending start-up, until the caller removes them.
    pub(crate) ready: Vec<Episode>,
    held: HashMap<ConnectionId, Held>,
    /// The end of each complete start-up, in nanoseconds.
    over: HashMap<ConnectionId, u64>,
    /// The time at which the next pending start-up is complete, in nanoseconds; `None` if none is pending.
    due: Option<u64>,
    now: u64,
}

impl Starting {
    /// Notes that a client connects.
    pub(crate) fn opened(&mut self, client: ConnectionId) {
        if self.held.len() + self.over.len() < MAX_CLIENTS {
            self.held.insert(client, Held::default());
        }
    }

    /// Notes that a client connected before the recording: the recording does not contain its start-up.
    pub(crate) fn joined(&mut self, client: ConnectionId) {
        if let Some(held) = self.held.remove(&client) {
            self.ready.extend(held.episodes());
        }
    }

    /// Processes the end of a client's start-up. `first` is the time of the trace's first record.
    pub(crate) fn started(&mut self, report: &StartUpReport, first: Timestamp) {
        let client = ConnectionId(report.connection);
        if let Some(held) = self.held.get_mut(&client) {
            held.reported = Some(FirstFrame::of(report, first));
            self.settle(client);
        }
    }

    /// Advances to `now` (nanoseconds): episodes of start-ups that are complete by then become ready.
    pub(crate) fn until(&mut self, now: u64) {
        self.now = now;
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            let clients: Vec<ConnectionId> = self.held.keys().copied().collect();
            clients.into_iter().for_each(|client| self.settle(client));
        }
    }

    /// Adds a settled episode, and holds it until the start-up of its client is known.
    pub(crate) fn take(&mut self, episode: Episode) {
        let client = episode.client;
        if let Some(end) = self.over.get(&client) {
            if !is_part(&episode, *end) {
                self.ready.push(episode);
            }
            return;
        }
        match self.held.get_mut(&client) {
            Some(held) if episode.is_first() => held.first = Some(episode),
            Some(held) if episode.trigger != Trigger::Input && held.later.len() < MAX_HELD => {
                held.later.push(episode);
            }
            _ => return self.ready.push(episode),
        }
        self.settle(client);
    }

    fn settle(&mut self, client: ConnectionId) {
        let Some(held) = self.held.get(&client).filter(|held| held.first.is_some()) else {
            return;
        };
        let Some(frame) = &held.reported else {
            return;
        };
        let end = frame.as_ref().map_or(0, |frame| frame.end);
        let due = frame
            .as_ref()
            .map_or(0, |_| end.saturating_add(KNOWN_WITHIN));
        if due > self.now {
            self.due = Some(self.due.map_or(due, |known| known.min(due)));
        } else if let Some(held) = self.held.remove(&client) {
            self.over.insert(client, end);
            self.ready.extend(held.episodes());
        }
    }

    /// Ends all start-ups: the trace has ended.
    pub(crate) fn finish(&mut self) {
        let held: BTreeMap<_, _> = self.held.drain().collect();
        self.ready
            .extend(held.into_values().flat_map(Held::episodes));
    }
}

/// Returns true if the client began the episode without input before `end`, the end of its first frame.
fn is_part(episode: &Episode, end: u64) -> bool {
    episode.trigger != Trigger::Input && episode.start.as_nanos() <= end
}

impl Held {
    /// Returns the start-up as one episode, followed by the episodes after it.
    fn episodes(self) -> Vec<Episode> {
        let Held {
            reported,
            first,
            later,
        } = self;
        let frame = reported.flatten();
        let end = frame.as_ref().map_or(0, |frame| frame.end);
        let (mut parts, later): (Vec<_>, Vec<_>) =
            later.into_iter().partition(|one| is_part(one, end));
        match (first, &frame) {
            (Some(first), Some(frame)) => parts = vec![frame.episode(first, &parts)],
            (Some(mut first), None) => {
                first.landmark = Label::new(NOTHING_SHOWN);
                first.group = Symbol::new(NOTHING_SHOWN);
                first.tree.about = first.group;
                parts = vec![first];
            }
            (None, _) => {}
        }
        parts.extend(later);
        parts
    }
}

impl FirstFrame {
    fn of(report: &StartUpReport, first: Timestamp) -> Option<FirstFrame> {
        let latency = nanos(report.latency_ms?);
        let since = nanos(report.start_ms.abs());
        let start = match report.start_ms < 0.0 {
            true => first.as_nanos().saturating_sub(since),
            false => first.as_nanos().saturating_add(since),
        };
        Some(FirstFrame {
            start,
            end: start.saturating_add(latency),
            report: report.clone(),
        })
    }

    /// Returns the start-up as one episode, which combines the client's first episode, the `later` episodes of the same
    /// start-up, and the time between them.
    fn episode(&self, first: Episode, later: &[Episode]) -> Episode {
        let parts = self.parts(&first, later);
        let links = first
            .path
            .iter()
            .chain(later.iter().flat_map(|one| &one.path));
        let path = self.path(first.client, links, &parts);
        let mut tags = first.tags.clone();
        later.iter().for_each(|one| tags.add(&one.tags));
        let mut handled = first.handled.clone();
        later
            .iter()
            .for_each(|one| add_times(&mut handled, &one.handled));
        let all = later.iter().flat_map(|one| &one.children);
        let all = first.children.iter().chain(all);
        let children: Vec<_> = all.filter_map(|child| until(child, self.end)).collect();
        let latency = parts.total();
        let drawing = parts.of(LatencyComponent::Server(ServerCause::Drawing));
        let ran = parts
            .of(LatencyComponent::Client)
            .saturating_sub(first.parts.of(LatencyComponent::Client));
        Episode {
            start: Timestamp::from_nanos(self.start),
            parts,
            round_trips: self.report.round_trips,
            requests: self.report.requests,
            bytes: self.report.bytes,
            received: self.report.received_bytes,
            events: later.iter().fold(first.events, |sum, one| sum + one.events),
            // At least one thread ran before the connection.
            runnable: first.runnable.saturating_add(ran),
            of_children: latency.saturating_sub(without(latency, &children)),
            presentation: drawing,
            added: 0,
            handled,
            children,
            tags,
            path,
            ..first
        }
    }

    /// Returns the components of the start-up by owner. The client's episodes contribute the reasons for off-CPU time.
    fn parts(&self, first: &Episode, later: &[Episode]) -> LatencyBreakdown {
        let report = &self.report;
        let mut seen = first.parts;
        later.iter().for_each(|one| seen.merge(&one.parts));
        seen.set(NO_FREE_CPU, nanos(report.own_processor_ms));
        let seen_ms = |owner| seen.of(owner) as f64 / 1e6;
        let drawing = report.parts.as_ref().and_then(|parts| parts.server_ms);
        let server = report.of_server_ms();
        let drawing = drawing.unwrap_or(0.0).min(server);
        let grabbed = seen_ms(LatencyComponent::Server(ServerCause::Grabbed)).min(server - drawing);
        let ran = match (report.ran_ms, &report.parts) {
            (None, Some(parts)) if !first.scheduled => {
                parts.client_ms + parts.before_connection_ms.unwrap_or(0.0)
            }
            (ran, _) => ran.unwrap_or(0.0),
        };
        let known = [
            (LatencyComponent::Network, report.network_ms),
            (
                LatencyComponent::Server(ServerCause::Processor),
                report.processor_ms,
            ),
            (LatencyComponent::Server(ServerCause::Drawing), drawing),
            (LatencyComponent::Server(ServerCause::Grabbed), grabbed),
            (
                LatencyComponent::Server(ServerCause::Reply),
                server - drawing - grabbed,
            ),
            (LatencyComponent::Client, ran),
        ];
        let off = LatencyBreakdown::OWNERS
            .into_iter()
            .filter(|owner| match owner {
                LatencyComponent::OffCpu(cause) => *cause != Cause::Elsewhere,
                owner => *owner == LatencyComponent::Awaited,
            });
        let off = off.map(|owner| (owner, seen_ms(owner)));
        let rest = (LatencyComponent::OffCpu(Cause::Elsewhere), f64::MAX);
        let mut parts = LatencyBreakdown::default();
        let mut left = self.end.saturating_sub(self.start);
        for (owner, ms) in known.into_iter().chain(off).chain([rest]) {
            let part = nanos(ms).min(left);
            parts.add(owner, part);
            left -= part;
        }
        parts
    }

    /// Returns the chain of waits of the start-up: the steps in `links` that lie within it, in time order, and a step
    /// for each owner of the time between them. This time is attributed in a fixed order: first the client's CPU time
    /// that is not in `links`, then, after the connection, the time of the network and of the server that is not in
    /// `links`, then off-CPU time.
    fn path<'a>(
        &self,
        client: ConnectionId,
        links: impl Iterator<Item = &'a PathStep>,
        parts: &LatencyBreakdown,
    ) -> Vec<PathStep> {
        let before = self.report.parts.as_ref();
        let before = before.and_then(|parts| parts.before_connection_ms);
        let connected = self.start.saturating_add(nanos(before.unwrap_or(0.0)));
        let mut known: Vec<PathStep> = Vec::new();
        let mut at = self.start;
        let mut ready = parts.of(NO_FREE_CPU);
        for link in links {
            let start = link.start.max(at);
            let end = link.start.saturating_add(link.nanos).min(self.end);
            if start < end {
                let mut step = PathStep {
                    start,
                    nanos: end - start,
                    ..*link
                };
                if (step.client, step.owner) == (client, NO_FREE_CPU) {
                    step.nanos = step.nanos.min(ready);
                    ready -= step.nanos;
                }
                known.push(step);
                at = end;
            }
        }
        let owners = [
            LatencyComponent::Client,
            LatencyComponent::Network,
            LatencyComponent::Server(ServerCause::Reply),
            LatencyComponent::Server(ServerCause::Processor),
            NO_FREE_CPU,
        ];
        let mut left = owners.map(|owner| {
            let same = |one: &&PathStep| one.client == client && one.owner == owner;
            let of_known: u64 = known
                .iter()
                .filter(same)
                .map(|one| one.nanos)
                .fold(0, u64::saturating_add);
            parts.of(owner).saturating_sub(of_known)
        });
        let mut path: Vec<PathStep> = Vec::new();
        let mut between = |path: &mut Vec<PathStep>, start: u64, end: u64| {
            let mut at = start;
            let mut add = |owner, nanos: u64| {
                let step = PathStep {
                    owner,
                    ..PathStep::network(client, at, nanos.min(end.saturating_sub(at)))
                };
                at += step.nanos;
                path.extend(Some(step).filter(|step| step.nanos > 0));
                step.nanos
            };
            for (owner, left) in owners.into_iter().zip(&mut left) {
                if start >= connected || matches!(owner, LatencyComponent::Client | NO_FREE_CPU) {
                    *left -= add(owner, *left);
                }
            }
            add(LatencyComponent::OffCpu(Cause::Elsewhere), u64::MAX);
        };
        at = self.start;
        for link in known {
            between(&mut path, at, link.start);
            at = link.start + link.nanos;
            path.push(link);
        }
        between(&mut path, at, self.end.max(at));
        path
    }
}

/// Returns the part of a child before `end` (nanoseconds), because another client such as a window manager may continue
/// after the first frame; `None` if the child begins later.
fn until(child: &Child, end: u64) -> Option<Child> {
    let room = end.checked_sub(child.start.as_nanos())?;
    let latency = child.latency.min(room);
    let children = child.children.iter();
    Some(Child {
        latency,
        exclusive: child.exclusive.min(latency),
        children: children.filter_map(|one| until(one, end)).collect(),
        ..child.clone()
    })
}

fn nanos(ms: f64) -> u64 {
    // Like a saturating cast: a value that does not fit becomes the largest one that does.
    (ms * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use x11prof_trace::ConnectionId;

    use super::{Cause, FirstFrame, LatencyBreakdown, LatencyComponent, PathStep, ServerCause};
    use crate::pipeline::start_up::StartUpReport;

    /// A start-up of 1000 ns.
    fn first_frame() -> FirstFrame {
        let report = StartUpReport {
            client: "it (client 1)".to_owned(),
            connection: 1,
            role: Default::default(),
            since: "connection".to_owned(),
            start_ms: 0.0,
            latency_ms: Some(1e-3),
            why_none: None,
            round_trips: 0,
            synchronisations: 0,
            waited_ms: 0.0,
            requests: 0,
            bytes: 0,
            received_bytes: 0,
            idle_ms: None,
            ran_ms: None,
            network_ms: 0.0,
            held_ms: 0.0,
            processor_ms: 0.0,
            own_processor_ms: 0.0,
            parts: None,
        };
        FirstFrame {
            start: 0,
            end: 1000,
            report,
        }
    }

    #[test]
    fn chain_of_overlapping_episodes_agrees_with_the_breakdown() {
        let client = ConnectionId(1);
        let owners = [
            (LatencyComponent::Client, 100),
            (LatencyComponent::Network, 700),
            (LatencyComponent::Server(ServerCause::Reply), 150),
            (LatencyComponent::OffCpu(Cause::Elsewhere), 50),
        ];
        let mut parts = LatencyBreakdown::default();
        owners
            .iter()
            .for_each(|(owner, nanos)| parts.add(*owner, *nanos));
        let links = [(700, 200), (700, 200), (750, 150)];
        let links = links.map(|(start, nanos)| PathStep::network(client, start, nanos));
        let path = first_frame().path(client, links.iter(), &parts);
        let sum = |owner| {
            let same = path.iter().filter(|step| step.owner == owner);
            same.map(|step| step.nanos).sum::<u64>()
        };
        assert_eq!(owners.map(|(owner, _)| (owner, sum(owner))), owners);
        let mut at = 0;
        for step in &path {
            assert_eq!(step.start, at);
            at += step.nanos;
        }
        assert_eq!(at, 1000);
    }
}
