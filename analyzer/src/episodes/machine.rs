//! One client as a state machine: what it handles, what waits to be handled, and who owns the
//! time meanwhile.
//!
//! A client is quiet when no reply is outstanding, nothing delivered is unread, and its thread
//! waits in poll, select or epoll. Without context switches it is quiet when the wire is silent.

use std::collections::VecDeque;

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Switch, SwitchKind, Timestamp};

use super::clock::ServerTime;
use super::episode::{Episode, Trigger};
use super::happening::{Delivery, Sent, Wait};
use super::open::Open;
use super::states::State;
use super::stimulus::{Shape, Stimulus};
use super::thread::Thread;

/// Stimuli that wait at most; those after them are handled with the last one.
const MOST_WAITING: usize = 1024;
/// Questions outstanding at most.
const MOST_OUTSTANDING: usize = 4096;
/// What was delivered at least this long before a thread blocks, it has read: the relay has
/// passed it on by then.
const PASSED_ON: u64 = 200_000;
/// Waits from this long on are known by what the recorder saw, if it could. A briefer one that no
/// bytes ended was no wait for X: a page, a lock, the write of a request that the relay has not read.
const BRIEF: u64 = 3_000_000;

/// The durations that decide what belongs together, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans {
    /// A frame of an animation.
    pub(crate) frame: u64,
    /// Without context switches: the silence after which a client is quiet.
    pub(crate) silence: u64,
}

impl Spans {
    /// A response that waits for the next frame comes within a frame; half of one more is for
    /// timers that are late.
    fn tick(&self) -> u64 {
        self.frame + self.frame / 2
    }
}

/// A stimulus that its client has not begun with.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    stimulus: Stimulus,
    landmark: Symbol,
    start: u64,
    delivered: u64,
    events: u64,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Machine {
    client: ConnectionId,
    /// Its process, whose first thread speaks to the server.
    pub(crate) pid: Option<u32>,
    thread: Thread,
    outstanding: VecDeque<SequenceNumber>,
    open: Option<Open>,
    waiting: VecDeque<Waiting>,
    spans: Spans,
    /// The first request since it was last quiet: events from there on are its own doing.
    busy_from: Option<SequenceNumber>,
    /// When it last drew without a stimulus.
    last_frame: Option<u64>,
    names: Names,
}

/// Landmarks of what has no event.
#[derive(Debug, Clone, Copy)]
struct Names {
    startup: Symbol,
    timer: Symbol,
    frame: Symbol,
}

impl Machine {
    /// A client that connected at `time`, which is its first episode.
    pub(crate) fn new(client: ConnectionId, pid: Option<u32>, time: u64, spans: Spans) -> Machine {
        let names = Names {
            startup: Symbol::new("Start-up"),
            timer: Symbol::new("Timer or file"),
            frame: Symbol::new("Frame tick"),
        };
        Machine {
            client,
            pid,
            thread: Thread::Unknown,
            outstanding: VecDeque::new(),
            open: Some(Open::start_up(names.startup, time)),
            waiting: VecDeque::new(),
            spans,
            busy_from: None,
            last_frame: None,
            names,
        }
    }

    /// The switches of its process are recorded: it runs, for it has just connected.
    pub(crate) fn captured(&mut self) {
        if self.thread == Thread::Unknown {
            self.thread = Thread::Running;
        }
    }

    /// Time passes until `time`, in `grabbed` nanoseconds of which another client had grabbed the
    /// server.
    pub(crate) fn pass(&mut self, time: u64, grabbed: u64, runnable: u64) {
        let asks = !self.outstanding.is_empty();
        let owner = self.thread.owner(asks);
        if let Some(open) = &mut self.open {
            open.scheduled |= self.thread != Thread::Unknown;
            open.pass(time, owner, runnable);
            if asks && grabbed > 0 {
                open.grabbed(grabbed);
            }
        }
    }

    /// The state for the think and wait times.
    pub(crate) fn state(&self) -> State {
        let busy = self
            .open
            .as_ref()
            .filter(|open| open.quiet_since().is_none());
        State {
            busy: busy.is_some(),
            for_user: busy.is_some_and(Open::is_input),
            events: self
                .waiting
                .iter()
                .any(|one| one.stimulus.trigger == Trigger::Input),
            outstanding: !self.outstanding.is_empty(),
        }
    }

    /// A switch of the thread that speaks to the server.
    pub(crate) fn switch(&mut self, switch: &Switch, done: &mut Done<'_>) {
        let time = switch.time.as_nanos();
        let before = self.thread;
        match switch.kind {
            SwitchKind::In => {
                self.thread = Thread::Running;
                if let Thread::Blocked {
                    since, wait, fed, ..
                } = before
                {
                    self.woke(time, since, wait, fed, done);
                }
            }
            SwitchKind::Preempted => self.thread = Thread::Preempted,
            SwitchKind::Blocked => {
                self.thread = Thread::Blocked {
                    since: time,
                    wait: None,
                    fed: false,
                    answered: false,
                };
                if self.outstanding.is_empty()
                    && let Some(open) = &mut self.open
                {
                    open.maybe_quiet(time);
                }
            }
        }
    }

    /// It became known what the thread waits in since `since`.
    pub(crate) fn waits(&mut self, since: u64, wait: Wait) {
        let Thread::Blocked {
            since: blocked,
            wait: known,
            ..
        } = &mut self.thread
        else {
            return;
        };
        if *blocked != since {
            return;
        }
        *known = Some(wait);
        if wait == Wait::Poll {
            self.has_read(since, PASSED_ON);
        } else if let Some(open) = &mut self.open {
            open.not_quiet();
        }
    }

    /// What was delivered `margin` before `time` has been read and handled with what is open.
    fn has_read(&mut self, time: u64, margin: u64) {
        while let Some(first) = self.waiting.front()
            && first.delivered.saturating_add(margin) <= time
        {
            if let Some(open) = &mut self.open {
                open.events += first.events;
            }
            self.waiting.pop_front();
        }
    }

    /// The thread runs again after it waited.
    fn woke(&mut self, time: u64, since: u64, wait: Option<Wait>, fed: bool, done: &mut Done<'_>) {
        if !self.outstanding.is_empty() {
            return;
        }
        if wait.is_some_and(|wait| wait != Wait::Poll) {
            return;
        }
        self.has_read(since, PASSED_ON);
        let quiet = self.open.as_ref().and_then(Open::quiet_since);
        if !self.waiting.is_empty() {
            // It reads them now.
            if self.open.is_none() || quiet.is_some() {
                self.close(done);
                self.busy_from = None;
                self.begin(time);
            }
            return;
        }
        let lingers = quiet.is_some_and(|quiet| time.saturating_sub(quiet) <= self.spans.tick());
        let brief = wait.is_none() && !fed && time.saturating_sub(since) < BRIEF;
        let goes_on = match &self.open {
            // A wait for a reply, or not known to be quiet at all.
            Some(_) if quiet.is_none() || brief => true,
            // What came to nothing does not begin what comes now.
            Some(open) if !open.counts() && wait == Some(Wait::Poll) => false,
            // The answer to a request of its own, or its next frame.
            Some(open) => lingers && (fed || !open.draws),
            None => false,
        };
        if !goes_on {
            self.close(done);
            self.busy_from = None;
            self.open = Some(Open::new(None, self.names.timer, time, time));
        }
    }

    /// Begins with the first stimulus that waits.
    fn begin(&mut self, time: u64) {
        if let Some(first) = self.waiting.pop_front() {
            let stimulus = Some((first.stimulus, first.landmark));
            let mut open = Open::new(stimulus, first.landmark, first.start, time);
            open.events = first.events;
            self.open = Some(open);
        }
    }

    fn close(&mut self, done: &mut Done<'_>) {
        if let Some(open) = self.open.take()
            && open.counts()
        {
            let (episode, end) = open.finish(self.client);
            done(episode, end);
        }
    }

    /// Messages came for the client.
    pub(crate) fn delivered(
        &mut self,
        time: u64,
        delivery: &Delivery,
        clock: &mut ServerTime,
        done: &mut Done<'_>,
    ) {
        let asked = !self.outstanding.is_empty();
        if let Some(latest) = delivery.answered.last() {
            while self.outstanding.front().is_some_and(|one| one <= latest) {
                self.outstanding.pop_front();
            }
        }
        if asked
            && self.outstanding.is_empty()
            && !matches!(self.thread, Thread::Running | Thread::Preempted)
            && let Some(open) = &mut self.open
        {
            open.round_trips += 1;
        }
        if self.thread == Thread::Unknown {
            self.silence(time, done);
        }
        for (stimulus, landmark) in &delivery.events {
            self.stimulated(time, stimulus, *landmark, clock);
        }
        if let Thread::Blocked { fed, answered, .. } = &mut self.thread {
            *fed = true;
            *answered |= asked && self.outstanding.is_empty();
        } else if !self.waiting.is_empty() {
            // It runs: it begins at once, unless it is busy with something that shows.
            if self.input_waits() {
                // What the user does comes first: what has shown nothing yet is part of it.
                self.open
                    .take_if(|open| open.requests == 0 && !open.is_input());
            }
            let idle = self.open.as_ref().is_none_or(|open| !open.counts());
            let answered = self.thread == Thread::Unknown
                && self.outstanding.is_empty()
                && self.open.as_ref().is_some_and(|open| open.requests > 0);
            if idle || answered {
                self.close(done);
                self.begin(time);
            }
        }
    }

    fn input_waits(&self) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|one| one.stimulus.trigger == Trigger::Input)
    }

    fn stimulated(
        &mut self,
        time: u64,
        stimulus: &Stimulus,
        landmark: Symbol,
        clock: &mut ServerTime,
    ) {
        if let Some(open) = &mut self.open {
            let lingers = open
                .quiet_since()
                .is_none_or(|quiet| time.saturating_sub(quiet) <= self.spans.tick());
            let own = stimulus.trigger != Trigger::Input
                && stimulus.shape != Shape::Frame
                && self.busy_from.is_some()
                && stimulus.sequence >= self.busy_from;
            let release = open.quiet_since().is_none()
                && open.stimulus.is_some_and(|press| stimulus.releases(&press));
            if (own && lingers) || release {
                open.events += 1;
                if own && stimulus.trigger == Trigger::Output {
                    open.child(landmark, time);
                }
                return;
            }
        }
        let full = self.waiting.len() >= MOST_WAITING;
        if let Some(last) = self.waiting.back_mut()
            && (stimulus.continues(&last.stimulus) || full)
        {
            last.events += 1;
            return;
        }
        let delivered = Timestamp::from_nanos(time);
        let start = stimulus
            .server_time
            .map_or(delivered, |millis| clock.happened(millis, delivered));
        let mut waiting = Waiting {
            stimulus: *stimulus,
            landmark,
            start: start.as_nanos(),
            delivered: time,
            events: 1,
        };
        if stimulus.trigger == Trigger::Input {
            // What came right before it is about it: a device or a keyboard that changed.
            while let Some(last) = self.waiting.back()
                && last.stimulus.trigger != Trigger::Input
            {
                waiting.events += last.events;
                self.waiting.pop_back();
            }
        }
        self.waiting.push_back(waiting);
    }

    /// Without context switches: whether the wire has been silent for long enough.
    fn silence(&mut self, time: u64, done: &mut Done<'_>) {
        let over = self.open.as_ref().is_some_and(|open| {
            open.last_sent
                .is_some_and(|sent| time.saturating_sub(sent) > self.spans.silence)
        });
        if over && self.outstanding.is_empty() {
            self.close(done);
            self.busy_from = None;
            if !self.waiting.is_empty() {
                self.begin(time);
            }
        }
    }

    /// Messages came from the client.
    pub(crate) fn sent(&mut self, time: u64, sent: &Sent, done: &mut Done<'_>) {
        if self.thread == Thread::Unknown {
            self.silence(time, done);
        }
        let open = self
            .open
            .get_or_insert_with(|| Open::new(None, self.names.timer, time, time));
        if open.stimulus.is_none() && open.requests == 0 && sent.draws {
            let frame = self
                .last_frame
                .is_some_and(|last| time.saturating_sub(last) <= 2 * self.spans.frame);
            if frame {
                open.is_frame(self.names.frame);
            }
        }
        if open.stimulus.is_none() && sent.draws {
            self.last_frame = Some(time);
        }
        if let Thread::Blocked {
            since,
            wait: None | Some(Wait::Poll),
            ..
        } = self.thread
        {
            open.on_the_way(time.saturating_sub(since));
        }
        open.sent(time);
        open.requests += sent.requests;
        open.bytes = open.bytes.saturating_add(sent.bytes);
        open.draws |= sent.draws;
        if self.busy_from.is_none() {
            self.busy_from = sent.first;
        }
        for question in &sent.questions {
            if self.outstanding.len() < MOST_OUTSTANDING {
                self.outstanding.push_back(*question);
            }
        }
        if !self.outstanding.is_empty() {
            return;
        }
        if let Thread::Blocked { wait, .. } = self.thread {
            // It wrote before it blocked, and the relay read it afterwards.
            if wait.is_none_or(|wait| wait == Wait::Poll)
                && let Some(open) = &mut self.open
            {
                open.maybe_quiet(time);
            }
        } else if !self.waiting.is_empty() {
            // What it wrote ends what it did before it reads the next event.
            self.close(done);
            self.begin(time);
        }
    }

    /// The connection has ended, or the trace.
    pub(crate) fn closed(&mut self, done: &mut Done<'_>) {
        self.close(done);
    }
}

/// Takes an episode as far as its client goes, with the time at which the client ended it.
pub(crate) type Done<'a> = dyn FnMut(Episode, u64) + 'a;
