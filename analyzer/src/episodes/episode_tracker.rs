//! Tracks all clients of a trace, and passes each timeline event to the state machines of the clients that it affects.

use std::collections::{HashMap, HashSet};

use rustc_hash::FxHashMap;
use x11prof_trace::{ConnectionId, Timestamp};

use super::awaited::AwaitedRequest;
use super::client_state::{Backlog, ClientState, Spans};
use super::clock::ServerClock;
use super::cross_client::causal_edge::{CausalEdge, EpisodeId};
use super::cross_client::causes::Causes;
use super::cross_client::episode_forest::EpisodeForest;
use super::cross_client::loops::Loops;
use super::cross_client::open_waits::OpenWaits;
use super::episode::{Episode, Trigger};
use super::obstacles::Obstacles;
use super::server::ServerActivity;
use super::timeline_event::{Delivery, SentRequests, TimelineEvent, Wait};
use crate::pipeline::grab_history::{GrabHistory, Hold};
use crate::pipeline::open_requests::{OpenRequest, OpenStep};
use crate::threads::processes::Processes;
use crate::threads::thread_states::Step;

/// Maximum number of connections tracked at the same time. Further connections have no episodes.
const MAX_CLIENTS: usize = 4096;
/// Maximum number of connections of a process that receive its context switches. Each switch is passed to all of them,
/// so more would take too long.
const MAX_OF_PROCESS: usize = 16;
/// Maximum number of processes whose capture is tracked.
const MAX_PROCESSES: usize = 1 << 14;
/// Maximum number of backlogs of motion; the first ones are kept.
const MAX_BACKLOGS: usize = 1000;

/// A client, and the time up to which it has been advanced.
#[derive(Debug)]
struct TrackedClient {
    state: ClientState,
    /// The value of [`GrabHistory::total`] at that time.
    grabbed: u64,
}

/// Returns true if one more connection of the process can receive its context switches.
fn has_room(processes: &HashMap<u32, Vec<ConnectionId>>, pid: u32) -> bool {
    let of = processes.get(&pid);
    of.is_none_or(|of| of.len() < MAX_OF_PROCESS)
}

/// The state machines of all clients of a trace.
#[derive(Debug, Default)]
pub(crate) struct EpisodeTracker {
    spans: Spans,
    clients: FxHashMap<ConnectionId, TrackedClient>,
    /// The clients of each process.
    processes: HashMap<u32, Vec<ConnectionId>>,
    captured: HashMap<u32, bool>,
    around: SharedContext,
    causes: Causes,
    forest: EpisodeForest,
    /// Loops of clients that repeatedly cause each other's messages.
    pub(crate) loops: Loops,
    /// Ended and settled episodes, until the caller of the tracker removes them.
    pub(crate) finished: Vec<Episode>,
}

/// The state that all clients share.
#[derive(Debug, Default)]
struct SharedContext {
    server: ServerActivity,
    clock: ServerClock,
    processes: Processes,
    grab: GrabHistory,
    /// True if the recorder emulates a slower link to the server.
    emulated: bool,
    /// The open requests of clients.
    waits: OpenWaits,
    backlogs: Vec<Backlog>,
    obstacles: Obstacles,
}

impl SharedContext {
    /// Advances a client to `time`, applies `what`, and collects the episodes that the client has ended.
    fn step<T>(
        &mut self,
        time: u64,
        id: ConnectionId,
        client: &mut TrackedClient,
        what: impl FnOnce(&mut ClientState, &mut ServerClock) -> T,
    ) -> T {
        let total = self.grab.total(time);
        let grabbed = if self.grab.by == Some(id) {
            0
        } else {
            total.saturating_sub(client.grabbed)
        };
        client.grabbed = total;
        let runnable = self.processes.could_run(client.state.pid);
        let last = self.grab.last;
        let state = &mut client.state;
        state.pass(time, grabbed, last, runnable, &self.server.ready);
        let result = what(state, &mut self.clock);
        for (mut episode, end) in state.ended_episodes.drain(..) {
            self.waits.explain(&mut episode.awaited);
            self.server.finish(episode, end);
        }
        let room = MAX_BACKLOGS.saturating_sub(self.backlogs.len());
        self.backlogs.extend(state.backlogs.drain(..).take(room));
        result
    }
}

impl EpisodeTracker {
    pub(crate) fn new(spans: Spans) -> EpisodeTracker {
        EpisodeTracker {
            spans,
            ..EpisodeTracker::default()
        }
    }

    /// Removes and returns the backlogs: pointer motion that arrived faster than clients handled it.
    pub(crate) fn take_backlogs(&mut self) -> Vec<Backlog> {
        std::mem::take(&mut self.around.backlogs)
    }

    /// Removes and returns the obstacles that kept clients from working.
    pub(crate) fn take_obstacles(&mut self) -> Obstacles {
        std::mem::take(&mut self.around.obstacles)
    }

    /// The states of the connected clients.
    pub(crate) fn states(&self) -> impl Iterator<Item = &ClientState> {
        self.clients.values().map(|client| &client.state)
    }

    /// The waits for open requests that clients have at `now`.
    pub(crate) fn waits_at(&self, now: Timestamp) -> Vec<AwaitedRequest> {
        let open = self.states().flat_map(ClientState::current_waits);
        let mut waits: Vec<_> = open
            .map(|one| AwaitedRequest::unanswered(one, now))
            .collect();
        self.around.waits.explain(&mut waits);
        waits
    }

    /// Sets the id of the server's process; `None` if unknown.
    pub(crate) fn set_server(&mut self, pid: Option<u32>) {
        self.around.server.set_pid(pid);
    }

    /// Notes that the recorder emulates a slower link to the server.
    pub(crate) fn emulated_link(&mut self) {
        self.around.emulated = true;
    }

    /// Notes that the server slept at `time` (nanoseconds).
    pub(crate) fn asleep(&mut self, time: u64) {
        self.around.server.ready.asleep(time);
    }

    /// Notes that the trace was recorded by attaching to a server, which reports its clients' messages.
    pub(crate) fn attached(&mut self) {
        self.around.server.ready.attached();
    }

    /// Notes that a client connected before the recording began.
    pub(crate) fn joined(&mut self, id: ConnectionId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.state.joined();
        }
    }

    /// Notes that the recording has a gap that ends now.
    pub(crate) fn hole(&mut self) {
        self.clients
            .values_mut()
            .for_each(|client| client.state.hole());
    }

    /// Processes the next timeline event; [`EpisodeTracker::finished`] returns the episodes that it completes.
    pub(crate) fn happened(&mut self, time: u64, timeline_event: &TimelineEvent) {
        let around = &mut self.around;
        match timeline_event {
            TimelineEvent::Opened { client, pid } => self.opened(time, *client, *pid),
            TimelineEvent::Moved { client: id, pid } => {
                if has_room(&self.processes, *pid)
                    && let Some(client) = self.clients.get_mut(id)
                {
                    let before = client
                        .state
                        .pid
                        .and_then(|pid| self.processes.get_mut(&pid));
                    before.into_iter().for_each(|of| of.retain(|one| one != id));
                    self.processes.entry(*pid).or_default().push(*id);
                    around.step(time, *id, client, |state, _| state.moved(*pid));
                }
            }
            TimelineEvent::Joined(id) => self.joined(*id),
            TimelineEvent::Closed(id) => {
                if let Some(mut client) = self.clients.remove(id) {
                    if let Some(pid) = client.state.pid
                        && let Some(of) = self.processes.get_mut(&pid)
                    {
                        of.retain(|one| one != id);
                        if of.is_empty() {
                            self.processes.remove(&pid);
                        }
                    }
                    around.step(time, *id, &mut client, |state, _| state.close_all(time));
                }
                around.server.closed(*id);
            }
            TimelineEvent::Captured { pid, switches } => {
                if self.captured.len() < MAX_PROCESSES {
                    self.captured.insert(*pid, *switches);
                }
                if *switches {
                    for id in self.processes.get(pid).into_iter().flatten() {
                        if let Some(client) = self.clients.get_mut(id) {
                            client.state.captured(time);
                        }
                    }
                }
            }
            TimelineEvent::Waits {
                pid,
                tid,
                since,
                place,
                obstacle,
            } => {
                if let (Some(obstacle), Some(clients)) = (obstacle, self.processes.get(pid)) {
                    around.obstacles.waits(*tid, *since, obstacle, clients);
                }
                if Some(*pid) == around.server.pid() {
                    let poll = place.wait == Wait::Poll;
                    around.server.ready.waits(*tid, *since, poll);
                }
                self.of_process(time, *pid, |state| state.waits(*tid, *since, *place));
            }
            TimelineEvent::Step(step) => self.step(time, step),
            TimelineEvent::Delivered(id, delivery) => {
                let answered = delivery.answered_requests.iter();
                answered.for_each(|request| around.waits.over(request, time));
                let links = self.links(time, *id, delivery);
                if let Some(client) = self.clients.get_mut(id) {
                    let requested_at = client.state.requested_at();
                    let left = delivery.left_at.unwrap_or(time);
                    let said_before = self.around.server.ready.said_before(requested_at, left);
                    self.around.step(time, *id, client, |state, clock| {
                        state.delivered(time, delivery, &links, said_before, clock);
                    });
                    let landed = delivery.landed_at;
                    self.around.server.landed(landed, *id, &delivery.landed);
                }
                let answered = delivery.answered_requests.iter();
                answered.for_each(|request| self.replied(time, request));
            }
            TimelineEvent::OpenRequest(change) => {
                let request = &change.request;
                match change.step {
                    OpenStep::Opened | OpenStep::Reached => around.waits.opened(request),
                    OpenStep::Answered | OpenStep::Abandoned => around.waits.over(request, time),
                }
                if let Some(client) = self.clients.get_mut(&request.client) {
                    around.step(time, request.client, client, |state, _| {
                        state.open_request(time, change);
                    });
                }
                if change.step == OpenStep::Answered {
                    self.replied(time, request);
                }
            }
            TimelineEvent::Grabbed(by) => {
                // Until now, the previous owner of the grab was not affected by it.
                if let Some(had) = around.grab.by
                    && let Some(client) = self.clients.get_mut(&had)
                {
                    around.step(time, had, client, |_, _| {});
                }
                around.grab.change(time, *by);
            }
            TimelineEvent::Sent(id, sent) => self.sent(time, *id, sent),
        }
        self.settle(time);
    }

    /// Returns, for each event of a delivery, the request of another client that caused the event.
    fn links(
        &mut self,
        time: u64,
        id: ConnectionId,
        delivery: &Delivery,
    ) -> Vec<Option<CausalEdge>> {
        let EpisodeTracker {
            causes,
            forest,
            around,
            loops,
            ..
        } = self;
        let delivered = Timestamp::from_nanos(time);
        let links = delivery.events.iter().map(|event| {
            let millis = event.millis.filter(|_| !event.causal_keys.is_empty());
            let by = millis.map(|millis| around.clock.happened(millis, delivered));
            let by = by.map(Timestamp::as_nanos);
            if event.stimulus.trigger == Trigger::Input {
                loops.input(time, id);
            }
            let link = causes.find(time, by, id, &event.causal_keys)?;
            // The reply to the client's own request does not extend a loop.
            if !event.answers && loops.step(&link, id, &event.about.landmark) {
                return Some(CausalEdge {
                    root: link.from,
                    depth: 1,
                    looped: true,
                    ..link
                });
            }
            let held = around.grab.hold(link.from.client, link.sent);
            let free = held.map_or(link.sent, |hold| hold.until.unwrap_or(time).min(time));
            forest.link(CausalEdge {
                held: held.map(|Hold { by, .. }| (by, free.saturating_sub(link.sent))),
                unserved: around.server.ready.between(free, time),
                ..link
            })
        });
        let links = links.collect();
        if let Some(handled) = delivery.handled {
            causes.answered(time, id, handled);
        }
        links
    }

    fn sent(&mut self, time: u64, id: ConnectionId, sent: &SentRequests) {
        // A single client cannot cause episodes of other clients.
        let others = self.clients.len() > 1;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let around = &mut self.around;
        let opened = sent.opened.iter();
        opened.for_each(|request| around.waits.opened(request));
        around.server.shows(time, id, sent.shown, sent.is_reported);
        // During a grab the server reads only the holder's requests.
        if around.grab.by.is_none_or(|by| by == id) {
            around.server.ready.sent(time, sent.arrived_at);
        }
        // During another client's grab, the grab keeps the server from reading, not the lack of a processor. On an
        // emulated link the recorder reads instead of the server.
        let free = around.grab.by.is_none_or(|by| by == id) && !around.emulated;
        let waits = client.state.waits_since().filter(|_| free);
        let rested = waits.map_or(0, |since| around.server.rested(since, time));
        let position = around.step(time, id, client, |state, _| state.sent(time, sent, rested));
        if others && !sent.causal_requests.is_empty() {
            self.causes.sent(time, &sent.causal_requests, position);
        }
    }

    /// Notes that the client that had to reply to `request` has replied.
    fn replied(&mut self, time: u64, request: &OpenRequest) {
        if let Some(party) = request.party.filter(|party| *party != request.client)
            && let Some(client) = self.clients.get_mut(&party)
        {
            self.around.step(time, party, client, |state, _| {
                state.goes_on_unanswered(time);
            });
        }
    }

    /// Collects the episodes that are complete at `time`.
    fn settle(&mut self, time: u64) {
        for episode in self.around.server.settle(time, &self.around.grab) {
            // A step of a loop is no episode.
            if !episode.link.as_ref().is_some_and(|link| link.looped) {
                self.finished.push(episode.clone());
                self.forest.add(episode);
            }
        }
        if self.forest.is_due(time, self.clients.len()) {
            let machines = self.clients.values();
            let live: HashSet<EpisodeId> = machines
                .flat_map(|client| client.state.roots())
                .chain(self.around.server.roots())
                .chain(self.causes.roots(time))
                .collect();
            self.finished.extend(self.forest.release(time, &live));
        }
    }

    fn opened(&mut self, time: u64, id: ConnectionId, pid: Option<u32>) {
        if self.clients.len() >= MAX_CLIENTS {
            return;
        }
        let pid = pid.filter(|pid| has_room(&self.processes, *pid));
        // The server's process is only known if it runs on this machine.
        let far = self.around.server.pid().is_none() || self.around.emulated;
        let mut state = ClientState::new(id, pid, time, self.spans, far);
        if pid.is_some_and(|pid| self.captured.get(&pid) == Some(&true)) {
            match pid.filter(|pid| self.around.processes.knows(*pid)) {
                // The process of an earlier connection may not be running now.
                Some(pid) if !self.around.processes.runs(pid) => {
                    let ready = self.around.processes.could_run(Some(pid)) > 0;
                    state.does_not_run(time, ready);
                }
                Some(_) => state.runs(),
                None => state.captured(time),
            }
        }
        let client = TrackedClient {
            state,
            grabbed: self.around.grab.total(time),
        };
        if self.clients.insert(id, client).is_none()
            && let Some(pid) = pid
        {
            self.processes.entry(pid).or_default().push(id);
        }
    }

    fn step(&mut self, time: u64, step: &Step) {
        if Some(step.pid) == self.around.server.pid() {
            // On an emulated link, data sent before the rest may still be in flight.
            if self.around.server.step(step) && !self.around.emulated {
                self.causes.rests(time, self.around.grab.by);
            }
            return;
        }
        if step.runs() {
            self.around.obstacles.runs(step.tid, time);
        }
        self.of_process(time, step.pid, |state| state.step(step));
        self.around.processes.step(step);
    }

    /// Applies `what` to each client of process `pid`, at `time` (nanoseconds).
    fn of_process(&mut self, time: u64, pid: u32, what: impl Fn(&mut ClientState)) {
        for id in self.processes.get(&pid).into_iter().flatten() {
            if let Some(client) = self.clients.get_mut(id) {
                self.around.step(time, *id, client, |state, _| what(state));
            }
        }
    }

    /// Ends the trace at `time` (nanoseconds), and with it all open episodes.
    pub(crate) fn finish(&mut self, time: u64) {
        for (id, client) in &mut self.clients {
            self.around.step(time, *id, client, |state, _| {
                state.recording_ends();
                state.close_all(time);
            });
        }
        self.around.grab.change(time, None);
        for episode in self.around.server.settle(u64::MAX, &self.around.grab) {
            self.forest.add(episode);
        }
        self.finished
            .extend(self.forest.release(time, &HashSet::new()));
    }
}
