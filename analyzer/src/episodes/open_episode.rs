//! An episode that its client has not ended.

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Timestamp};

use super::awaited::Awaits;
use super::cause::{Cause, ServerCause};
use super::cross_client::causal_edge::{CausalEdge, EpisodeId, TreePosition};
use super::cross_client::steps::{StepCause, Steps};
use super::episode::{
    Episode, LatencyBreakdown, LatencyComponent, Trigger, Unsure, add_times, without,
};
use super::kinds::Kinds;
use super::outline::Outline;
use super::queue::WaitingStimulus;
use super::states::{Busy, BusyState};
use super::stimulus::{Detail, Shape, Stimulus};
use super::timeline_event::{EpisodeLabel, SentRequests};
use super::together::{FinishedEpisode, ReadPress};
use super::user::tag::Tags;
use crate::pipeline::open_requests::{OpenKind, OpenRequest};
use crate::text::label::Label;
use crate::threads::delays::WOKEN_WITHIN;

/// The number of frames from which on one handling counts as an animation: it is split into its frames.
const MANY_FRAMES: u64 = 5;

/// Maximum number of other clients' events kept for one episode; further ones are ignored.
const MAX_FED: usize = 64;

/// Time added up, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct TimeBuckets {
    parts: LatencyBreakdown,
    /// The number of threads that could run, summed over time, in thread-nanoseconds.
    runnable: u64,
    states: Busy,
}

impl TimeBuckets {
    /// Returns the time added since `first`, an earlier state of the same sums.
    fn without(&self, first: &TimeBuckets) -> TimeBuckets {
        TimeBuckets {
            parts: self.parts.without(&first.parts),
            runnable: self.runnable.saturating_sub(first.runnable),
            states: self.states.without(&first.states),
        }
    }

    fn merge(&mut self, more: &TimeBuckets) {
        self.parts.merge(&more.parts);
        self.runnable = self.runnable.saturating_add(more.runnable);
        self.states.merge(&more.states);
    }
}

/// The episode up to one of its frames.
#[derive(Debug, Clone, Copy)]
struct FrameSnapshot {
    end: u64,
    buckets: TimeBuckets,
    round_trips: u64,
    requests: u64,
    bytes: u64,
    /// The time in nanoseconds at which the client continued after the frame, and the sums until then.
    resumed: (u64, TimeBuckets),
}

/// An episode that its client has begun to handle and has not ended. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct OpenEpisode {
    pub(crate) stimulus: Option<Stimulus>,
    about: EpisodeLabel,
    trigger: Trigger,
    pub(crate) start: u64,
    /// The time at which the client began to handle the episode's stimulus, in nanoseconds.
    pub(crate) begun: u64,
    /// The time up to which `until_sent` and `since_sent` have been summed, in nanoseconds.
    pub(crate) since: u64,
    /// The sums from the beginning of the handling to the last request.
    until_sent: TimeBuckets,
    /// The sums from the last request to `since`.
    since_sent: TimeBuckets,
    /// The time at which the client first became quiet after the last request, and the value of `since_sent` at that
    /// time.
    at_quiet: Option<(u64, TimeBuckets)>,
    /// The time in which the client was quiet after its last request.
    quiet_for: u64,
    /// The part of `quiet_for` that no arriving bytes ended.
    ticked_for: u64,
    /// The time of the client's last request in the episode, in nanoseconds; `None` before the first request.
    pub(crate) last_sent: Option<u64>,
    /// The time of the last request that is more than a query, in nanoseconds; `None` before the first one.
    last_effect: Option<u64>,
    pub(crate) draws: bool,
    /// True if the last drawing was on a pixmap, which the user does not see.
    hidden: bool,
    /// The time of the first request.
    first_sent: Option<u64>,
    /// The time in which the last request was in flight on an emulated link.
    on_the_way: u64,
    /// The number of frames drawn, and the beginning of the last one.
    frames: u64,
    last_drawn: Option<u64>,
    /// Frames after which the client paused without waiting for X and then drew the next frame.
    shown: Vec<FrameSnapshot>,
    /// The frame after which the client pauses at present; `None` if it does not pause.
    paused: Option<FrameSnapshot>,
    /// True if the episode is a frame of an animation.
    is_frame: bool,
    /// True if the client has received an event that it had requested to start a frame.
    pub(crate) ticked: bool,
    /// The time in nanoseconds at which the pressed key or button was released; `None` if it was not released while the
    /// client was quiet and had drawn nothing.
    pub(crate) released: Option<u64>,
    pub(crate) round_trips: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    /// The number of bytes of the replies that the client waited for.
    pub(crate) received: u64,
    pub(crate) events: u64,
    pub(crate) scheduled: bool,
    starts_up: bool,
    /// True if the client handles other stimuli while it waits for the reply to an open request.
    pub(crate) goes_on_meanwhile: bool,
    /// The times in nanoseconds at which the wait for a reply may have ended without it: at a drawing by a timer that is
    /// not periodic, with its numbers of requests and bytes if it is an episode of its own, or when the user went on.
    pub(crate) possible_ends: Vec<(Option<(u64, u64)>, u64)>,
    /// The time in which the stimulus waited although the client handled nothing, in nanoseconds.
    pub(crate) waited_idle: u64,
    /// The time in nanoseconds at which a timer was due that the client had set before it read the stimulus; `None` if
    /// unknown.
    pub(crate) timer: Option<u64>,
    /// The reason why the end of the episode may be wrong; `None` if there is none.
    pub(crate) unsure: Option<Unsure>,
    outline: Outline,
    /// The request of another client that caused this episode; `None` if no client caused it.
    pub(crate) link: Option<CausalEdge>,
    /// Events caused by other clients during the handling.
    fed: Vec<CausalEdge>,
    steps: Steps,
    /// The time at which the stimulus was delivered, in nanoseconds; `None` without a delivered stimulus.
    pub(crate) delivered: Option<u64>,
    /// The user-defined events that the episode starts and ends.
    pub(crate) tags: Tags,
    /// The window of the last drawing.
    drawn: Option<Label>,
    /// The open requests of the episode, which other clients have to reply to.
    pub(crate) awaits: Awaits,
    /// Nanoseconds of the server's handlers while replies were pending, by request.
    handled: Vec<(Symbol, u64)>,
    /// Presses that the client read together with the episode's stimulus.
    pub(crate) together: Vec<ReadPress>,
}

impl OpenEpisode {
    /// Creates an episode that began at `start`, and that its client began to handle at `handled` (nanoseconds).
    pub(crate) fn new(
        stimulus: Option<Stimulus>,
        about: EpisodeLabel,
        start: u64,
        handled: u64,
    ) -> OpenEpisode {
        let mut until_sent = TimeBuckets::default();
        let waited = handled.saturating_sub(start);
        until_sent.parts.add(LatencyComponent::Waiting, waited);
        let mut steps = Steps::default();
        steps.add(start, handled, LatencyComponent::Waiting, None);
        OpenEpisode {
            trigger: stimulus.map_or(Trigger::Asynchronous, |stimulus| stimulus.trigger),
            about,
            stimulus,
            start,
            begun: handled,
            since: handled.max(start),
            until_sent,
            since_sent: TimeBuckets::default(),
            at_quiet: None,
            quiet_for: 0,
            ticked_for: 0,
            last_sent: None,
            last_effect: None,
            draws: false,
            hidden: false,
            first_sent: None,
            on_the_way: 0,
            frames: 0,
            last_drawn: None,
            shown: Vec::new(),
            paused: None,
            is_frame: false,
            ticked: false,
            released: None,
            round_trips: 0,
            requests: 0,
            bytes: 0,
            received: 0,
            events: u64::from(stimulus.is_some()),
            scheduled: false,
            starts_up: false,
            goes_on_meanwhile: false,
            possible_ends: Vec::new(),
            waited_idle: 0,
            timer: None,
            unsure: None,
            outline: Outline::new(),
            link: None,
            fed: Vec::new(),
            steps,
            delivered: None,
            tags: Tags::default(),
            drawn: None,
            awaits: Awaits::default(),
            handled: Vec::new(),
            together: Vec::new(),
        }
    }

    /// Adds the server's handler times before a reply, by request.
    pub(crate) fn handled_for(&mut self, handled: &[(Symbol, u64)]) {
        add_times(&mut self.handled, handled);
    }

    /// Creates the episode of a stimulus that its client begins to handle at `time` (nanoseconds).
    pub(crate) fn begin(first: WaitingStimulus, time: u64) -> OpenEpisode {
        let mut open = OpenEpisode::new(Some(first.stimulus), first.about, first.start, time);
        open.events = first.events;
        open.link = first.link;
        open.delivered = Some(first.delivered);
        open.tags = first.tags;
        open
    }

    /// Turns an episode without requests back into its waiting stimulus; returns `None` if it has no stimulus.
    pub(crate) fn into_waiting(self) -> Option<WaitingStimulus> {
        Some(WaitingStimulus {
            stimulus: self.stimulus?,
            about: self.about,
            start: self.start,
            delivered: self.delivered.unwrap_or(self.begun),
            events: self.events,
            link: self.link,
            tags: self.tags,
        })
    }

    /// True if the episode has to wait for the reply to this open request.
    pub(crate) fn takes_open(&self, request: &OpenRequest) -> bool {
        match request.kind {
            OpenKind::ScreenClock | OpenKind::PieceTaken | OpenKind::Ping => {
                self.is_input() && !self.draws
            }
            _ => !self.is_done(),
        }
    }

    /// Adds the time up to `time` (nanoseconds) as a wait for an open request, during which the client did other
    /// things.
    pub(crate) fn awaited_until(&mut self, time: u64) {
        self.pass(
            time,
            LatencyComponent::Awaited,
            0,
            BusyState::default(),
            None,
            false,
        );
    }

    /// True if nothing shows that the client goes on without the replies to the episode's open requests.
    pub(crate) fn is_held_up(&self) -> bool {
        !self.goes_on_meanwhile && self.possible_ends.is_empty()
    }

    /// Adds a press that the client had read by `time` (nanoseconds), together with the episode's stimulus.
    pub(crate) fn read_together(&mut self, press: WaitingStimulus, time: u64) {
        if self.together.len() < MAX_FED {
            self.together.push(ReadPress { press, time });
        }
    }

    /// Notes that the client waited from `since` (nanoseconds) on for the cause `wait`. The time after the stimulus was
    /// delivered is time off the processor for that cause, not waiting.
    pub(crate) fn could_begin(&mut self, since: u64, wait: Cause) {
        let delivered = self.delivered.unwrap_or(self.begun);
        let ready = self.begun.saturating_sub(delivered.max(since));
        if ready > WOKEN_WITHIN {
            self.steps.change_last(
                ready,
                &[LatencyComponent::Waiting],
                LatencyComponent::OffCpu(wait),
                StepCause::Client(None),
            );
        }
    }

    /// Returns the position of the episode, whose id is `id`, in the tree of episodes that caused each other.
    pub(crate) fn position(&self, id: EpisodeId) -> TreePosition {
        TreePosition::of(id, self.link.as_ref(), self.begun)
    }

    /// Adds a request of another client whose event arrived during the handling.
    pub(crate) fn fed(&mut self, link: CausalEdge) {
        if self.fed.len() < MAX_FED {
            self.fed.push(link);
        }
    }

    /// Creates the episode of a client's start-up at `time` (nanoseconds), which counts even without a request.
    pub(crate) fn start_up(about: EpisodeLabel, time: u64) -> OpenEpisode {
        OpenEpisode {
            starts_up: true,
            ..OpenEpisode::new(None, about, time, time)
        }
    }

    /// Adds the time up to `time` (nanoseconds) to the component `owner`. `runnable` is the number of runnable threads,
    /// `asks` the request whose reply is pending. `draws` is true if the server still draws earlier requests.
    pub(crate) fn pass(
        &mut self,
        time: u64,
        owner: LatencyComponent,
        runnable: u64,
        state: BusyState,
        asks: Option<Symbol>,
        draws: bool,
    ) {
        let passed = time.saturating_sub(self.since);
        self.outline.pass(owner, asks, passed);
        let waits_for = asks.filter(|_| !draws);
        match self
            .awaits
            .latest()
            .filter(|_| owner == LatencyComponent::Awaited)
        {
            Some(request) => {
                let name = Symbol::new(request.kind.definition().request);
                self.steps.awaited(self.since, time, name, request.party);
            }
            None => self.steps.add(self.since, time, owner, waits_for),
        }
        let buckets = &mut self.since_sent;
        buckets.parts.add(owner, passed);
        let threads = passed.saturating_mul(runnable);
        buckets.runnable = buckets.runnable.saturating_add(threads);
        buckets.states.add(state, passed);
        self.since = self.since.max(time);
    }

    /// Attributes the last `nanos` nanoseconds of the wait for a reply to client `by`, which had grabbed the server.
    pub(crate) fn grabbed(&mut self, nanos: u64, by: Option<ConnectionId>) {
        let asked = LatencyComponent::Server(ServerCause::Reply);
        let grabbed = LatencyComponent::Server(ServerCause::Grabbed);
        self.since_sent.parts.shift(asked, grabbed, nanos);
        self.steps
            .change_last(nanos, &[asked], grabbed, StepCause::Client(by));
    }

    /// Attributes the last `nanos` nanoseconds of the wait for a reply to `owner`, because the server had already sent
    /// the reply.
    pub(crate) fn had_left(&mut self, nanos: u64, owner: LatencyComponent) {
        let since = self.last_sent.unwrap_or(self.begun);
        let nanos = nanos.min(self.since.saturating_sub(since));
        let asked = LatencyComponent::Server(ServerCause::Reply);
        self.since_sent.parts.shift(asked, owner, nanos);
        self.steps
            .change_last(nanos, &[asked], owner, StepCause::Request(None));
    }

    /// Attributes up to `nanos` nanoseconds of the wait before an arriving message to `owner`, because the message was
    /// in flight. For `unserved` nanoseconds of it no processor was free for the server. `asks` is the message's
    /// request.
    pub(crate) fn on_the_way(
        &mut self,
        nanos: u64,
        unserved: u64,
        owner: LatencyComponent,
        asks: Option<Symbol>,
    ) {
        let idle = [Cause::Poll, Cause::Elsewhere].map(LatencyComponent::OffCpu);
        let none = LatencyComponent::Server(ServerCause::Processor);
        let served = nanos.saturating_sub(unserved);
        for (within, nanos, owner, asks) in
            [(served, served, owner, asks), (nanos, unserved, none, None)]
        {
            self.steps
                .change_last(within, &idle, owner, StepCause::Request(asks));
            let mut left = nanos;
            for waited in idle {
                let parts = &mut self.since_sent.parts;
                let of_these = left.min(parts.of(waited));
                parts.shift(waited, owner, of_these);
                left -= of_these;
            }
        }
        self.outline.on_the_way(nanos);
    }

    /// Adds requests that the client sent at `time` (nanoseconds). All time up to then belongs to the response.
    pub(crate) fn sent(&mut self, time: u64, sent: &SentRequests) {
        self.outline.sent(sent.kinds, sent.first);
        if sent.kinds != Kinds::default() {
            self.last_effect = Some(time);
        }
        if sent.drawn.is_some() {
            self.drawn.clone_from(&sent.drawn);
        }
        if sent.drawing.is_some() || sent.draws {
            self.hidden = sent.hidden;
        }
        self.last_sent = Some(time);
        self.on_the_way = sent.arrived_at.saturating_sub(time);
        self.first_sent.get_or_insert(time);
        let since = std::mem::take(&mut self.since_sent);
        self.until_sent.merge(&since);
        self.at_quiet = None;
        self.quiet_for = 0;
    }

    /// True for the episode of a client's start-up.
    pub(crate) fn starts_up(&self) -> bool {
        self.starts_up
    }

    fn is_tick(&self) -> bool {
        self.stimulus.is_none() && self.trigger == Trigger::Output
    }

    /// True if the episode has no stimulus and has drawn: any wait of the client ends it.
    pub(crate) fn is_done(&self) -> bool {
        self.stimulus.is_none() && !self.starts_up && self.draws
    }

    /// Returns true if another stimulus may replace the episode's: no other client waits for its event, and the event
    /// requires no drawing.
    pub(crate) fn gives_way(&self) -> bool {
        let crossing = self.stimulus.is_some_and(|one| one.is_crossing());
        let about = self.stimulus.is_some() && self.trigger == Trigger::Asynchronous;
        (crossing || about) && self.link.is_none_or(|link| !link.is_awaited())
    }

    /// True for a user action that has drawn nothing so far, whose client has to wait for a frame event before it
    /// draws.
    pub(crate) fn awaits_its_frame(&self) -> bool {
        self.is_input() && !self.draws && !self.ticked
    }

    /// True if this is the tick of a frame that was drawn at least half a `frame` (nanoseconds) before `time`.
    pub(crate) fn ticks_again(&self, time: u64, frame: u64) -> bool {
        self.is_tick()
            && self
                .last_drawn
                .is_some_and(|last| time.saturating_sub(last) >= frame / 2)
    }

    /// Returns the tick of the next frame, which began when this frame had been sent.
    pub(crate) fn next_tick(&mut self) -> OpenEpisode {
        let start = self.last_sent.unwrap_or(self.since);
        let mut next = OpenEpisode::new(None, self.about.clone(), start, start);
        next.since_sent = std::mem::take(&mut self.since_sent);
        next.since = self.since;
        next.steps = self.steps.split_off(start);
        next.scheduled = self.scheduled;
        next.trigger = Trigger::Output;
        next.awaits = std::mem::take(&mut self.awaits);
        next
    }

    /// Notes that the client drew at `time`. The drawing is a new frame if half a `frame` has passed since the last
    /// frame was drawn (both in nanoseconds).
    pub(crate) fn drew(&mut self, time: u64, frame: u64) {
        if self
            .last_drawn
            .is_none_or(|last| time.saturating_sub(last) >= frame / 2)
        {
            self.last_drawn = Some(time);
            self.frames += 1;
            self.shown.extend(self.paused);
        }
        self.paused = None;
    }

    /// Notes that the client has waited since `since` (nanoseconds) for time to pass or for another thread.
    pub(crate) fn pauses(&mut self, since: u64) {
        self.not_quiet_since(since);
        if let Some(end) = self.last_sent.filter(|_| self.draws) {
            self.paused = Some(FrameSnapshot {
                end,
                buckets: self.until_sent,
                round_trips: self.round_trips,
                requests: self.requests,
                bytes: self.bytes,
                resumed: (end, self.until_sent),
            });
        }
    }

    /// Notes that the client only waited for room to write, so what it draws next belongs to the same frame.
    pub(crate) fn writes_on(&mut self) {
        self.paused = None;
    }

    /// Notes that the client continues at `time` (nanoseconds) after a pause.
    pub(crate) fn resumes(&mut self, time: u64) {
        if let Some(shown) = &mut self.paused {
            let mut all = self.until_sent;
            all.merge(&self.since_sent);
            shown.resumed = (time, all);
            // A reply may have arrived during the pause, before the next frame.
            shown.round_trips = self.round_trips;
        }
    }

    /// Notes a wait that began at `since` (nanoseconds) and was too brief for its kind to be known. If the client sent
    /// its last request less than `brief` nanoseconds before the wait, the wait may be for the next frame.
    pub(crate) fn pauses_briefly(&mut self, since: u64, brief: u64) {
        let sent = self.last_sent.unwrap_or_default();
        match since.saturating_sub(sent) < brief {
            true => self.pauses(since),
            false => self.not_quiet_since(since),
        }
    }

    /// Splits an episode that has drawn several frames with pauses in between. Ends it at its first frame, and returns
    /// the rest as the next frame of an animation, with the label `about`; `None` if there are not enough frames.
    pub(crate) fn next_frame(&mut self, about: EpisodeLabel) -> Option<OpenEpisode> {
        let enough = if self.is_frame {
            1
        } else {
            MANY_FRAMES as usize
        };
        if self.shown.len() < enough {
            return None;
        }
        if !self.is_frame {
            self.unsure.get_or_insert(Unsure::NeverWaits);
        }
        let first = self.shown.remove(0);
        let (start, before) = first.resumed;
        let mut next = OpenEpisode::new(None, about, start, start);
        let left = |shown: &FrameSnapshot| FrameSnapshot {
            end: shown.end,
            buckets: shown.buckets.without(&before),
            round_trips: shown.round_trips - first.round_trips,
            requests: shown.requests - first.requests,
            bytes: shown.bytes - first.bytes,
            resumed: (shown.resumed.0, shown.resumed.1.without(&before)),
        };
        next.shown = self.shown.drain(..).map(|shown| left(&shown)).collect();
        next.until_sent = self.until_sent.without(&before);
        next.since_sent = std::mem::take(&mut self.since_sent);
        (next.since, next.last_sent) = (self.since, self.last_sent);
        (next.first_sent, next.last_drawn) = (self.last_sent, self.last_drawn);
        next.round_trips = self.round_trips - first.round_trips;
        next.requests = self.requests - first.requests;
        next.bytes = self.bytes - first.bytes;
        next.outline.sent(self.outline.kinds(), None);
        next.steps = self.steps.split_off(start);
        (next.scheduled, next.draws) = (self.scheduled, true);
        next.drawn.clone_from(&self.drawn);
        (next.trigger, next.is_frame) = (Trigger::Output, true);
        next.awaits = std::mem::take(&mut self.awaits);
        self.until_sent = first.buckets;
        self.last_sent = Some(first.end);
        (self.requests, self.bytes) = (first.requests, first.bytes);
        (self.round_trips, self.frames) = (first.round_trips, 1);
        Some(next)
    }

    /// Returns true if the client drew several frames and was not quiet after the last one.
    pub(crate) fn never_waits(&self) -> bool {
        self.at_quiet.is_none() && self.frames >= MANY_FRAMES
    }

    /// True if `stimulus` repeats the episode's stimulus. If so, counts it, and adopts its label if it is more
    /// specific.
    pub(crate) fn knows(&mut self, stimulus: &Stimulus, about: &EpisodeLabel, tags: &Tags) -> bool {
        let Some(known) = self.stimulus.filter(|known| stimulus.repeats(known)) else {
            return false;
        };
        self.events += 1;
        self.tags.add(tags);
        if known.is_raw() && stimulus.trigger == Trigger::Input {
            (self.stimulus, self.about) = (Some(*stimulus), about.clone());
        }
        true
    }

    /// Makes the waiting stimulus the stimulus of this episode. Does nothing and returns false if the user already
    /// caused this episode, or if the client had sent a request before the stimulus occurred; ticks of a frame, and
    /// modifier keys for which the client has drawn nothing, are exceptions.
    pub(crate) fn is_of(&mut self, waiting: &WaitingStimulus) -> bool {
        let shown = self.first_sent.is_some_and(|sent| sent < waiting.start);
        let modifier = self.stimulus.is_some_and(|of| of.modifier) && !waiting.stimulus.modifier;
        let replaces = match self.is_input() {
            true => modifier && self.is_press() && !self.draws,
            false => !shown || self.is_tick(),
        };
        if !replaces {
            return false;
        }
        self.stimulus = Some(waiting.stimulus);
        (self.trigger, self.about) = (waiting.stimulus.trigger, waiting.about.clone());
        self.link = waiting.link;
        self.delivered = Some(waiting.delivered);
        true
    }

    /// Begins a child of the episode: the handling of an event at `time` (nanoseconds) that the client's own request
    /// number `answers` caused.
    pub(crate) fn child(
        &mut self,
        about: EpisodeLabel,
        time: u64,
        answers: Option<SequenceNumber>,
    ) {
        self.outline.child(about, time, answers);
    }

    /// Notes that the client may have been quiet from `time` (nanoseconds) on. If it was already quiet, the earlier
    /// time remains: a wakeup after which the client sent nothing does not count.
    pub(crate) fn maybe_quiet(&mut self, time: u64) {
        // A client with an open request is not quiet.
        if !self.awaits.is_open() {
            self.at_quiet.get_or_insert((time, self.since_sent));
        }
    }

    /// Notes that the client was not quiet at or after `time` (nanoseconds).
    pub(crate) fn not_quiet_since(&mut self, time: u64) {
        self.at_quiet.take_if(|(since, _)| *since >= time);
    }

    /// Notes that the client was quiet for `nanos` nanoseconds. `fed` is true if arriving bytes ended the quiet time.
    pub(crate) fn rested(&mut self, nanos: u64, fed: bool) {
        self.quiet_for = self.quiet_for.saturating_add(nanos);
        if !fed {
            self.ticked_for = self.ticked_for.saturating_add(nanos);
        }
    }

    /// Returns true if drawing that no arriving bytes caused may still be part of this response: the episode has drawn
    /// nothing, or last drew on a pixmap, and has been quiet for at most `tick` nanoseconds. Later drawing comes from a
    /// timer.
    pub(crate) fn may_draw(&self, tick: u64) -> bool {
        (!self.draws || self.hidden) && (self.starts_up || self.ticked_for <= tick)
    }

    /// The nanoseconds in which the client was ready to run, but had no processor.
    pub(crate) fn lacked_processor(&self) -> u64 {
        let sums = [&self.until_sent, &self.since_sent].into_iter();
        sums.map(|sum| sum.parts.of(LatencyComponent::OffCpu(Cause::Processor)))
            .sum()
    }

    /// The nanoseconds in which the client was quiet since its last request.
    pub(crate) fn quiet_for(&self) -> u64 {
        self.quiet_for
    }

    /// The time since which the client may be quiet, in nanoseconds; `None` if it is not quiet.
    pub(crate) fn quiet_since(&self) -> Option<u64> {
        self.at_quiet.map(|(since, _)| since)
    }

    /// Turns the episode into one that began with the tick of a frame.
    pub(crate) fn is_frame(&mut self, about: EpisodeLabel) {
        (self.trigger, self.about) = (Trigger::Output, about);
    }

    /// True if the user caused the episode.
    pub(crate) fn is_input(&self) -> bool {
        self.trigger == Trigger::Input
    }

    /// True if a pressed key, button or finger caused the episode.
    pub(crate) fn is_press(&self) -> bool {
        let shape = self.stimulus.map(|stimulus| stimulus.shape);
        shape == Some(Shape::Press)
    }

    /// True if the release of a key caused the episode.
    pub(crate) fn is_key_release(&self) -> bool {
        self.stimulus
            .is_some_and(|of| of.shape == Shape::Release && matches!(of.detail, Detail::Key(_)))
    }

    /// True if the episode counts in results: it has a stimulus or requests.
    pub(crate) fn counts(&self) -> bool {
        self.stimulus.is_some() || self.requests > 0 || self.starts_up
    }

    /// Ends the client's part of the episode. Returns the episode, with the number `id`, and its end time.
    pub(crate) fn finish(mut self, id: EpisodeId) -> FinishedEpisode {
        // Without a pending reply the action is not complete; after the reply it ends when the client has handled the
        // reply. An episode without requests ends when the client becomes quiet.
        let mut answered = self.awaits.answered_at();
        // A client that only queries after the reply had given up before.
        let ignores = answered.is_none_or(|at| self.last_effect < Some(at));
        let late = self.possible_ends.first().filter(|_| ignores);
        let gave_up = late.is_some();
        if let (Some((_, at)), Some(sent)) = (late, &mut self.last_sent)
            && (answered.is_some() || *sent < *at)
        {
            let parts = &mut self.until_sent.parts;
            let waited = parts.of(LatencyComponent::Awaited).saturating_add(*at);
            parts.set(LatencyComponent::Awaited, waited.saturating_sub(*sent));
            *sent = *at;
        }
        answered = answered.filter(|_| !gave_up);
        let blocks = self.awaits.blocks() && !self.goes_on_meanwhile && !gave_up;
        let end = match (self.last_sent, self.at_quiet) {
            (Some(sent), None) if blocks || answered > Some(sent) => {
                let since = self.since_sent;
                self.until_sent.merge(&since);
                self.since
            }
            (Some(sent), Some((quiet, until))) if answered > Some(sent) => {
                self.until_sent.merge(&until);
                quiet
            }
            (Some(sent), _) => sent,
            (None, Some((quiet, until))) => {
                self.until_sent.merge(&until);
                quiet
            }
            // Without context switches, only a request or an open request shows that the client has handled the stimulus.
            (None, None)
                if !(self.scheduled || self.starts_up)
                    && answered.is_none()
                    && !self.awaits.is_open() =>
            {
                self.begun
            }
            (None, None) => {
                let since = self.since_sent;
                self.until_sent.merge(&since);
                self.since
            }
        };
        let done = self.outline.finish(self.about.group, end);
        self.steps.cut(end);
        let on_the_way = self.on_the_way;
        self.until_sent
            .parts
            .add(LatencyComponent::Network, on_the_way);
        self.steps.add(
            end,
            end.saturating_add(on_the_way),
            LatencyComponent::Network,
            None,
        );
        let latency = self.until_sent.parts.total();
        self.awaits.end_by(end, gave_up);
        let episode = Episode {
            id,
            settled: false,
            client: id.client,
            landmark: self.about.landmark,
            group: self.about.group,
            trigger: self.trigger,
            start: Timestamp::from_nanos(self.start),
            parts: self.until_sent.parts,
            round_trips: self.round_trips,
            requests: self.requests,
            bytes: self.bytes,
            received: self.received,
            events: self.events,
            runnable: self.until_sent.runnable,
            busy: self.until_sent.states,
            waited_idle: self.waited_idle,
            unsure: self.unsure,
            of_children: latency.saturating_sub(without(latency, &done.children)),
            link: self.link,
            fed: self.fed,
            steps: self.steps,
            delivered: self.delivered,
            tags: self.tags,
            path: Vec::new(),
            children: done.children,
            tree: done.tree,
            pattern: None,
            asked: done.asked,
            drawn: self.drawn,
            presentation: on_the_way,
            added: 0,
            handled: self.handled,
            awaited: self.awaits.finish(),
            scheduled: self.scheduled,
        };
        FinishedEpisode {
            episode,
            end,
            together: self.together,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_during_a_pause_belongs_to_the_frame_before() {
        let frame = || EpisodeLabel::alone("frame");
        let mut open = OpenEpisode::new(None, frame(), 0, 0);
        (open.draws, open.is_frame, open.round_trips) = (true, true, 2);
        open.last_sent = Some(10);
        open.pauses(10);
        open.round_trips += 1;
        open.resumes(20);
        open.drew(30, 8);
        open.round_trips += 4;
        let next = open.next_frame(frame()).expect("a second frame");
        assert_eq!((open.round_trips, next.round_trips), (3, 4));
    }
}
