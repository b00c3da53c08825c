//! The effects of a client's messages on its state: stimuli, replies and requests.

use x11prof_trace::Timestamp;

use super::ClientState;
use crate::episodes::awaited::AwaitedOutcome;
use crate::episodes::cause::ServerCause;
use crate::episodes::clock::ServerClock;
use crate::episodes::cross_client::causal_edge::{CausalEdge, TreePosition};
use crate::episodes::episode::{LatencyComponent, Trigger, Unsure};
use crate::episodes::open_episode::OpenEpisode;
use crate::episodes::queue::WaitingStimulus;
use crate::episodes::stimulus::Shape;
use crate::episodes::thread::Thread;
use crate::episodes::timeline_event::{Arrival, Delivery, SentRequests, Wait};
use crate::threads::delays::{BRIEF, HANDED_ON_WITHIN};

/// The request with which libX11 and libxcb synchronise with the server.
const SYNCHRONISATION: &str = "GetInputFocus";
/// Maximum number of requests of a client with a pending reply.
const MAX_OUTSTANDING: usize = 4096;

impl ClientState {
    /// Processes messages that arrived at the client. `links` are the other clients' requests that caused its events.
    /// The recorder read the messages `said_before` nanoseconds after the server had written them.
    pub(crate) fn delivered(
        &mut self,
        time: u64,
        delivery: &Delivery,
        links: &[Option<CausalEdge>],
        said_before: u64,
        clock: &mut ServerClock,
    ) {
        let asked = !self.outstanding.is_empty();
        if let (Some(left), Some(open)) = (delivery.left_at, &mut self.open) {
            open.had_left(time.saturating_sub(left), LatencyComponent::Network);
            open.had_left(
                said_before,
                LatencyComponent::Server(ServerCause::Processor),
            );
        }
        let mut events = delivery.events.iter();
        let device = events.any(|event| event.stimulus.trigger == Trigger::Input);
        let asks = self.asks();
        let any = !delivery.events.is_empty();
        self.threads.delivered(time, device, any, asks);
        self.set_up = true;
        self.undrawn = self
            .undrawn
            .filter(|(_, last)| delivery.handled.is_none_or(|handled| handled < *last));
        if let Some(latest) = delivery.answered.last() {
            while let Some((_, request)) = self.outstanding.pop_front_if(|(one, _)| *one <= *latest)
            {
                self.answered = Some(request);
                self.answered_at = time;
            }
        }
        if let Some(open) = &mut self.open {
            open.round_trips += delivery.round_trips;
            open.received = open.received.saturating_add(delivery.received);
            if asked {
                open.handled_for(&delivery.handled_for);
            }
        }
        for request in &delivery.answered_requests {
            self.no_longer_waits(time, request, AwaitedOutcome::Answered);
            self.answered_at = time;
        }
        self.fed_at = time;
        if self.thread == Thread::Unknown {
            self.silence(time);
        }
        let links = links.iter().copied().chain(std::iter::repeat(None));
        for (event, link) in delivery.events.iter().zip(links) {
            self.stimulated(time, event, link, clock);
        }
        if let Thread::Blocked { fed, answered, .. } = &mut self.thread {
            fed.get_or_insert(time);
            if asks && self.outstanding.is_empty() {
                answered.get_or_insert(time);
            }
            // The user waits from the press on, not from the beginning of work that has shown nothing.
            let silent = |open: &OpenEpisode| !open.counts() && open.quiet_since().is_none();
            if self.waiting.has_input() && self.open.as_ref().is_some_and(silent) {
                self.begin(time);
            }
        } else if !self.waiting.is_empty() {
            // A running client begins immediately, unless it is busy with a visible response.
            if self.waiting.has_input() {
                // User input has priority: an episode that has shown nothing yet becomes part of the input's episode.
                let press = self.waiting.has_press();
                self.open.take_if(|open| {
                    open.requests == 0 && (!open.is_input() || press && open.gives_way())
                });
            } else if self.waiting.has_awaited() {
                // An event that another client waits for has priority over an episode that has hardly begun.
                self.open.take_if(|open| {
                    let new = time.saturating_sub(open.begun) <= BRIEF;
                    new && open.requests == 0 && open.gives_way()
                });
            }
            let idle = self.open.as_ref().is_none_or(|open| !open.counts());
            let answered = self.thread == Thread::Unknown
                && self.is_idle_at_server()
                && self.open.as_ref().is_some_and(|open| open.requests > 0);
            if idle || answered {
                self.close_or_park();
                self.begin(time);
            }
        }
    }

    fn stimulated(
        &mut self,
        time: u64,
        event: &Arrival,
        link: Option<CausalEdge>,
        clock: &mut ServerClock,
    ) {
        let (stimulus, about) = (&event.stimulus, event.about.clone());
        let id = self.id();
        if event.answers
            && self.answer_came == Some(time)
            && let Some(open) = &mut self.open
        {
            open.events += 1;
            open.tags.add(&event.tags);
            link.into_iter().for_each(|link| open.fed(link));
            return;
        }
        // The owner of a selection writes a property before it replies.
        if let Some(edge) = link.filter(|edge| !edge.is_awaited())
            && let parked = self.parked.iter_mut().map(|(_, open)| open)
            && let mut all = self.open.iter_mut().chain(parked)
            && let Some(open) = all.find(|open| open.awaits.waits_for(edge.from.client, time))
        {
            open.events += 1;
            open.tags.add(&event.tags);
            open.fed(edge);
            return;
        }
        let lingers = self
            .open
            .as_ref()
            .is_some_and(|open| self.lingers(open, time));
        let knows = |open: &mut OpenEpisode| open.knows(stimulus, &about, &event.tags);
        if lingers && self.open.as_mut().is_some_and(knows)
            || self.waiting.knows(stimulus, &about, &event.tags)
        {
            return;
        }
        let delivered = Timestamp::from_nanos(time);
        let start = stimulus
            .server_time
            .map_or(delivered, |millis| clock.happened(millis, delivered));
        if stimulus.shape == Shape::Motion {
            self.motions.came(start.as_nanos());
        }
        // An episode that a step of a loop follows before it ends is a step, too.
        if let Some(step) = link.filter(|link| link.looped)
            && let Some(before) = self.open.as_mut().and_then(|open| open.link.as_mut())
        {
            before.looped |= before.from.client == step.from.client;
        }
        if let Some(open) = &mut self.open {
            let own = stimulus.trigger != Trigger::Input
                && (stimulus.shape != Shape::Frame || open.awaits_its_frame())
                && self.busy_from.is_some()
                && stimulus.sequence >= self.busy_from
                // An event that another client caused independently, or a step of a loop, is not part of the episode.
                && link.is_none_or(|link| !link.looped && link.root == open.position(id).root);
            // A release in the middle of a handling, or before the response is visible, does not begin another action.
            let goes_on = open.quiet_since().is_none() || (lingers && !open.draws);
            let release = stimulus.shape == Shape::Release
                && open.is_press()
                && goes_on
                && !self.waiting.holds_press_of(stimulus);
            if (own && lingers) || release {
                open.events += 1;
                open.ticked |= stimulus.shape == Shape::Frame;
                open.tags.add(&event.tags);
                if let Some(link) = link {
                    open.fed(link);
                }
                if release && open.quiet_since().is_some() {
                    open.released.get_or_insert(time);
                }
                if own && stimulus.trigger == Trigger::Output {
                    open.child(about, time, stimulus.sequence);
                }
                return;
            }
        }
        if self.waiting.takes(stimulus, link, &event.tags) {
            return;
        }
        self.waiting.add(WaitingStimulus {
            stimulus: *stimulus,
            about,
            start: start.as_nanos(),
            delivered: time,
            events: 1,
            link,
            tags: event.tags.clone(),
        });
    }

    /// If the client has no context switches, ends the episode when the client has neither sent a request nor received
    /// a reply for longer than [`Spans::silence`].
    fn silence(&mut self, time: u64) {
        let over = self.open.as_ref().is_some_and(|open| {
            open.last_sent.is_some_and(|sent| {
                time.saturating_sub(sent.max(self.answered_at)) > self.spans.silence
            })
        });
        let waits = |open: &OpenEpisode| open.awaits.is_open() && open.possible_ends.is_empty();
        if over && self.is_idle_at_server() && !self.open.as_ref().is_some_and(waits) {
            self.close();
            self.motion_is_handled();
            self.busy_from = None;
            if !self.waiting.is_empty() {
                self.begin(time);
            }
        }
    }

    /// Notes that another process now has the connection and handles the last events. The state of its threads is
    /// unknown.
    fn went(&mut self, time: u64) {
        self.thread = Thread::Unknown;
        self.close();
        self.busy_from = None;
        self.waiting.keep_last();
        self.begin(time);
    }

    /// Adds messages that the client sent at `time`. The server has been idle for `rested` nanoseconds since the client
    /// began to wait. Returns the position of the episode that the messages belong to.
    pub(crate) fn sent(&mut self, time: u64, sent: &SentRequests, rested: u64) -> TreePosition {
        self.threads.sent(time, !sent.questions.is_empty());
        if self.threads.is_gone() && self.thread != Thread::Unknown {
            self.went(time);
        }
        if self.thread == Thread::Unknown {
            self.silence(time);
        } else {
            self.follow(time, None);
        }
        // If a program draws frame after frame and never waits for X, each frame ends with the next one.
        if sent.draws
            && let Some(open) = &mut self.open
            && open.ticks_again(time, self.spans.frame)
        {
            let next = open.next_tick();
            self.close();
            self.open = Some(next);
        }
        let open = self
            .open
            .get_or_insert_with(|| OpenEpisode::new(None, self.names.timer.clone(), time, time));
        if open.stimulus.is_none() && open.requests == 0 && sent.draws {
            let frame = self
                .last_frame
                .is_some_and(|last| time.saturating_sub(last) <= 2 * self.spans.frame);
            if frame {
                open.is_frame(self.names.frame.clone());
            }
        }
        if open.stimulus.is_none() && sent.draws {
            self.last_frame = Some(time);
            if !open.starts_up() {
                self.ticked_at = Some(time);
            }
        }
        if sent.draws {
            self.goes_on_unanswered(time);
            self.motions.drew(time);
        }
        let Some(open) = &mut self.open else {
            return TreePosition::of(self.id(), None, time);
        };
        let asks = !sent.questions.is_empty();
        if let Thread::Blocked {
            since, wait, taken, ..
        } = &mut self.thread
            && match wait {
                None | Some(Wait::Poll) => true,
                // The client waits for the reply, not for work.
                Some(Wait::Other) => asks,
                Some(Wait::Sleep | Wait::Lock | Wait::File | Wait::Stopped) => false,
            }
        {
            let waited = time.saturating_sub(*since);
            let asks = sent.questions.first().map(|(_, request)| *request);
            // The client did not wait for a server that rested: the recorder had no processor.
            open.on_the_way(waited, rested.min(waited), self.taking, asks);
            // The server reported the requests when it continued to read.
            let (grabbed, by) = self.grabbed;
            if grabbed > 0 {
                open.grabbed(grabbed.min(waited), by);
            }
            if waited > HANDED_ON_WITHIN {
                *taken = Some(time);
            }
            // The client wrote before it fell asleep, so it was not quiet at the release.
            open.released.take_if(|released| *released >= *since);
        }
        // Invisible requests after a release are not the response to the press.
        if open.released.is_none() || open.draws || sent.draws {
            open.sent(time, sent);
        }
        if sent.draws {
            open.drew(time, self.spans.frame);
            while let Some(open) = &mut self.open
                && let Some(next) = open.next_frame(self.names.frame.clone())
            {
                self.close();
                self.open = Some(next);
            }
        }
        let id = self.id();
        let open = self
            .open
            .get_or_insert_with(|| OpenEpisode::new(None, self.names.timer.clone(), time, time));
        if self.threads.is_elsewhere() || self.threads.is_gone() {
            open.unsure = Some(Unsure::AnotherProcess);
        }
        open.tags.add(&sent.tags);
        open.requests += sent.requests;
        open.bytes = open.bytes.saturating_add(sent.bytes);
        open.draws |= sent.draws;
        let position = open.position(id);
        sent.opened.iter().for_each(|one| self.asks_for(one));
        if self.busy_from.is_none() {
            self.busy_from = sent.first;
        }
        if let Some((first, last)) = sent.drawing {
            self.undrawn.get_or_insert((first, last)).1 = last;
        }
        if self.outstanding.is_empty() {
            self.requested_at = time;
        }
        for question in &sent.questions {
            if self.outstanding.len() < MAX_OUTSTANDING {
                self.outstanding.push_back(*question);
            }
        }
        self.arrives = sent.arrived_at;
        self.writes = sent.is_unfinished;
        let asks_only_for = |name| matches!(&*sent.questions, [(_, only)] if only.as_str() == name);
        self.synchronises = sent.draws && asks_only_for(SYNCHRONISATION);
        if !self.is_idle_at_server() {
            return position;
        }
        let joint = self.joint_wait().wait;
        if let Thread::Blocked { wait, .. } = &mut self.thread {
            // The client wrote before it blocked, and the relay read the bytes later.
            *wait = joint;
            if joint.is_none_or(|wait| wait == Wait::Poll)
                && let Some(open) = &mut self.open
            {
                open.maybe_quiet(time);
            }
            return position;
        }
        if self.open.as_ref().is_some_and(OpenEpisode::is_press) {
            let events = self.waiting.take_releases();
            if let Some(open) = &mut self.open {
                open.events += events;
            }
        }
        if !self.waiting.is_empty() {
            // The requests end the previous work before the client reads the next event.
            self.close_or_park();
            self.begin(time);
        }
        position
    }
}
