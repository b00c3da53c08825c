//! Sums over all finished episodes of a trace, in bounded memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use x11prof_trace::{ConnectionId, Control, Opened, Timestamp};

use super::EpisodeOptions;
use super::bursts::Bursts;
use super::client_state::Backlog;
use super::cross_client::loops::Loops;
use super::episode::{Episode, LatencyBreakdown, LatencyComponent, Trigger};
use super::interval_union::IntervalUnion;
use super::landmarks::Landmarks;
use super::long_episodes::LongEpisodes;
use super::modal::Modal;
use super::obstacles::Obstacles;
use super::patterns::Patterns;
use super::series::{ProcessorOwner, ProcessorOwners, Series};
use super::states::Busy;
use super::tree::Tree;
use super::user::instances::Instances;
use crate::clients::Unmatched;
use crate::pipeline::Observation;
use crate::statistics::distribution::Distribution;
use crate::text::label::{Label, client_name};
use crate::text::pattern::holds;
use crate::threads::thread_states::Step;

/// Maximum number of episodes kept individually: the longest.
const MAX_EPISODES: usize = 10_000;
/// Maximum number of client names kept. Further clients are named by their numbers.
const MAX_NAMES: usize = 10_000;

/// Sums over the episodes of one trigger.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByTrigger {
    pub(crate) count: u64,
    pub(crate) perceptible: u64,
    pub(crate) latencies: Distribution,
    pub(crate) parts: LatencyBreakdown,
    pub(crate) perceptible_parts: LatencyBreakdown,
    /// The sum over time of the number of running or ready threads, in thread-nanoseconds.
    pub(crate) runnable: u64,
    /// The time over which `runnable` was counted, in nanoseconds.
    pub(crate) counted: u64,
}

/// Sums over the episodes of a trace, and the longest episodes.
#[derive(Debug, Default)]
pub struct Findings {
    pub(crate) options: EpisodeOptions,
    /// The name of each client's process, if known.
    names: BTreeMap<ConnectionId, Option<String>>,
    /// The time of the recording's first record; `None` before it.
    pub(crate) first: Option<Timestamp>,
    /// The time at which the recorder signalled the command to end.
    ending: Option<Timestamp>,
    /// The longest episodes, keyed by their latency including all effects, and by their number.
    kept: BTreeMap<(u64, Reverse<u64>), Episode>,
    number: u64,
    /// The number of episodes that were kept at some time.
    seen: u64,
    pub(crate) omitted: u64,
    /// The number of episodes of clients without windows, which are left out of all sums.
    pub(crate) left_out: u64,
    pub(crate) latencies: Distribution,
    pub(crate) total: u64,
    pub(crate) under_3: u64,
    pub(crate) perceptible: u64,
    pub(crate) triggers: [ByTrigger; 3],
    pub(crate) landmarks: Landmarks,
    pub(crate) groups: Landmarks,
    pub(crate) patterns: Patterns,
    series: Series,
    /// The processes of the selected clients, and the server's.
    processes: ProcessorOwners,
    pub(crate) unscheduled: u64,
    pub(crate) bursts: Bursts,
    pub(crate) long: LongEpisodes,
    /// The times in which modal windows or grabs were active.
    pub(crate) modal: Modal,
    /// Pointer motion that arrived faster than clients handled it.
    pub(crate) backlogs: Vec<Backlog>,
    /// Exchanges of clients that repeatedly cause each other's messages.
    pub(crate) loops: Loops,
    /// The obstacles that kept clients from working.
    pub(crate) obstacles: Obstacles,
    /// True if the recording has stacks of blocked threads, which show what a client waited for outside of X.
    pub(crate) has_blocked_stacks: bool,
    /// True if the recording has stacks of running threads, which show where a client used its CPU time.
    pub(crate) has_cpu_stacks: bool,
    /// The occurrences of the user-defined events.
    pub(crate) user: Instances,
    /// The time in which at least one episode was open.
    pub(crate) covered: IntervalUnion,
    /// The time of the first connection.
    first_act: Option<Timestamp>,
    /// The time of the last message or connection.
    last_act: Timestamp,
    /// The time in which the user waited: at least one episode that the user caused was open.
    pub(crate) waits: IntervalUnion,
    /// The nanoseconds by which the last episode over the requested network ends after the recording.
    pub(crate) added: u64,
    /// The time in nanoseconds at which the last episode over the requested network ends.
    last_over: u64,
    /// The time in which clients were busy, by state of the client, in nanoseconds.
    pub(crate) busy: Busy,
    /// The time in which events waited although their clients handled nothing, in nanoseconds.
    pub(crate) waited_idle: u64,
    /// The time at which each connected client connected. The next field is the total time in which the other clients
    /// were connected.
    connected: BTreeMap<ConnectionId, Timestamp>,
    pub(crate) connected_for: u64,
    /// Landmarks of all episodes and their groups, if a landmark filter is set.
    landmarks_seen: BTreeSet<Label>,
}

impl Findings {
    pub(crate) fn new(options: &EpisodeOptions) -> Findings {
        Findings {
            options: options.clone(),
            bursts: Bursts::new(options.frame()),
            user: Instances::new(options.events.clone()),
            ..Findings::default()
        }
    }

    /// Processes an observation: the connections, the processes and the threads of the recording.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        self.modal.observe(observation);
        self.user.observe(observation);
        match observation {
            Observation::BlockStart(block) => self.last_act = block.time,
            Observation::Switches(steps) => steps.iter().for_each(|step| self.step(step)),
            Observation::Control(time, control) => {
                self.first.get_or_insert(*time);
                self.control(*time, control);
            }
            _ => {}
        }
    }

    fn control(&mut self, time: Timestamp, control: &Control) {
        match control {
            Control::Server(server) => {
                if let Some(pid) = server.pid {
                    self.processes.insert(pid, ProcessorOwner::Server);
                }
            }
            Control::CpuTime(_) => self.series.recorded_until(time.as_nanos()),
            Control::Ending {} => self.ending = Some(time),
            Control::Moved { connection, pid } => self.moved(*connection, *pid),
            Control::Opened(opened) => {
                self.first_act.get_or_insert(time);
                self.last_act = time;
                self.opened(time, opened);
            }
            Control::Closed { connection, .. } => {
                self.last_act = time;
                self.closed(time, *connection);
            }
            _ => {}
        }
    }

    fn opened(&mut self, time: Timestamp, opened: &Opened) {
        if self.connected.len() < MAX_NAMES {
            self.connected.insert(opened.connection, time);
        }
        if self.names.len() < MAX_NAMES {
            self.names.insert(opened.connection, opened.name.clone());
        }
        self.series.begin(time.as_nanos());
        if let Some(pid) = opened.pid
            && self.processes.len() < MAX_NAMES
            && self.wanted_client(opened.connection)
        {
            self.processes.entry(pid).or_insert(ProcessorOwner::Client);
        }
    }

    /// Notes that process `pid` now has the connection.
    fn moved(&mut self, connection: ConnectionId, pid: u32) {
        if self.processes.len() < MAX_NAMES && self.wanted_client(connection) {
            self.processes.entry(pid).or_insert(ProcessorOwner::Client);
        }
    }

    /// True if the episode began after the recorder had signalled the command to end.
    pub(crate) fn is_of_end(&self, episode: &Episode) -> bool {
        self.ending.is_some_and(|ending| episode.start >= ending)
    }

    /// Notes a state change of a thread of a client or of the server.
    fn step(&mut self, step: &Step) {
        self.series.switch(step, &self.processes);
    }

    /// The CPU utilisation and the latency over time.
    pub(crate) fn series(&self) -> Series {
        let mut series = self.series.clone();
        for stretch in self.waits.unsettled() {
            series.waited(stretch.start, stretch.start + stretch.length);
        }
        series
    }

    fn closed(&mut self, time: Timestamp, client: ConnectionId) {
        if let Some(since) = self.connected.remove(&client)
            && self.wanted_client(client)
        {
            let from = self.after(self.options.from_s).unwrap_or(0);
            let from = from.max(since.as_nanos());
            let to = self.after(self.options.to_s).unwrap_or(u64::MAX);
            let nanos = time.as_nanos().min(to).saturating_sub(from);
            self.connected_for = self.connected_for.saturating_add(nanos);
        }
    }

    /// Returns the time in nanoseconds that is `seconds` after the first record.
    fn after(&self, seconds: Option<f64>) -> Option<u64> {
        let first = self.first.unwrap_or_default().as_nanos();
        Some(first.saturating_add((seconds? * 1e9) as u64))
    }

    /// Ends the trace at `time`.
    pub(crate) fn ended(&mut self, time: Timestamp) {
        self.user.finish(time);
        // After the analyzed part, or after the last client has disconnected, no client waits: requests may still be on
        // an emulated link.
        let end = match (self.options.from_s, self.after(self.options.to_s)) {
            (None, None) if self.connected.is_empty() => self.last_act,
            (None, None) => time,
            (_, to) => to.map_or(time, |to| time.min(Timestamp::from_nanos(to))),
        };
        self.added = self.last_over.saturating_sub(end.as_nanos());
        let end = end.as_nanos().saturating_add(self.added);
        self.covered.end_at(end);
        self.waits.end_at(end);
        let numbers = self.patterns.settle();
        for episode in self.kept.values_mut() {
            let number = episode.pattern.and_then(|number| numbers.get(&number));
            episode.pattern = number.copied();
        }
        let clients: Vec<ConnectionId> = self.connected.keys().copied().collect();
        clients.into_iter().for_each(|one| self.closed(time, one));
        self.series.end(time.as_nanos(), &self.processes);
    }

    /// The name and number of a client.
    pub(crate) fn client(&self, client: ConnectionId) -> String {
        client_name(self.name(client), client)
    }

    fn name(&self, client: ConnectionId) -> Option<&str> {
        self.names.get(&client)?.as_deref()
    }

    /// The name of a client's program, or the client's number if the program is unknown.
    pub(crate) fn program(&self, client: ConnectionId) -> String {
        let name = self.name(client).map(str::to_owned);
        name.unwrap_or_else(|| client_name(None, client))
    }

    /// The client or landmark filter that matches no name; `None` if all filters match, or for an empty recording.
    pub fn unmatched(&self) -> Option<Unmatched> {
        if let Some(wanted) = &self.options.client
            && !self.names.is_empty()
            && !self.names.keys().any(|client| self.wanted_client(*client))
        {
            let known = self.names.keys().map(|client| self.client(*client));
            return Some(Unmatched {
                what: "client",
                wanted: wanted.clone(),
                known: known.collect(),
            });
        }
        let wanted = self.options.landmark.as_ref()?;
        let seen = &self.landmarks_seen;
        let found = seen.iter().any(|one| holds(one.as_str(), wanted));
        (!found && !seen.is_empty()).then(|| Unmatched {
            what: "landmark",
            wanted: wanted.clone(),
            known: seen.iter().map(|one| one.to_string()).collect(),
        })
    }

    pub(crate) fn wanted_client(&self, client: ConnectionId) -> bool {
        self.options.client.as_ref().is_none_or(|wanted| {
            wanted.parse() == Ok(client.0) || holds(&self.client(client), wanted)
        })
    }

    fn wanted(&mut self, episode: &Episode) -> bool {
        let first = self.first.unwrap_or_default();
        let seconds = episode.start.since(first).as_nanos() as f64 / 1e9;
        let is_at = |time: f64, of: Option<f64>| of.is_some_and(|of| (time - of).abs() < 1e-6);
        // A start-up may begin before the recording.
        let end = episode.start.as_nanos().saturating_add(episode.latency());
        let end = (end as f64 - first.as_nanos() as f64) / 1e9;
        let within = match self.options.single {
            true => is_at(seconds, self.options.from_s) && is_at(end, self.options.to_s),
            false => {
                self.options.from_s.is_none_or(|from| seconds >= from)
                    && self.options.to_s.is_none_or(|to| seconds <= to)
            }
        };
        if !within || !self.wanted_client(episode.client) {
            return false;
        }
        let Some(wanted) = &self.options.landmark else {
            return true;
        };
        let names = [episode.landmark.clone(), Label::new(episode.group.as_str())];
        if self.landmarks_seen.len() < MAX_NAMES {
            self.landmarks_seen.extend(names.clone());
        }
        names.iter().any(|name| holds(name.as_str(), wanted))
    }

    /// True if the episode counts, and its latency reaches the threshold for its trigger and landmark.
    pub(crate) fn is_perceptible(&self, episode: &Episode) -> bool {
        let threshold = self
            .options
            .thresholds
            .of(episode.trigger, episode.landmark.as_str());
        self.counts(episode) && episode.latency() as f64 >= threshold * 1e6
    }

    /// Returns true if the episode counts in the sums. An episode that another client's episode caused does not count,
    /// because that episode's latency includes it. With a client or landmark filter, both count.
    pub(crate) fn counts(&self, episode: &Episode) -> bool {
        let of = &self.options;
        of.client.is_some() || of.landmark.is_some() || !episode.is_led_to()
    }

    pub(crate) fn add(&mut self, episode: &Episode) {
        if !self.wanted(episode) {
            return;
        }
        self.user.add(episode);
        self.bursts.add(episode);
        self.busy.merge(&episode.busy);
        self.waited_idle = self.waited_idle.saturating_add(episode.waited_idle);
        let mut episode = match &self.options.link {
            Some(link) => episode.over(link),
            None => episode.clone(),
        };
        if !self.counts(&episode) {
            if self.options.worst.is_none() {
                episode.path = Vec::new();
                self.keep(&without_shape(episode));
            }
            return;
        }
        let (start, latency) = (episode.start.as_nanos(), episode.latency());
        // A start-up begins with the process, the time of a session with the first connection.
        let begun = match (self.options.from_s, self.options.to_s) {
            (None, None) => self.first_act,
            _ => self.first,
        };
        let begun = begun.unwrap_or_default().as_nanos();
        let start_over = match &self.options.link {
            Some(link) => link.begun(episode.client, start),
            None => start,
        };
        let (begun, end) = (start_over.max(begun), start_over.saturating_add(latency));
        if self.options.link.is_some() {
            self.last_over = self.last_over.max(end);
        }
        self.covered.add(begun, end);
        if episode.trigger == Trigger::Input
            && let Some(stretch) = self.waits.add(begun, end)
        {
            let end = stretch.start + stretch.length;
            self.series.waited(stretch.start, end);
        }
        let perceptible = self.is_perceptible(&episode);
        episode.pattern = self.patterns.add(&episode, perceptible);
        if !perceptible {
            episode.path = Vec::new();
        }
        let episode = &without_shape(episode);
        self.series.episode(start, latency);
        self.number += 1;
        self.latencies.add(latency);
        self.total = self.total.saturating_add(latency);
        self.under_3 += u64::from(latency < 3_000_000);
        self.perceptible += u64::from(perceptible);
        self.unscheduled += u64::from(!episode.scheduled);
        let at = Trigger::ALL.iter().position(|one| *one == episode.trigger);
        if let Some(of) = at.and_then(|at| self.triggers.get_mut(at)) {
            of.count += 1;
            of.latencies.add(latency);
            of.parts.merge(&episode.parts);
            if episode.scheduled {
                of.runnable = of.runnable.saturating_add(episode.runnable);
                let handled = episode.of_client() - episode.parts.of(LatencyComponent::Waiting);
                of.counted = of.counted.saturating_add(handled);
            }
            if perceptible {
                of.perceptible += 1;
                of.perceptible_parts.merge(&episode.parts);
            }
        }
        self.landmarks.add(&episode.landmark, episode, perceptible);
        let group = Label::new(episode.group.as_str());
        self.groups.add(&group, episode, perceptible);
        let long = latency as f64 > self.options.thresholds.general * 1e6;
        self.long.add(start, latency, long, perceptible);
        self.keep(episode);
    }

    fn keep(&mut self, episode: &Episode) {
        self.seen += 1;
        self.kept
            .insert((episode.latency(), Reverse(self.seen)), episode.clone());
        if self.kept.len() > self.options.worst.unwrap_or(MAX_EPISODES).min(MAX_EPISODES)
            && let Some((_, least)) = self.kept.pop_first()
        {
            self.omitted += u64::from(self.counts(&least));
        }
    }

    /// The number of episodes that count in the sums.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// Returns the number of kept episodes that the user caused in `client` from `start` to `end`, and their total
    /// latency in nanoseconds.
    pub(crate) fn input_within(
        &self,
        client: ConnectionId,
        start: Timestamp,
        end: Option<Timestamp>,
    ) -> (u64, u64) {
        let within = self.kept.values().filter(|one| {
            one.client == client
                && one.trigger == Trigger::Input
                && one.start >= start
                && end.is_none_or(|end| one.start < end)
        });
        within.fold((0, 0), |(count, sum), one| {
            (count + 1, sum.saturating_add(one.latency()))
        })
    }

    /// Returns the kept episodes: the longest first if the options limit their number, otherwise in time order.
    pub fn episodes(&self) -> Vec<&Episode> {
        let mut episodes: Vec<&Episode> = self.kept.values().rev().collect();
        if self.options.worst.is_none() {
            episodes.sort_by_key(|episode| (episode.start, episode.client));
        }
        episodes
    }
}

/// Returns the episode without its tree, which its pattern already stores, to save memory.
fn without_shape(mut episode: Episode) -> Episode {
    episode.tree = Tree::new(episode.group);
    episode.tags = Default::default();
    episode
}
