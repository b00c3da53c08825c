//! One client as a state machine: what it handles, what waits to be handled, and who owns the
//! time meanwhile.
//!
//! A client is quiet when no reply is outstanding, nothing delivered is unread, and its thread
//! waits in poll, select or epoll. Without context switches it is quiet when the wire is silent.
//! Here is what its thread does; [`messages`] has what comes and goes.

mod messages;

use std::collections::VecDeque;

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Switch, SwitchKind};

use super::episode::{Asked, Episode, Owner};
use super::happening::Wait;
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
    /// Its process, whose first thread speaks to the server.
    pub(crate) pid: Option<u32>,
    thread: Thread,
    outstanding: VecDeque<SequenceNumber>,
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
            waiting: Queue::default(),
            spans,
            taking: if far {
                Owner::Network
            } else {
                Owner::Server(Asked::Reply)
            },
            busy_from: None,
            last_frame: None,
            last_end: time,
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
        let state = BusyState {
            events: self.waiting.has_input(),
            outstanding: asks,
        };
        if let Some(open) = &mut self.open {
            open.scheduled |= self.thread != Thread::Unknown;
            open.pass(time, owner, runnable, state);
            if asks && grabbed > 0 {
                open.grabbed(grabbed);
            }
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
                    since,
                    wait,
                    fed,
                    taken,
                    ..
                } = before
                {
                    // It waited until there was room for more, if nothing else woke it.
                    let relieved =
                        !fed && taken.is_some_and(|taken| time.saturating_sub(taken) < BRIEF);
                    self.woke(time, since, wait, fed, relieved, done);
                }
            }
            SwitchKind::Preempted => self.thread = Thread::Preempted,
            SwitchKind::Blocked => {
                self.thread = Thread::Blocked {
                    since: time,
                    wait: None,
                    fed: false,
                    answered: false,
                    taken: None,
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
        let events = self.waiting.delivered_by(time.saturating_sub(margin));
        if let Some(open) = &mut self.open {
            open.events += events;
        }
    }

    /// The thread runs again after it waited.
    fn woke(
        &mut self,
        time: u64,
        since: u64,
        wait: Option<Wait>,
        fed: bool,
        relieved: bool,
        done: &mut Done<'_>,
    ) {
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
        if brief || relieved {
            // A wait for a page or a lock, or for room to write.
            if let Some(open) = &mut self.open {
                open.not_quiet();
            }
        }
        let goes_on = match &self.open {
            // A wait for a reply, or not known to be quiet at all.
            Some(_) if quiet.is_none() || brief || relieved => true,
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
        if let Some(first) = self.waiting.next() {
            let stimulus = Some((first.stimulus, first.landmark));
            let mut open = Open::new(stimulus, first.landmark, first.start, time);
            open.waited_idle = time.saturating_sub(first.start.max(self.last_end));
            open.events = first.events;
            self.open = Some(open);
        }
    }

    fn close(&mut self, done: &mut Done<'_>) {
        if let Some(open) = self.open.take()
            && open.counts()
        {
            let (episode, end) = open.finish(self.client);
            self.last_end = end;
            done(episode, end);
        }
    }

    /// The connection has ended, or the trace.
    pub(crate) fn closed(&mut self, done: &mut Done<'_>) {
        self.close(done);
    }
}

/// Takes an episode as far as its client goes, with the time at which the client ended it.
pub(crate) type Done<'a> = dyn FnMut(Episode, u64) + 'a;
