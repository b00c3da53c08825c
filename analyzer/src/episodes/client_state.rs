//! The state of one client: its current episode, the stimuli that it has not begun to handle, and the latency component
//! to which the current time is added.
//!
//! A client is quiet when no reply is pending, no request is sent in part, no delivered bytes are unread, and the threads
//! that communicate for it wait for X or for work. Without context switches it is quiet when the connection is silent. This file contains the
//! state; [`messages`] and [`threads`] contain the transitions.

mod backlogs;
mod messages;
mod motions;
mod threads;
mod waits;

use std::collections::VecDeque;

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::ConnectionId;

use super::cause::{Cause, ServerCause};
use super::client_threads::ClientThreads;
use super::cross_client::causal_edge::{EpisodeId, TreePosition};
use super::episode::{Episode, LatencyComponent, START_UP, Unsure};
use super::open_episode::OpenEpisode;
use super::queue::Queue;
use super::states::BusyState;
use super::thread::Thread;
use super::timeline_event::EpisodeLabel;
use crate::threads::delays::BRIEF;
use crate::threads::server_ready::ServerReady;
pub(crate) use motions::Backlog;
use motions::Motions;

/// The durations that determine what belongs to one episode, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spans {
    /// The length of an animation's frame in nanoseconds.
    pub(crate) frame: u64,
    /// If the recording has no context switches, a client counts as quiet after this time without a message, in
    /// nanoseconds.
    pub(crate) silence: u64,
}

impl Spans {
    /// Returns the time in nanoseconds within which a client that waits for the next frame draws: a frame, and half a
    /// frame for late timers.
    fn tick(&self) -> u64 {
        self.frame + self.frame / 2
    }
}

/// The state of one client: its current episode, its waiting stimuli and its threads.
#[derive(Debug)]
pub(crate) struct ClientState {
    client: ConnectionId,
    /// The number of the current episode, and the number of the next one.
    number: u64,
    next_number: u64,
    /// The id of the client's process; `None` if unknown.
    pub(crate) pid: Option<u32>,
    threads: ClientThreads,
    /// The combined state of all threads that communicate for the client.
    thread: Thread,
    outstanding: VecDeque<(SequenceNumber, Symbol)>,
    /// True if the client has sent a part of a request. If it does not run, it waits until it can write the rest.
    writes: bool,
    /// True if the latest requests drew on a window, and then only synchronised with the server (XSync).
    synchronises: bool,
    /// The time at which the client began to wait for the pending replies, in nanoseconds.
    requested_at: u64,
    /// The first and the last drawing request that the server may not have handled yet.
    undrawn: Option<(SequenceNumber, SequenceNumber)>,
    /// The latest request that received a reply.
    answered: Option<Symbol>,
    answered_at: u64,
    /// Used for an attached server, which reports requests late. The nanoseconds in which other clients had grabbed the
    /// server, counted from the time at which the client began to wait without a known request; and the last of these
    /// clients.
    grabbed: (u64, Option<ConnectionId>),
    open: Option<OpenEpisode>,
    /// Parked episodes with their numbers, the longest wait first. A parked episode waits for another client's reply,
    /// while the client handles other stimuli.
    parked: Vec<(u64, OpenEpisode)>,
    motions: Motions,
    /// The time at which the client began its last response to a backlog of motion, in nanoseconds. Input that arrived
    /// after the motion waited until then.
    behind_motion: Option<u64>,
    /// Backlogs of pointer motion that the client has handled. The tracker removes them.
    pub(crate) backlogs: Vec<Backlog>,
    /// The time at which the last reply arrived, in nanoseconds.
    answer_came: Option<u64>,
    /// The time at which the threads' latest wait ends by its time limit, in nanoseconds; `None` if unknown.
    due: Option<u64>,
    /// The time at which the last bytes arrived, in nanoseconds.
    fed_at: u64,
    /// The time at which the threads last woke, in nanoseconds; `None` if bytes had arrived before.
    woke_unfed: Option<u64>,
    waiting: Queue,
    spans: Spans,
    /// The latency component of the time until the server has received the client's requests: the network if the server
    /// runs on another machine.
    taking: LatencyComponent,
    /// The time at which the latest request reaches the server, in nanoseconds.
    arrives: u64,
    /// The first request that the client sent after it was last quiet. Events of this request or a later one may be
    /// effects of the client's own requests.
    busy_from: Option<SequenceNumber>,
    /// The time at which the client last drew without a stimulus, in nanoseconds. `ticked_at` leaves out the start-up.
    last_frame: Option<u64>,
    ticked_at: Option<u64>,
    /// The numbers of requests and bytes of the client's latest drawings without a stimulus.
    drawings: VecDeque<(u64, u64)>,
    /// The end of the client's last episode, in nanoseconds.
    last_end: u64,
    /// True if the server has accepted the client's setup.
    set_up: bool,
    /// True if the threads last woke from a wait in the middle of the handling of a stimulus; false also if unknown.
    mid_way: bool,
    names: Names,
    /// The episodes that the client has ended, each with its end time in nanoseconds, until the tracker removes them.
    pub(crate) ended_episodes: Vec<(Episode, u64)>,
}

/// Landmarks of episodes without an event.
#[derive(Debug, Clone)]
struct Names {
    startup: EpisodeLabel,
    timer: EpisodeLabel,
    frame: EpisodeLabel,
}

impl ClientState {
    /// Creates a client that connected at `time` (nanoseconds). The connection begins the client's first episode. `far`
    /// is true if the server runs on another machine.
    pub(crate) fn new(
        client: ConnectionId,
        pid: Option<u32>,
        time: u64,
        spans: Spans,
        far: bool,
    ) -> ClientState {
        let names = Names {
            startup: EpisodeLabel::alone(START_UP),
            timer: EpisodeLabel::alone("Timer or file"),
            frame: EpisodeLabel::alone("Frame tick"),
        };
        ClientState {
            client,
            number: 0,
            next_number: 1,
            pid,
            threads: ClientThreads::default(),
            thread: Thread::Unknown,
            outstanding: VecDeque::new(),
            writes: false,
            synchronises: false,
            requested_at: time,
            undrawn: None,
            answered: None,
            answered_at: time,
            grabbed: (0, None),
            open: Some(OpenEpisode::start_up(names.startup.clone(), time)),
            parked: Vec::new(),
            motions: Motions::default(),
            behind_motion: None,
            backlogs: Vec::new(),
            answer_came: None,
            ticked_at: None,
            due: None,
            fed_at: time,
            woke_unfed: None,
            waiting: Queue::default(),
            spans,
            taking: if far {
                LatencyComponent::Network
            } else {
                LatencyComponent::Server(ServerCause::Reply)
            },
            arrives: time,
            busy_from: None,
            last_frame: None,
            drawings: VecDeque::new(),
            last_end: time,
            mid_way: false,
            set_up: false,
            names,
            ended_episodes: Vec::new(),
        }
    }

    /// Notes that the client connected before the recording began, so its start-up is unknown. Has no effect on a client
    /// whose setup is recorded.
    pub(crate) fn joined(&mut self) {
        if !self.set_up {
            self.open.take_if(|open| open.starts_up());
            self.set_up = true;
        }
    }

    /// Notes that process `pid` now has the connection. The state of its threads is unknown.
    pub(crate) fn moved(&mut self, pid: u32) {
        self.pid = Some(pid);
        self.threads = ClientThreads::default();
        self.thread = Thread::Unknown;
    }

    /// Notes that the context switches of the client's process are recorded from `time` on. The process runs, or waits
    /// until the server has accepted the client.
    pub(crate) fn captured(&mut self, time: u64) {
        match (self.thread, self.set_up) {
            (Thread::Unknown, true) => self.runs(),
            (Thread::Unknown, false) => self.does_not_run(time, false),
            _ => {}
        }
    }

    /// Notes that a thread of the client runs on a processor.
    pub(crate) fn runs(&mut self) {
        self.thread = Thread::Running;
    }

    /// Notes that the last running thread of the client stopped at `time` (nanoseconds). If `ready` is true, a thread
    /// is runnable; otherwise all threads wait.
    pub(crate) fn does_not_run(&mut self, time: u64, ready: bool) {
        self.thread = if ready {
            Thread::Preempted
        } else {
            Thread::Blocked {
                since: time,
                wait: None,
                unsure: false,
                fed: None,
                answered: None,
                taken: None,
            }
        };
    }

    /// The time at which the threads began to wait, in nanoseconds; `None` while a thread runs or is ready, or if the
    /// state of the threads is unknown.
    pub(crate) fn waits_since(&self) -> Option<u64> {
        match self.thread {
            Thread::Blocked { since, .. } => Some(since),
            Thread::Unknown | Thread::Running | Thread::Preempted => None,
        }
    }

    /// Returns the time in nanoseconds at which the client began to wait for the pending replies.
    pub(crate) fn requested_at(&self) -> u64 {
        self.requested_at
    }

    /// The id of the current episode.
    fn id(&self) -> EpisodeId {
        EpisodeId {
            client: self.client,
            number: self.number,
        }
    }

    /// The position of the open episode in its tree of causes; `None` if no episode is open.
    pub(crate) fn position(&self) -> Option<TreePosition> {
        self.open.as_ref().map(|open| open.position(self.id()))
    }

    /// Returns the first episodes of the trees to which the client can still add: those of the open episode and of the
    /// waiting stimuli.
    pub(crate) fn roots(&self) -> impl Iterator<Item = EpisodeId> {
        let waiting = self.waiting.links().map(|link| link.root);
        let id = |number| EpisodeId {
            client: self.client,
            number,
        };
        let parked = self.parked.iter();
        let parked = parked.map(move |(number, open)| open.position(id(*number)).root);
        let open = self.position().map(|open| open.root);
        waiting
            .chain(open)
            .chain(parked)
            .chain(self.motions.roots())
    }

    /// Adds the time up to `time` (nanoseconds) to the episode's components. For `grabbed` nanoseconds of that time,
    /// other clients had grabbed the server, most recently `by`. `ready` contains the times in which the server lacked
    /// a processor.
    pub(crate) fn pass(
        &mut self,
        time: u64,
        grabbed: u64,
        by: Option<ConnectionId>,
        runnable: u64,
        ready: &ServerReady,
    ) {
        let asks = self.asks();
        let owner = match self.thread.owner(time, asks || self.writes) {
            LatencyComponent::Client if self.threads.is_gone() => {
                LatencyComponent::OffCpu(Cause::Elsewhere)
            }
            LatencyComponent::OffCpu(Cause::Poll | Cause::Sleeping | Cause::Elsewhere)
                if self.awaits() =>
            {
                LatencyComponent::Awaited
            }
            LatencyComponent::Client if self.awaits() && self.thread == Thread::Unknown => {
                LatencyComponent::Awaited
            }
            LatencyComponent::OffCpu(Cause::Processor) if self.waits_since().is_some() => {
                LatencyComponent::OffCpu(self.threads.ignore_events().unwrap_or(Cause::Processor))
            }
            // The reply arrived, and no thread of the process runs: the one that reads the reply lacks a processor.
            LatencyComponent::OffCpu(Cause::Synchronisation)
                if runnable == 0 && self.answered_at > self.waits_since().unwrap_or(u64::MAX) =>
            {
                LatencyComponent::OffCpu(Cause::Processor)
            }
            owner => owner,
        };
        let state = BusyState {
            events: self.waiting.has_input(),
            outstanding: asks || self.writes,
            file: owner == LatencyComponent::OffCpu(Cause::File),
        };
        match self.thread {
            Thread::Blocked { .. } if !asks && ready.is_attached() => {
                self.grabbed = (self.grabbed.0 + grabbed, by.or(self.grabbed.1));
            }
            _ => self.grabbed = (0, None),
        }
        let first = self.outstanding.front().map(|(_, request)| *request);
        let last = self.answered.filter(|_| asks || !self.writes);
        let draws = self.server_draws(time);
        if let Some(open) = &mut self.open {
            open.scheduled |= self.thread != Thread::Unknown;
            let (mut unserved, mut ignored) = (0, 0);
            if (asks || self.writes) && owner == LatencyComponent::Server(ServerCause::Reply) {
                // On an emulated link, requests arrive later.
                let arrives = match self.writes && self.taking == LatencyComponent::Network {
                    true => time,
                    false => self.arrives.min(time),
                };
                open.pass(
                    arrives,
                    LatencyComponent::Network,
                    runnable,
                    state,
                    None,
                    false,
                );
                // The position within the wait is irrelevant.
                unserved = ready.between(open.since, time);
                ignored = ready.ignored(open.since, time);
                let none = LatencyComponent::Server(ServerCause::Processor);
                open.pass(open.since + unserved, none, runnable, state, None, false);
            }
            open.pass(time, owner, runnable, state, first.or(last), draws);
            let grabbed = grabbed.saturating_sub(unserved);
            // A client that is not in the recording may have grabbed the server.
            let (grabbed, by) = match ignored > grabbed {
                true => (ignored, None),
                false => (grabbed, by),
            };
            if asks && grabbed > 0 {
                open.grabbed(grabbed, by);
            }
        }
    }

    /// True if a reply is pending. The setup is a request too.
    fn asks(&self) -> bool {
        !self.outstanding.is_empty() || !self.set_up
    }

    /// True if no reply is pending and no request is sent in part.
    fn is_idle_at_server(&self) -> bool {
        self.outstanding.is_empty() && !self.writes
    }

    /// Returns true if the server still handles drawing requests that precede the pending request. A local round trip
    /// alone takes less time than the client has waited.
    fn server_draws(&self, time: u64) -> bool {
        let (Some((question, _)), Some((drawing, _))) = (self.outstanding.front(), self.undrawn)
        else {
            return false;
        };
        drawing < *question
            && self.taking != LatencyComponent::Network
            && time.saturating_sub(self.requested_at) >= BRIEF
    }

    /// Returns true if requests at `time` (nanoseconds) may still belong to `open`: since its last request the client
    /// has been quiet for at most one and a half frames.
    fn lingers(&self, open: &OpenEpisode, time: u64) -> bool {
        let now = match self.thread {
            Thread::Blocked { since, fed, .. } if open.quiet_since().is_some() => {
                let from = since.max(self.answer_came.unwrap_or(0));
                fed.unwrap_or(time).saturating_sub(from)
            }
            Thread::Unknown | Thread::Running | Thread::Preempted | Thread::Blocked { .. } => 0,
        };
        open.quiet_for().saturating_add(now) <= self.spans.tick()
    }

    /// Notes that the recording has a gap that ends now.
    pub(crate) fn hole(&mut self) {
        if let Some(open) = &mut self.open {
            open.unsure.get_or_insert(Unsure::Hole);
        }
    }

    /// Notes that the recording ends now. An episode that the client still handles is longer than recorded.
    pub(crate) fn recording_ends(&mut self) {
        if let Some(open) = &mut self.open
            && open.scheduled
            && open.quiet_since().is_none()
        {
            open.unsure.get_or_insert(Unsure::Ended);
        }
    }

    /// Begins the episode of the next waiting stimulus at `time` (nanoseconds). Does nothing if no stimulus waits.
    fn begin(&mut self, time: u64) {
        if let Some(first) = self.waiting.next() {
            let start = first.start;
            let mut open = OpenEpisode::begin(first, time);
            // A client that slept or was stopped, or waits for another client, was in the middle of its work.
            let waits = self.current_waits().next().is_some();
            if !waits && self.threads.ignore_events().is_none() {
                open.waited_idle = time.saturating_sub(start.max(self.last_end));
            }
            open.timer = self.due;
            self.open = Some(open);
        }
    }

    /// Ends the open episode: the client has completed its response, or the connection or the trace has ended.
    pub(crate) fn close(&mut self) {
        let id = self.id();
        self.number = self.take_number();
        if let Some(mut open) = self.open.take()
            && open.counts()
        {
            self.responds_meanwhile(&open);
            if open.scheduled && open.never_waits() {
                open.unsure.get_or_insert(Unsure::NeverWaits);
            }
            let finished = open.finish(id);
            self.last_end = finished.end;
            let (mut episode, end) = (finished.episode, finished.end);
            self.waited_behind_motion(&mut episode);
            for press in finished.together {
                let id = EpisodeId {
                    client: self.client,
                    number: self.take_number(),
                };
                self.ended_episodes.push(press.episode(id, &episode, end));
            }
            let ended = self.motions.hold(episode, end);
            self.ended_episodes.extend(ended);
        }
    }

    fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }
}
