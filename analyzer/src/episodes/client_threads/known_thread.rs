//! One thread of a client's process: its state, and the calls in which it waits. A call from which events wake the
//! thread is a wait for work. Other calls are waits in the middle of a handling.

use crate::episodes::timeline_event::{Place, Wait};
use crate::threads::delays::WOKEN_WITHIN;
use crate::threads::thread_states::State;

/// Maximum number of wait locations kept for a thread; beyond it, a new location replaces an old one.
const PLACES_LIMIT: usize = 8;
/// If a thread never polls, a location may be a wait for work once the thread has waited there this often.
const OFTEN: u32 = 3;
/// A thread is a polling loop if it has slept at least `TURNS` times, and `SELDOM` times as often as it has waited for
/// anything else.
const TURNS: u32 = 16;
const SELDOM: u32 = 4;

/// The combined wait of several threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommonWait {
    /// `Poll` if all threads wait for X or for work; `None` if the wait of a thread is unknown.
    pub(crate) wait: Option<Wait>,
    /// True if the wait is only assumed to be for work.
    pub(crate) unsure: bool,
}

#[derive(Debug, Default)]
pub(super) struct KnownThread {
    /// The thread's current state; unknown once the thread has ended.
    pub(super) now: State,
    /// The time of the thread's last context switch, in nanoseconds.
    pub(super) since: u64,
    pub(super) wait: Option<Place>,
    pub(super) reads: u32,
    pub(super) writes: u32,
    /// True if the thread has waited in poll. `waits` is true if it has waited for anything but time. Neither counts
    /// waits during which a reply was pending.
    pub(super) polls: bool,
    pub(super) waits: bool,
    places: Vec<KnownPlace>,
    /// True if a reply was pending while the thread waited. The relay may read requests that were sent before the wait
    /// only during it.
    pub(super) reply_awaited: bool,
    /// The time at which the thread last returned from poll, in nanoseconds; `None` if it never did.
    pub(super) left_poll: Option<u64>,
    /// The time at which a device event arrived while the thread waited, in nanoseconds; `None` if none arrived.
    pub(super) device_event_came: Option<u64>,
    /// True if any event arrived while the thread waited.
    pub(super) event_came: bool,
}

/// A location (a call) in which a thread has waited.
#[derive(Debug)]
struct KnownPlace {
    place: Place,
    /// The number of waits at this location.
    seen: u32,
    /// The number of device events that arrived during waits at this location. `device_wakeups` counts those that woke
    /// the thread.
    device_events: u32,
    device_wakeups: u32,
    /// The number of wakeups by events.
    wakeups: u32,
    /// True if at least one wait at this location had no time limit.
    without_timeout: bool,
}

impl KnownThread {
    pub(super) fn new(since: u64) -> KnownThread {
        KnownThread {
            since,
            ..KnownThread::default()
        }
    }

    /// True if the thread runs, is ready, or ran shortly before `time` (nanoseconds).
    pub(super) fn ran_lately(&self, time: u64) -> bool {
        self.now.could_run() || time.saturating_sub(self.since) <= WOKEN_WITHIN
    }

    /// Adds a wait of the thread at the location `place`.
    pub(super) fn seen(&mut self, place: Place) {
        self.wait = Some(place);
        if !self.places.iter().any(|one| one.place == place) {
            if self.places.len() >= PLACES_LIMIT {
                // The least known location.
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

    /// Adds a device event that arrived in the current wait; `woke` is true if the event ended the wait.
    pub(super) fn device_event(&mut self, woke: bool) {
        if let Some(place) = self.wait
            && let Some(one) = self.at(place)
        {
            one.device_events = one.device_events.saturating_add(1);
            one.device_wakeups = one.device_wakeups.saturating_add(u32::from(woke));
        }
    }

    /// Adds a wakeup of the thread by a message.
    pub(super) fn woken(&mut self) {
        if let Some(place) = self.wait
            && let Some(one) = self.at(place)
        {
            one.wakeups = one.wakeups.saturating_add(1);
        }
    }

    /// True if a wait for a condition may be a sleep in the middle of work (Java's sleeps are such waits): waits at
    /// this location always end by a time limit and never by a message, while the thread repeatedly waits at other
    /// locations without a limit.
    fn sleeps(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        let for_time =
            |one: &KnownPlace| !one.without_timeout && one.wakeups == 0 && one.device_wakeups == 0;
        let mut others = self.places.iter();
        place.timed == Some(true)
            && places.all(|one| one.place != place || for_time(one))
            && others.any(|one| one.without_timeout && self.frequents(one.place))
    }

    /// True if the thread often waits at this location, or messages have woken it there.
    pub(super) fn frequents(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        places.any(|one| one.place == place && (one.seen >= OFTEN || one.wakeups > 0))
    }

    /// Returns true if the thread is a loop that works between sleeps: it sleeps repeatedly, and rarely waits for
    /// anything else.
    pub(super) fn sleeps_between_turns(&self) -> bool {
        let seen = |sleeps: bool| -> u32 {
            let places = self.places.iter();
            let these = places.filter(|one| (one.place.wait == Wait::Sleep) == sleeps);
            these.map(|one| one.seen).sum()
        };
        let asleep = seen(true);
        asleep >= TURNS && seen(false).saturating_mul(SELDOM) <= asleep
    }

    /// True for a wait for a condition without a time limit that events have ended before, as the event loop of Tk waits.
    fn events_end(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        place.timed == Some(false) && places.any(|one| one.place == place && one.wakeups > 0)
    }

    /// True if events have woken the thread from a wait at `place`: such a wait is for work.
    pub(super) fn proven(&self, place: Place) -> bool {
        // Events do not wake a sleep.
        let mut places = self.places.iter();
        place.wait != Wait::Sleep && places.any(|one| one.place == place && one.is_for_work())
    }

    /// Returns the kind of wait that the thread's wait means for the client. `sole` is true if no other thread
    /// communicates for the client.
    pub(super) fn meaning(&self, sole: bool) -> CommonWait {
        let Some(place) = self.wait else {
            return CommonWait {
                wait: None,
                unsure: false,
            };
        };
        let known = self.places.iter().any(KnownPlace::is_for_work);
        let (wait, unsure) = match place.wait {
            // No work comes from a file.
            Wait::File => (Wait::File, false),
            Wait::Stopped => (Wait::Stopped, false),
            _ if self.proven(place) => (Wait::Poll, false),
            Wait::Sleep if !known && self.sleeps_between_turns() => (Wait::Poll, false),
            // The thread waits for work elsewhere, so this wait is in the middle of work.
            Wait::Poll if known => (Wait::Other, false),
            Wait::Poll => (Wait::Poll, false),
            _ if self.sleeps(place) => (Wait::Sleep, false),
            busy if known => (busy, false),
            // A loop that only sleeps works between its sleeps.
            Wait::Sleep if !self.waits => (Wait::Poll, true),
            Wait::Sleep => (Wait::Sleep, false),
            // A thread that waits for X in poll waits there only for work.
            busy if sole && self.polls && !self.events_end(place) => (busy, false),
            _ => (Wait::Poll, true),
        };
        CommonWait {
            wait: Some(wait),
            unsure,
        }
    }
}

impl KnownPlace {
    fn is_for_work(&self) -> bool {
        self.device_wakeups > 0
            && self.device_wakeups.saturating_mul(2) >= self.device_events
            && !matches!(self.place.wait, Wait::Sleep | Wait::Stopped)
            // A signal for new input (SIGIO) interrupts any wait, also one for a child process.
            && !self.place.is_for_child()
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownThread, Place, Wait};

    fn place(wait: Wait) -> Place {
        Place {
            wait,
            at: 0,
            timed: None,
            due: None,
        }
    }

    #[test]
    fn event_wakes_a_wait_for_a_child_that_is_not_for_work() {
        let mut thread = KnownThread::new(0);
        thread.seen(place(Wait::Poll));
        thread.device_event(true);
        let wait4 = Place {
            at: 61,
            ..place(Wait::Other)
        };
        thread.seen(wait4);
        thread.device_event(true);
        assert_eq!(thread.meaning(true).wait, Some(Wait::Other));
        thread.seen(place(Wait::Poll));
        assert_eq!(thread.meaning(true).wait, Some(Wait::Poll));
    }

    #[test]
    fn sleeps_of_a_thread_that_waits_for_work_elsewhere_are_not_for_work() {
        let mut thread = KnownThread::new(0);
        thread.seen(place(Wait::Poll));
        thread.device_event(true);
        (0..40).for_each(|_| thread.seen(place(Wait::Sleep)));
        assert_eq!(thread.meaning(true).wait, Some(Wait::Sleep));
    }

    #[test]
    fn thread_that_events_find_stopped_waits_for_work_elsewhere() {
        let mut thread = KnownThread::new(0);
        thread.seen(place(Wait::Stopped));
        thread.device_event(true);
        thread.seen(place(Wait::Poll));
        assert_eq!(thread.meaning(true).wait, Some(Wait::Poll));
    }
}
