//! One client as a state machine: what it handles, what waits to be handled, and who owns the
//! time meanwhile.
//!
//! A client is quiet when no reply is outstanding, nothing delivered is unread, and the threads that
//! speak for it wait for X or for work. Without context switches it is quiet when the wire is silent.
//! Here is what its threads do; [`messages`] has what comes and goes.

mod messages;

use std::collections::VecDeque;

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Switch};

use super::across::link::{EpisodeId, Standing};
use super::cause::{Cause, ServerCause};
use super::client_threads::{ClientThreads, Joint, Together, Woken};
use super::episode::{Episode, Owner, Unsure};
use super::occurrence::{About, Place, Wait};
use super::open::Open;
use super::queue::Queue;
use super::states::BusyState;
use super::thread::Thread;

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

/// One client.
#[derive(Debug)]
pub(crate) struct Machine {
    client: ConnectionId,
    /// Episodes that it has ended.
    ended: u64,
    /// Its process.
    pub(crate) pid: Option<u32>,
    threads: ClientThreads,
    /// Those of its threads that speak for it, as one.
    thread: Thread,
    outstanding: VecDeque<(SequenceNumber, Symbol)>,
    /// The request that was answered last.
    answered: Option<Symbol>,
    open: Option<Open>,
    waiting: Queue,
    spans: Spans,
    /// Whose time it is until the relay has taken what the client wrote.
    taking: Owner,
    /// The first request since it was last quiet: events from there on are its own doing.
    busy_from: Option<SequenceNumber>,
    /// When it last drew without a stimulus.
    last_frame: Option<u64>,
    /// When its last episode ended.
    last_end: u64,
    /// The server has answered its setup.
    set_up: bool,
    /// Its threads last woke from a wait that is taken to be in the middle of a handling.
    mid_way: bool,
    names: Names,
}

/// What is about no event.
#[derive(Debug, Clone, Copy)]
struct Names {
    startup: About,
    timer: About,
    frame: About,
}

impl Machine {
    /// A client that connected at `time`, which is its first episode, to a server of this machine
    /// or (`far`) another one.
    pub(crate) fn new(
        client: ConnectionId,
        pid: Option<u32>,
        time: u64,
        spans: Spans,
        far: bool,
    ) -> Machine {
        let names = Names {
            startup: About::alone("Start-up"),
            timer: About::alone("Timer or file"),
            frame: About::alone("Frame tick"),
        };
        Machine {
            client,
            ended: 0,
            pid,
            threads: ClientThreads::default(),
            thread: Thread::Unknown,
            outstanding: VecDeque::new(),
            answered: None,
            open: Some(Open::start_up(names.startup, time)),
            waiting: Queue::default(),
            spans,
            taking: if far {
                Owner::Network
            } else {
                Owner::Server(ServerCause::Reply)
            },
            busy_from: None,
            last_frame: None,
            last_end: time,
            mid_way: false,
            set_up: false,
            names,
        }
    }

    /// The switches of its process are recorded: it runs, for it has just connected.
    pub(crate) fn captured(&mut self) {
        if self.thread == Thread::Unknown {
            self.thread = Thread::Running;
        }
    }

    /// When it connected, none of its threads was on a processor; one could run, or all waited.
    pub(crate) fn does_not_run(&mut self, time: u64, ready: bool) {
        self.thread = if ready {
            Thread::Preempted
        } else {
            Thread::Blocked {
                since: time,
                wait: None,
                unsure: false,
                fed: false,
                answered: false,
                taken: None,
            }
        };
    }

    /// What it does now, as an episode.
    fn id(&self) -> EpisodeId {
        EpisodeId {
            client: self.client,
            number: self.ended,
        }
    }

    /// Where the episode that goes on stands among those that led to each other.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.open.as_ref().map(|open| open.standing(self.id()))
    }

    /// The trees that what goes on and what waits belongs to.
    pub(crate) fn roots(&self) -> impl Iterator<Item = EpisodeId> {
        let waiting = self.waiting.links().map(|link| link.root);
        waiting.chain(self.standing().map(|open| open.root))
    }

    /// Time passes until `time`, in `grabbed` nanoseconds of which another client, the last of them `by`, had
    /// grabbed the server.
    pub(crate) fn pass(
        &mut self,
        time: u64,
        grabbed: u64,
        by: Option<ConnectionId>,
        runnable: u64,
    ) {
        let asks = !self.outstanding.is_empty();
        let owner = self.thread.owner(asks);
        let state = BusyState {
            events: self.waiting.has_input(),
            outstanding: asks,
            file: owner == Owner::OffCpu(Cause::File),
        };
        let first = self.outstanding.front().map(|(_, request)| *request);
        if let Some(open) = &mut self.open {
            open.scheduled |= self.thread != Thread::Unknown;
            open.pass(time, owner, runnable, state, first.or(self.answered));
            if asks && grabbed > 0 {
                open.grabbed(grabbed, by);
            }
        }
    }

    /// A switch of a thread of its process.
    pub(crate) fn switch(&mut self, switch: &Switch, done: &mut Done<'_>) {
        let time = switch.time.as_nanos();
        let woken = self.threads.switch(switch);
        if woken.is_some_and(|woken| woken.proved) {
            self.was_quiet(time, done);
        }
        self.follow(time, woken, done);
    }

    /// What the threads do together may have changed; `woken` is the one that runs now after a wait.
    pub(super) fn follow(&mut self, time: u64, woken: Option<Woken>, done: &mut Done<'_>) {
        let before = self.thread;
        match self.threads.together() {
            Together::Unknown => {}
            together @ (Together::Running | Together::Ready) => {
                self.thread = if together == Together::Running {
                    Thread::Running
                } else {
                    Thread::Preempted
                };
                if let Thread::Blocked {
                    since,
                    wait,
                    unsure,
                    fed,
                    taken,
                    ..
                } = before
                {
                    // One that shows to be in the middle of something only now that it is over.
                    let busy = woken.and_then(|woken| woken.busy).filter(|_| unsure);
                    if busy.is_some()
                        && let Some(open) = &mut self.open
                    {
                        open.not_quiet_since(since);
                    }
                    let wait = busy.or(wait);
                    let ended = Ended {
                        since,
                        wait,
                        unsure,
                        fed,
                        // It waited until there was room for more, if nothing else woke it.
                        relieved: !fed
                            && taken.is_some_and(|taken| time.saturating_sub(taken) < BRIEF),
                        // Another one ran after it fell asleep, and woke it before falling asleep itself.
                        handed: !fed
                            && time.saturating_sub(since) < BRIEF
                            && woken.is_some_and(|woken| woken.since < since),
                    };
                    self.woke(time, &ended, done);
                }
            }
            Together::Blocked if matches!(before, Thread::Blocked { .. }) => {}
            Together::Blocked => {
                let wait = self.joint().wait;
                self.thread = Thread::Blocked {
                    since: time,
                    wait,
                    unsure: false,
                    fed: false,
                    answered: false,
                    taken: None,
                };
                if self.outstanding.is_empty()
                    && wait.is_none_or(|wait| wait == Wait::Poll)
                    && let Some(open) = &mut self.open
                {
                    open.maybe_quiet(time);
                }
            }
        }
    }

    /// What the threads wait for that took part in what is open.
    fn joint(&self) -> Joint {
        let begun = self.open.as_ref().map_or(u64::MAX, |open| open.begun);
        self.threads.joint(begun)
    }

    /// It became known what a thread waits in since `since`.
    pub(crate) fn waits(&mut self, tid: u32, since: u64, place: Place) {
        // The setup is a question too.
        let asks = !self.outstanding.is_empty() || !self.set_up;
        self.threads.waits(tid, since, place, asks);
        let joint = self.joint();
        let Thread::Blocked {
            since: blocked,
            wait: known,
            unsure,
            ..
        } = &mut self.thread
        else {
            return;
        };
        let blocked = *blocked;
        *unsure = joint.unsure;
        if *known == joint.wait {
            return;
        }
        *known = joint.wait;
        match joint.wait {
            None => {}
            // It would not have waited for long with something to read.
            Some(Wait::Poll) => self.has_read(blocked, 0),
            Some(_) => {
                if let Some(open) = &mut self.open {
                    open.not_quiet_since(blocked);
                }
            }
        }
    }

    /// A thread has waited for work, and was taken to be in the middle of some: what came begins now.
    fn was_quiet(&mut self, time: u64, done: &mut Done<'_>) {
        if std::mem::take(&mut self.mid_way) && !self.waiting.is_empty() {
            self.close(done);
            self.busy_from = None;
            self.begin(time);
        }
    }

    /// What was delivered `margin` before `time` has been read and handled with what is open.
    fn has_read(&mut self, time: u64, margin: u64) {
        let read = self.waiting.delivered_by(time.saturating_sub(margin));
        if let Some(open) = &mut self.open {
            open.events += read.events;
            open.tags.add(&read.tags);
            read.links.into_iter().for_each(|link| open.fed(link));
            if let Some(input) = &read.input {
                open.is_of(input);
            }
        }
    }

    /// The threads run again after all waited.
    fn woke(&mut self, time: u64, ended: &Ended, done: &mut Done<'_>) {
        let Ended {
            since,
            wait,
            fed,
            relieved,
            handed,
            ..
        } = *ended;
        if !self.outstanding.is_empty() {
            return;
        }
        self.mid_way = wait.is_some_and(|wait| wait != Wait::Poll);
        if self.mid_way {
            return;
        }
        let brief = wait.is_none() && !fed && time.saturating_sub(since) < BRIEF;
        if let Some(open) = &mut self.open {
            if brief || relieved || handed {
                // A wait for a page or a lock, for room to write, or for another of the threads.
                open.not_quiet_since(since);
            } else {
                open.rested(time.saturating_sub(since));
            }
        }
        if !handed {
            let known = wait == Some(Wait::Poll);
            self.has_read(since, if known { 0 } else { PASSED_ON });
        }
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
        let lingers = self
            .open
            .as_ref()
            .is_some_and(|open| self.lingers(open, time));
        let goes_on = match &self.open {
            // A wait for a reply, or not known to be quiet at all.
            Some(_) if quiet.is_none() || brief || relieved || handed => true,
            // What came to nothing does not begin what comes now.
            Some(open) if !open.counts() && wait == Some(Wait::Poll) => false,
            // The answer to a request of its own, or its next frame.
            Some(open) => lingers && (fed || !open.draws),
            None => false,
        };
        if !goes_on {
            if ended.unsure
                && !fed
                && let Some(open) = &mut self.open
            {
                open.unsure = Some(Unsure::WaitForThread);
            }
            self.close(done);
            self.busy_from = None;
            self.open = Some(Open::new(None, self.names.timer, time, time));
        }
    }

    /// Whether what the client does at `time` may still be the response of `open`: it has not been quiet for
    /// long since its last request.
    fn lingers(&self, open: &Open, time: u64) -> bool {
        let now = match self.thread {
            Thread::Blocked { since, .. } if open.quiet_since().is_some() => {
                time.saturating_sub(since)
            }
            Thread::Unknown | Thread::Running | Thread::Preempted | Thread::Blocked { .. } => 0,
        };
        open.quiet_for().saturating_add(now) <= self.spans.tick()
    }

    /// Begins with the first stimulus that waits.
    fn begin(&mut self, time: u64) {
        if let Some(first) = self.waiting.next() {
            let stimulus = Some(first.stimulus);
            let mut open = Open::new(stimulus, first.about, first.start, time);
            open.waited_idle = time.saturating_sub(first.start.max(self.last_end));
            open.events = first.events;
            open.link = first.link;
            open.delivered = Some(first.delivered);
            open.tags = first.tags;
            self.open = Some(open);
        }
    }

    fn close(&mut self, done: &mut Done<'_>) {
        let id = self.id();
        self.ended += 1;
        if let Some(mut open) = self.open.take()
            && open.counts()
        {
            if open.scheduled && open.never_waits() {
                open.unsure.get_or_insert(Unsure::NeverWaits);
            }
            let (episode, end) = open.finish(id);
            self.last_end = end;
            done(episode, end);
        }
    }

    /// The connection has ended, or the trace.
    pub(crate) fn closed(&mut self, done: &mut Done<'_>) {
        self.close(done);
    }
}

/// A wait of all threads that is over.
struct Ended {
    since: u64,
    wait: Option<Wait>,
    /// That it was for work was assumed.
    unsure: bool,
    /// Bytes came in it.
    fed: bool,
    /// Room to write ended it.
    relieved: bool,
    /// One of the threads woke another.
    handed: bool,
}

/// Takes an episode as far as its client goes, with the time at which the client ended it.
pub(crate) type Done<'a> = dyn FnMut(Episode, u64) + 'a;
