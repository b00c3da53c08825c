//! One thread of a client's process: its state, and the places in which it waits. A place in which events wake the
//! thread is a wait for work; other places are waits during a handling.

use crate::episodes::timeline_event::{Place, Wait};
use crate::threads::delays::WOKEN_WITHIN;
use crate::threads::thread_states::State;

/// Places that are known of a thread, at most.
const PLACES_LIMIT: usize = 8;
/// A thread that never polls and was seen this often in one place may wait for work there.
const OFTEN: u32 = 3;
/// The number of sleeps from which on a thread may be a polling loop, and the number of these per other wait.
const TURNS: u32 = 16;
const SELDOM: u32 = 4;

/// The common wait of all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JointWait {
    /// Poll if all wait for X or for work; `None` if the wait of one of them is unknown.
    pub(crate) wait: Option<Wait>,
    /// The kind of a place is assumed: nothing has shown yet that the wait is for work.
    pub(crate) unsure: bool,
}

#[derive(Debug, Default)]
pub(super) struct KnownThread {
    /// Unknown once it has ended.
    pub(super) now: State,
    /// The time of the thread's last switch.
    pub(super) since: u64,
    pub(super) wait: Option<Place>,
    pub(super) reads: u32,
    pub(super) writes: u32,
    /// Seen in poll, or waiting for anything but time, while the client waited for no reply.
    pub(super) polls: bool,
    pub(super) waits: bool,
    places: Vec<KnownPlace>,
    /// The client sent a request with a reply while it waited, or waited for a reply, so what it wrote before is read
    /// later.
    pub(super) reply_awaited: bool,
    /// The time at which the thread last came out of poll.
    pub(super) left_poll: Option<u64>,
    /// An event of a device, or any, came while it waited.
    pub(super) device_event_came: bool,
    pub(super) event_came: bool,
}

/// A place that a thread was in.
#[derive(Debug)]
struct KnownPlace {
    place: Place,
    /// The number of waits in this place.
    seen: u32,
    /// Device events during these waits, and wakeups by them.
    device_events: u32,
    device_wakeups: u32,
    /// Wakeups by any event.
    wakeups: u32,
    /// At least one wait in this place had no time limit.
    without_timeout: bool,
}

impl KnownThread {
    pub(super) fn new(since: u64) -> KnownThread {
        KnownThread {
            since,
            ..KnownThread::default()
        }
    }

    /// True if the thread runs, is ready, or ran a moment ago.
    pub(super) fn ran_lately(&self, time: u64) -> bool {
        self.now.could_run() || time.saturating_sub(self.since) <= WOKEN_WITHIN
    }

    /// Adds a wait in a place.
    pub(super) fn seen(&mut self, place: Place) {
        self.wait = Some(place);
        if !self.places.iter().any(|one| one.place == place) {
            if self.places.len() >= PLACES_LIMIT {
                // The one that is known least of.
                let least = self.places.iter().enumerate();
                let least = least.min_by_key(|(_, one)| (one.device_wakeups, one.seen));
                if let Some((least, _)) = least {
                    self.places.swap_remove(least);
                }
            }
            self.places.push(KnownPlace {
                place,
                seen: 0,
                device_events: 0,
                device_wakeups: 0,
                wakeups: 0,
                without_timeout: false,
            });
        }
        if let Some(one) = self.at(place) {
            one.seen = one.seen.saturating_add(1);
            one.without_timeout |= place.timed == Some(false);
        }
    }

    fn at(&mut self, place: Place) -> Option<&mut KnownPlace> {
        self.places.iter_mut().find(|one| one.place == place)
    }

    /// A device event arrived in this wait; `woke` is true if it ended the wait.
    pub(super) fn device_event(&mut self, woke: bool) {
        if let Some(place) = self.wait
            && let Some(one) = self.at(place)
        {
            one.device_events = one.device_events.saturating_add(1);
            one.device_wakeups = one.device_wakeups.saturating_add(u32::from(woke));
        }
    }

    /// Adds a wakeup by a message.
    pub(super) fn woken(&mut self) {
        if let Some(place) = self.wait
            && let Some(one) = self.at(place)
        {
            one.wakeups = one.wakeups.saturating_add(1);
        }
    }

    /// True if a wait for a condition may be a sleep in the middle of work (Java's sleeps are such waits): waits in
    /// this place always end by a time limit and never by a message, and in other places the thread repeatedly waits
    /// without a limit.
    fn sleeps(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        let for_time =
            |one: &KnownPlace| !one.without_timeout && one.wakeups == 0 && one.device_wakeups == 0;
        let mut others = self.places.iter();
        place.timed == Some(true)
            && places.all(|one| one.place != place || for_time(one))
            && others.any(|one| one.without_timeout && self.frequents(one.place))
    }

    /// True if the thread often waits in this place, or messages have woken it there.
    pub(super) fn frequents(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        places.any(|one| one.place == place && (one.seen >= OFTEN || one.wakeups > 0))
    }

    /// True for a loop that works between its sleeps: the thread sleeps again and again, and seldom waits
    /// otherwise.
    pub(super) fn sleeps_between_turns(&self) -> bool {
        let seen = |sleeps: bool| -> u32 {
            let places = self.places.iter();
            let these = places.filter(|one| (one.place.wait == Wait::Sleep) == sleeps);
            these.map(|one| one.seen).sum()
        };
        let asleep = seen(true);
        asleep >= TURNS && seen(false).saturating_mul(SELDOM) <= asleep
    }

    /// True if events have woken the thread from this wait: the wait is for work.
    pub(super) fn proven(&self, place: Place) -> bool {
        // Nothing wakes a sleep.
        let mut places = self.places.iter();
        place.wait != Wait::Sleep && places.any(|one| one.place == place && one.is_for_work())
    }

    /// The meaning of the thread's wait for the client, for which it speaks alone (`sole`) or with others.
    pub(super) fn meaning(&self, sole: bool) -> JointWait {
        let Some(place) = self.wait else {
            return JointWait {
                wait: None,
                unsure: false,
            };
        };
        let known = self.places.iter().any(KnownPlace::is_for_work);
        let (wait, unsure) = match place.wait {
            // No work comes from a file.
            Wait::File => (Wait::File, false),
            _ if self.proven(place) => (Wait::Poll, false),
            Wait::Sleep if self.sleeps_between_turns() => (Wait::Poll, false),
            // It waits for work elsewhere: this is in the middle of some.
            Wait::Poll if known => (Wait::Other, false),
            Wait::Poll => (Wait::Poll, false),
            _ if self.sleeps(place) => (Wait::Sleep, false),
            busy if known => (busy, false),
            // A loop that never waits for anything else sleeps between its turns.
            Wait::Sleep if !self.waits => (Wait::Poll, true),
            Wait::Sleep => (Wait::Sleep, false),
            // Who waits for X in poll does so for work alone.
            busy if sole && self.polls => (busy, false),
            _ => (Wait::Poll, true),
        };
        JointWait {
            wait: Some(wait),
            unsure,
        }
    }
}

impl KnownPlace {
    fn is_for_work(&self) -> bool {
        self.device_wakeups > 0
            && self.device_wakeups.saturating_mul(2) >= self.device_events
            && self.place.wait != Wait::Sleep
    }
}
