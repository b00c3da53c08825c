//! The threads that read and write a client's connection. A thread is identified by the fact that it runs when the
//! connection is read or written. Programs may use several threads: in Swing one thread reads and another paints; in Tk
//! one thread waits for the connection and another reads and writes it.
//!
//! The threads count as one combined thread, which runs while any of them does.

mod known_thread;

use rustc_hash::FxHashMap;

pub(crate) use known_thread::CommonWait;
use known_thread::KnownThread;

use super::cause::Cause;
use super::timeline_event::{Place, Wait};
use crate::threads::delays::{HANDED_ON_WITHIN, WOKEN_WITHIN};
use crate::threads::thread_states::{State, Step};

/// Maximum number of tracked threads of a process. Beyond it, waiting threads that do not use the connection are
/// dropped.
const THREADS_LIMIT: usize = 256;
/// A thread communicates for the client if it made at least 1/20 of the latest reads, or of the latest writes.
const SPEAKERS_SHARE: u32 = 20;
/// After this many reads (or writes), the counts of all threads are halved, so that the latest have more weight.
const HALVED_AFTER: u32 = 256;
/// The relay must have read from the connection this often before x11prof concludes that another process writes on it.
const READS_NEEDED: u64 = 8;
/// Time in nanoseconds by which the relay may read a request late if it has no processor.
const WRITTEN_LATE: u64 = 50_000_000;

/// A thread that runs again after a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Woken {
    /// The time at which the thread's wait began, in nanoseconds.
    pub(crate) since: u64,
    /// True if messages have shown for the first time that the thread's waits at this location are for work.
    pub(crate) proved: bool,
    /// The kind of the wait, if its end shows that the thread was in the middle of a handling: another thread ended the
    /// wait at a new location, and no message had woken that other thread first.
    pub(crate) busy: Option<Wait>,
    /// The kind of the wait; `None` if unknown.
    pub(crate) wait: Option<Wait>,
}

/// The threads of the process to which a client belongs.
#[derive(Debug, Default)]
pub(crate) struct ClientThreads {
    threads: FxHashMap<u32, KnownThread>,
    reads: u32,
    writes: u32,
    /// The time at which bytes arrived, in nanoseconds; `None` if a thread has run since then.
    unread: Option<u64>,
    /// The first thread that ran after the latest bytes had arrived.
    reader: u32,
    /// True if a thread has run since the relay last read from the connection.
    ran: bool,
    /// True if bytes have arrived, and since then no thread has run and the client has sent nothing.
    fed: bool,
    /// True if a child process has the connection.
    gone: bool,
    /// The number of threads that were refused because `threads` was full, since it was last scanned.
    refused: usize,
    /// The number of times that the relay read from the connection. `unwritten` counts the reads before which no thread
    /// of the process had run since the previous read.
    relay_reads: u64,
    unwritten: u64,
}

impl ClientThreads {
    /// Updates the state of a thread. Returns the wait that ended, if the thread now runs after a wait.
    pub(crate) fn step(&mut self, step: &Step) -> Option<Woken> {
        let Step { time, tid, now, .. } = *step;
        if now == State::Unknown {
            if let Some(thread) = self.threads.get_mut(&tid) {
                (thread.now, thread.since, thread.wait) = (now, time, None);
            }
            return None;
        }
        if !self.has_room(tid) {
            return None;
        }
        self.ran = true;
        self.fed = false;
        let thread = self.threads.entry(tid);
        let thread = thread.or_insert_with(|| KnownThread::new(time));
        let (before, waited_since) = (thread.now, thread.since);
        thread.now = now;
        if !now.runs() {
            (thread.since, thread.wait) = (time, None);
            return None;
        }
        let waited = before == State::Waiting;
        // A thread that waits for another thread or for time does not read arriving bytes.
        let reads = |place: Place| !matches!(place.wait, Wait::Lock | Wait::Sleep | Wait::File);
        let may_read = waited && thread.wait.is_none_or(reads);
        let came = self.unread.take_if(|_| may_read);
        if came.is_some() {
            self.reader = tid;
        }
        let woken = self.by_reader(time, tid);
        let alone = waited && self.active(time, tid).next().is_none();
        // The thread that passed the work on had waited for an external event.
        let polled = |other: &KnownThread| other.left_poll.is_some_and(|at| at >= waited_since);
        let relayed = self.active(time, tid).any(polled);
        let sole = self.speakers().nth(1).is_none();
        let thread = self.threads.get_mut(&tid)?;
        if std::mem::take(&mut thread.event_came) && waited && woken {
            thread.woken();
        }
        let busy = thread.wait.filter(|place| {
            let known = matches!(
                place.wait,
                Wait::Poll | Wait::Sleep | Wait::File | Wait::Stopped
            );
            sole && !known && !thread.frequents(*place) && !alone && !relayed
        });
        let wait = thread.wait.map(|place| place.wait);
        if waited && thread.wait.is_some_and(|place| place.wait == Wait::Poll) {
            thread.left_poll = Some(time);
            thread.polls |= !thread.reply_awaited;
        }
        thread.reply_awaited = false;
        let mut proved = false;
        // A wakeup soon after the event, by which a thread was not woken at once, shows nothing: the thread may have lacked a
        // processor.
        let came_at = thread.device_event_came.take();
        let is_known = |came: &u64| woken || time.saturating_sub(*came) > WRITTEN_LATE;
        if waited && came_at.filter(is_known).is_some() {
            let place = thread.wait;
            let known = place.is_some_and(|place| thread.proven(place));
            thread.device_event(woken);
            proved = !known && place.is_some_and(|place| thread.proven(place));
        }
        if came.is_some_and(|came| time.saturating_sub(came) <= WOKEN_WITHIN) {
            thread.reads += 1;
            self.reads += 1;
        }
        (thread.since, thread.wait) = (time, None);
        self.age();
        waited.then_some(Woken {
            since: waited_since,
            proved,
            busy: busy.map(|place| place.wait),
            wait,
        })
    }

    /// Returns true if the thread is tracked, or if one more thread can be tracked. If the table is full, drops threads
    /// that do not use the connection.
    fn has_room(&mut self, tid: u32) -> bool {
        if self.threads.contains_key(&tid) {
            return true;
        }
        // Scanning all threads each time would take too long if nearly all could run.
        let full = self.threads.len() >= THREADS_LIMIT;
        self.refused = if full {
            (self.refused + 1) % THREADS_LIMIT
        } else {
            0
        };
        if self.refused == 1 {
            let speak: Vec<u32> = self.speakers().map(|(tid, _)| tid).collect();
            self.threads
                .retain(|tid, one| one.now.could_run() || speak.contains(tid));
        }
        self.threads.len() < THREADS_LIMIT
    }

    /// Returns true if a message woke the running thread `tid`: this thread reads the message, or the reading thread
    /// ran just before `time` (nanoseconds).
    fn by_reader(&self, time: u64, tid: u32) -> bool {
        if tid == self.reader {
            // A thread that waited elsewhere has not read the unread bytes.
            return self.unread.is_none();
        }
        let reader = self.threads.get(&self.reader);
        reader.is_some_and(|reader| reader.ran_lately(time))
    }

    /// Returns the threads of the process, except `tid`, that run, could run or ran just before `time` (nanoseconds).
    fn active(&self, time: u64, tid: u32) -> impl Iterator<Item = &KnownThread> {
        let others = self.threads.iter().filter(move |(other, _)| **other != tid);
        let threads = others.map(|(_, thread)| thread);
        threads.filter(move |thread| thread.ran_lately(time))
    }

    fn age(&mut self) {
        if self.reads >= HALVED_AFTER {
            self.reads = 0;
            for thread in self.threads.values_mut() {
                thread.reads /= 2;
                self.reads += thread.reads;
            }
        }
        if self.writes >= HALVED_AFTER {
            self.writes = 0;
            for thread in self.threads.values_mut() {
                thread.writes /= 2;
                self.writes += thread.writes;
            }
        }
    }

    /// Adds thread `tid`, which has waited since `since` (nanoseconds), before its context switches were recorded. Returns
    /// false, and does nothing, if the thread is known.
    pub(crate) fn waited_before(&mut self, tid: u32, since: u64) -> bool {
        if self.threads.contains_key(&tid) || !self.has_room(tid) {
            return false;
        }
        let mut thread = KnownThread::new(since);
        thread.now = State::Waiting;
        self.threads.insert(tid, thread).is_none()
    }

    /// Stores the call `place` in which a thread has waited since `since` (nanoseconds); `asks` is true while a reply
    /// to the client is pending.
    pub(crate) fn waits(&mut self, tid: u32, since: u64, place: Place, asks: bool) {
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.now == State::Waiting
            && thread.since == since
        {
            thread.seen(place);
            thread.waits |= place.wait != Wait::Sleep && !asks;
        }
    }

    /// Notes that bytes arrived for the client at `time` (nanoseconds). `device` is true if they contain a device
    /// event, `events` if they contain any event, `asks` if a reply is pending.
    pub(crate) fn delivered(&mut self, time: u64, device: bool, events: bool, asks: bool) {
        self.unread = Some(time);
        // Earlier bytes have ended the wait of the thread that reads, which lacks a processor.
        let is_over = std::mem::replace(&mut self.fed, true);
        self.reply_awaited(asks);
        if !events || asks || is_over {
            return;
        }
        for thread in self.threads.values_mut() {
            let waits = thread.now == State::Waiting && thread.wait.is_some();
            if waits && device {
                thread.device_event_came.get_or_insert(time);
            }
            thread.event_came |= waits;
        }
    }

    fn reply_awaited(&mut self, asks: bool) {
        for thread in self.threads.values_mut() {
            thread.reply_awaited |= asks && thread.now == State::Waiting;
        }
    }

    /// Notes that the relay has read data from the client at `time` (nanoseconds). `asks` is true if the data contain a
    /// request that has a reply.
    pub(crate) fn sent(&mut self, time: u64, asks: bool) {
        self.reply_awaited(asks);
        let runs = self.threads.values().any(|thread| thread.now.could_run());
        let slept = self.threads.values().map(|thread| thread.since).max();
        let slept = slept.is_some_and(|since| time.saturating_sub(since) > WRITTEN_LATE);
        if self.fed && slept && !runs {
            self.gone = true;
        } else if self.ran || runs {
            self.gone = false;
        }
        self.fed = false;
        self.relay_reads += 1;
        self.unwritten += u64::from(!self.ran && !runs && !self.threads.is_empty());
        self.ran = false;
        let mut ran = self.threads.values_mut().filter(|thread| {
            thread.now.runs()
                || thread.now != State::Unknown
                    && time.saturating_sub(thread.since) <= HANDED_ON_WITHIN
        });
        // If several threads ran, the writer cannot be determined.
        if let (Some(writer), None) = (ran.next(), ran.next()) {
            writer.writes += 1;
            self.writes += 1;
            self.age();
        }
    }

    /// True if the process has left the connection to a child process: messages were handled long after all its threads
    /// had fallen asleep or ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Returns true if another process writes on the connection: no thread of this process had run before most of the
    /// data arrived.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.relay_reads >= READS_NEEDED
            && self.unwritten.saturating_mul(10) > self.relay_reads.saturating_mul(9)
    }

    /// Returns the threads that read or write the connection; all threads if no read or write has been matched to a
    /// thread.
    fn speakers(&self) -> impl Iterator<Item = (u32, &KnownThread)> {
        let speaks = |thread: &KnownThread| {
            let share = |of: u32, all: u32| of > 0 && of.saturating_mul(SPEAKERS_SHARE) >= all;
            self.reads + self.writes == 0
                || share(thread.reads, self.reads)
                || share(thread.writes, self.writes)
        };
        let all = self.threads.iter().map(|(tid, thread)| (*tid, thread));
        all.filter(move |(_, thread)| speaks(thread))
    }

    /// The combined state of the client's threads: running, ready, or waiting; unknown if no thread is known.
    pub(crate) fn together(&self) -> State {
        let mut together = State::Unknown;
        for (_, thread) in self.speakers() {
            together = match (together, thread.now) {
                (_, State::Running { .. }) => return thread.now,
                (_, State::Ready) | (State::Ready, _) => State::Ready,
                (_, State::Waiting) => State::Waiting,
                (before, State::Unknown) => before,
            };
        }
        together
    }

    /// True if all threads that communicate for the client are loops that sleep between their turns.
    pub(crate) fn sleep_between_turns(&self) -> bool {
        let mut all = self.speakers().peekable();
        all.peek().is_some() && all.all(|(_, thread)| thread.sleeps_between_turns())
    }

    /// Returns why no event ends the last waits of the threads: all of them sleep, or all are stopped; `None` if events
    /// may end the waits.
    pub(crate) fn ignore_events(&self) -> Option<Cause> {
        let mut waits = self.speakers().map(|(_, thread)| Some(thread.wait?.wait));
        let first = waits.next()??;
        let same = |wait| wait == Some(first);
        first.ignores_events().filter(|_| waits.all(same))
    }

    /// The combined wait of the threads that ran since `begun` (nanoseconds), if all of them wait. Other threads are
    /// not part of the handling.
    pub(crate) fn joint_wait(&self, begun: u64) -> CommonWait {
        let sole = self.speakers().nth(1).is_none();
        let mut joint = CommonWait {
            wait: Some(Wait::Poll),
            unsure: false,
        };
        for (_, thread) in self.speakers() {
            if thread.since < begun || thread.now == State::Unknown {
                continue;
            }
            let one = thread.meaning(sole);
            match one.wait {
                Some(Wait::Poll) => joint.unsure |= one.unsure,
                Some(_) => return one,
                None => joint.wait = None,
            }
        }
        joint
    }
}
