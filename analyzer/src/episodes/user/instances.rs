//! The instances of user-defined events with their times, and the resources that the episodes in them used.

use rustc_hash::FxHashMap;
use x11prof_session::ResourceChange;
use x11prof_trace::{ConnectionId, Timestamp};

use super::definition::EventDefinitions;
use super::server_time::ServerTime;
use super::tag::{Tag, Tags};
use crate::episodes::episode::{Episode, LatencyComponent};
use crate::pipeline::Observation;

/// Maximum number of kept events; later events are only counted.
const MAX_EVENTS: usize = 100_000;
/// Maximum number of resources that are tracked until they are freed. Further resources do not count as unfreed.
const MAX_RESOURCES: usize = 1 << 18;
/// Maximum number of open events of a client; further starts are ignored.
const MAX_OPEN: usize = 256;
/// Maximum number of episodes kept to be counted in time order. Beyond it, the earliest ones are counted.
const MAX_EPISODES: usize = 1 << 18;

/// The resources that an instance of a user-defined event used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    /// Nanoseconds from the beginning to the end; for a continued instance, the sum over all its intervals.
    pub(crate) time: u64,
    /// Nanoseconds of CPU time of the client's threads.
    pub(crate) client: u64,
    /// Nanoseconds in which the server ran for the client's requests; 0 if unknown.
    pub(crate) server: u64,
    pub(crate) bytes: u64,
    pub(crate) requests: u64,
    pub(crate) round_trips: u64,
    pub(crate) made: u64,
    pub(crate) made_bytes: u64,
}

/// An instance of a user-defined event, with its beginning and end in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    /// The index of its definition in the file.
    pub(crate) of: usize,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) used: Resources,
    /// The beginning of the current stretch; `None` between stretches.
    since: Option<u64>,
}

/// The figures of an episode that count for user-defined events. Times are in nanoseconds.
#[derive(Debug)]
struct EpisodeUse {
    client: ConnectionId,
    start: u64,
    /// The time at which the client began to handle the stimulus, which may have waited before.
    handled: u64,
    /// The end of the client's own response.
    end: u64,
    /// The end of the episode including its effects on other clients.
    complete: u64,
    delivered: Option<u64>,
    ran: u64,
    bytes: u64,
    requests: u64,
    round_trips: u64,
    tags: Tags,
}

/// The instances of user-defined events in a trace.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    definitions: EventDefinitions,
    /// An episode arrives when its effects on other clients are known, so episodes arrive in any order.
    episodes: Vec<EpisodeUse>,
    pub(crate) all: Vec<Instance>,
    pub(crate) omitted: u64,
    /// The indices of the events that have not ended, by client.
    open: FxHashMap<ConnectionId, Vec<usize>>,
    /// The latest instances that may be continued, by definition, client and window.
    latest: FxHashMap<(usize, ConnectionId, Option<u32>), usize>,
    /// Resources created in an event: the event's number, ID, sequence number and bytes.
    made: Vec<(usize, u32, u64, u64)>,
    /// The request that created the current resource of an id.
    alive: FxHashMap<u32, u64>,
    server: ServerTime,
}

impl Instances {
    pub(crate) fn new(definitions: EventDefinitions) -> Instances {
        Instances {
            definitions,
            ..Instances::default()
        }
    }

    /// The definitions of the events.
    pub(crate) fn definitions(&self) -> &EventDefinitions {
        &self.definitions
    }

    /// True if the trace contains the server's CPU time.
    pub(crate) fn knows_server(&self) -> bool {
        self.server.is_known()
    }

    /// Processes an observation for the resources and the runs of the server. A resource that ends with its connection
    /// counts as not freed.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        if self.definitions.0.is_empty() {
            return;
        }
        self.server.observe(observation);
        let Observation::Message(seen) = observation else {
            return;
        };
        for change in seen.session.resource_changes() {
            match change {
                ResourceChange::Created(resource) if self.alive.len() < MAX_RESOURCES => {
                    self.alive.insert(resource.id, resource.sequence.0);
                }
                ResourceChange::Freed(resource) | ResourceChange::Failed(resource) => {
                    self.alive.remove(&resource.id);
                }
                _ => {}
            }
        }
    }

    /// Adds an episode; episodes may arrive in any order.
    pub(crate) fn add(&mut self, episode: &Episode) {
        if self.definitions.0.is_empty() {
            return;
        }
        let start = episode.start.as_nanos();
        self.episodes.push(EpisodeUse {
            client: episode.client,
            start,
            handled: start.saturating_add(episode.parts.of(LatencyComponent::Waiting)),
            end: episode.end().as_nanos(),
            complete: start.saturating_add(episode.latency()),
            delivered: episode.delivered,
            ran: episode.parts.of(LatencyComponent::Client),
            bytes: episode.bytes,
            requests: episode.requests,
            round_trips: episode.round_trips,
            tags: episode.tags.clone(),
        });
        if self.episodes.len() >= MAX_EPISODES {
            self.count(MAX_EPISODES / 2);
        }
    }

    /// Counts the `number` earliest episodes, in time order.
    fn count(&mut self, number: usize) {
        self.episodes.sort_by_key(|one| (one.start, one.end));
        let earliest: Vec<EpisodeUse> = self.episodes.drain(..number).collect();
        earliest.iter().for_each(|one| self.count_one(one));
    }

    fn count_one(&mut self, episode: &EpisodeUse) {
        let end = episode.complete;
        let tags = &episode.tags;
        for tag in tags.tags.iter().filter(|tag| !tag.ends) {
            self.start(tag, episode);
        }
        let open = self.open.get(&episode.client).cloned().unwrap_or_default();
        let server = self
            .server
            .between(episode.client, episode.handled, episode.end);
        for number in &open {
            let Some(one) = self.all.get_mut(*number) else {
                continue;
            };
            let used = &mut one.used;
            let sum = |of: &mut u64, more: u64| *of = of.saturating_add(more);
            sum(&mut used.client, episode.ran);
            sum(&mut used.server, server);
            sum(&mut used.bytes, episode.bytes);
            sum(&mut used.requests, episode.requests);
            sum(&mut used.round_trips, episode.round_trips);
            for made in &tags.made {
                sum(&mut used.made, 1);
                sum(&mut used.made_bytes, made.bytes);
                if self.made.len() < MAX_RESOURCES {
                    let one = (*number, made.id, made.sequence, made.bytes);
                    self.made.push(one);
                }
            }
            one.end = one.end.max(end);
        }
        for number in open {
            let of = self.all.get(number).map(|one| one.of);
            let Some(definition) = of.and_then(|of| self.definitions.0.get(of)) else {
                continue;
            };
            let since = self.all.get(number).and_then(|one| one.since);
            let mut ends = tags.tags.iter().filter(|tag| {
                tag.ends && Some(tag.of) == of && since.is_some_and(|since| tag.time >= since)
            });
            let over = match definition.end {
                None => Some(end),
                Some(_) => ends.next().map(|tag| tag.time),
            };
            if let Some(over) = over {
                self.stop(number, episode.client, over);
            }
        }
    }

    fn start(&mut self, tag: &Tag, episode: &EpisodeUse) {
        let Some(definition) = self.definitions.0.get(tag.of) else {
            return;
        };
        let (nested, reuse) = (definition.nested, definition.reuse);
        let ends_itself = definition.end.is_none();
        let client = episode.client;
        // The end of the previous event never arrived: the event ended with its last response.
        let same = |number: &&usize| self.all.get(**number).is_some_and(|one| one.of == tag.of);
        let before = self
            .open
            .get(&client)
            .and_then(|open| open.iter().find(same));
        if let Some(number) = before.copied()
            && let Some(end) = self.all.get(number).map(|one| one.end)
            && !reuse
            && episode.start > end
        {
            self.stop(number, client, end);
        }
        let open = self.open.entry(client).or_default();
        let goes_on = |number: &usize| self.all.get(*number).is_some_and(|one| one.of == tag.of);
        // A start within an event of the same type belongs to that event. A start within an event of another type also
        // does, unless the definition has `nested`.
        if open.iter().any(goes_on) || !nested && !open.is_empty() || open.len() >= MAX_OPEN {
            return;
        }
        // An event that ends with its response covers the whole episode.
        let whole = ends_itself || episode.delivered == Some(tag.time);
        let since = match whole {
            true => episode.start,
            false => tag.time,
        };
        let key = (tag.of, client, tag.window);
        let known = self.latest.get(&key).copied().filter(|_| reuse);
        let number = match known {
            Some(number) => number,
            None if self.all.len() < MAX_EVENTS => {
                self.all.push(Instance {
                    of: tag.of,
                    start: since,
                    end: since,
                    used: Resources::default(),
                    since: None,
                });
                self.all.len() - 1
            }
            None => {
                self.omitted += 1;
                return;
            }
        };
        if let Some(one) = self.all.get_mut(number) {
            one.since = Some(since);
        }
        open.push(number);
        if reuse {
            self.latest.insert(key, number);
        }
    }

    fn stop(&mut self, number: usize, client: ConnectionId, time: u64) {
        if let Some(one) = self.all.get_mut(number)
            && let Some(since) = one.since.take()
        {
            one.used.time = one.used.time.saturating_add(time.saturating_sub(since));
            one.end = time;
        }
        if let Some(open) = self.open.get_mut(&client) {
            open.retain(|other| *other != number);
        }
    }

    /// Ends the trace at `time`, and with it all instances in progress.
    pub(crate) fn finish(&mut self, time: Timestamp) {
        self.count(self.episodes.len());
        let open: Vec<(ConnectionId, usize)> = self
            .open
            .iter()
            .flat_map(|(client, all)| all.iter().map(|number| (*client, *number)))
            .collect();
        for (client, number) in open {
            self.stop(number, client, time.as_nanos());
        }
    }

    /// The number and the bytes of the resources that each instance created and no client freed, by index of the
    /// instance.
    pub(crate) fn unfreed(&self) -> FxHashMap<usize, (u64, u64)> {
        let mut all: FxHashMap<usize, (u64, u64)> = FxHashMap::default();
        let kept = self.made.iter();
        for (number, _, _, bytes) in kept.filter(|one| self.alive.get(&one.1) == Some(&one.2)) {
            let of = all.entry(*number).or_default();
            *of = (of.0 + 1, of.1.saturating_add(*bytes));
        }
        all
    }
}
