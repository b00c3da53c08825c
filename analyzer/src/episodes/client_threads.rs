//! The threads that speak for a client: those that read and write its connection. Which they are is told
//! by who ran next to each read and write, and may change: one reads and another paints in Swing, one
//! waits for the connection and another reads and writes it in Tk.
//!
//! Together they are as one thread: it runs while any of them does.

use std::collections::HashMap;

use x11prof_trace::{Switch, SwitchKind};

use super::occurrence::{Place, Wait};

/// Threads followed at most.
const MAX_THREADS: usize = 512;
/// Places that are known of a thread, at most.
const MAX_PLACES: usize = 8;
/// A thread that never polls and was seen so often in one place may wait for work there.
const OFTEN: u32 = 3;
/// A thread speaks for the client if at least one in this many of its latest reads or writes is its own.
const SHARE: u32 = 20;
/// Reads or writes after which older ones count half.
const LATEST: u32 = 256;
/// Reads of the relay from which on it is told whether another process writes.
const FEWEST: u64 = 8;
/// The relay has read what a thread wrote this soon, in nanoseconds: who ran then may have written it.
const WRITTEN_WITHIN: u64 = 200_000;
/// Who runs this soon after bytes came has read them, and whom it woke runs as soon after it.
const WOKEN_WITHIN: u64 = 1_000_000;

/// What the threads do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    /// None of them is known.
    Unknown,
    /// One runs.
    Running,
    /// One could run.
    Ready,
    /// All wait.
    Blocked,
}

/// What they wait for while all do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Joint {
    /// Poll where all wait for X or for work; `None` where it is not known of one of them.
    pub(crate) wait: Option<Wait>,
    /// One waits in a place that is taken to be for work, and nothing has shown it.
    pub(crate) unsure: bool,
}

/// A thread that runs again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Woken {
    /// Since when it had waited.
    pub(crate) since: u64,
    /// What it waited in has shown to be a wait for work, which was not known before.
    pub(crate) proved: bool,
    /// It was in the middle of something, which did not show before its wait was over: another thread ended it,
    /// which had waited for nothing outside, in a new place.
    pub(crate) busy: Option<Wait>,
}

/// The threads of a client's process.
#[derive(Debug, Default)]
pub(crate) struct ClientThreads {
    threads: HashMap<u32, Member>,
    reads: u32,
    writes: u32,
    /// Bytes came then, and nobody has run since.
    unread: Option<u64>,
    /// Who ran first after the latest bytes had come.
    reader: u32,
    /// One has run since the relay last read something.
    ran: bool,
    /// How often it has read something, and how often none had run since the time before.
    taken: u64,
    unwritten: u64,
}

#[derive(Debug)]
struct Member {
    now: Together,
    /// Since when.
    since: u64,
    wait: Option<Place>,
    reads: u32,
    writes: u32,
    /// It was seen in poll, or waiting for anything but time, while the client waited for no reply.
    polls: bool,
    waits: bool,
    places: Vec<Tried>,
    /// The client asked for a reply while it waited, or waited for one: what it wrote before is read later.
    asked: bool,
    /// When it last came out of poll.
    polled: Option<u64>,
    /// An event of a device, or any, came while it waited.
    tried: bool,
    fed: bool,
}

/// A place that a thread was in: how often it was seen there, how often while events of devices came, and
/// how often they woke it; how often other events did; whether it was ever seen there without a time at which
/// the wait ends.
#[derive(Debug)]
struct Tried {
    place: Place,
    seen: u32,
    times: u32,
    woke: u32,
    fed: u32,
    endless: bool,
}

impl Member {
    fn new(since: u64) -> Member {
        Member {
            now: Together::Unknown,
            since,
            wait: None,
            reads: 0,
            writes: 0,
            polls: false,
            waits: false,
            places: Vec::new(),
            asked: false,
            polled: None,
            tried: false,
            fed: false,
        }
    }

    /// It is seen in a place.
    fn seen(&mut self, place: Place) {
        self.wait = Some(place);
        if !self.places.iter().any(|one| one.place == place) {
            if self.places.len() >= MAX_PLACES {
                // The one that is known least of.
                let least = self.places.iter().enumerate();
                let least = least.min_by_key(|(_, one)| (one.woke, one.seen));
                if let Some((least, _)) = least {
                    self.places.swap_remove(least);
                }
            }
            self.places.push(Tried {
                place,
                seen: 0,
                times: 0,
                woke: 0,
                fed: 0,
                endless: false,
            });
        }
        if let Some(one) = self.at(place) {
            one.seen = one.seen.saturating_add(1);
            one.endless |= place.timed == Some(false);
        }
    }

    fn at(&mut self, place: Place) -> Option<&mut Tried> {
        self.places.iter_mut().find(|one| one.place == place)
    }

    fn tried(&mut self, woke: bool) {
        if let Some(place) = self.wait
            && let Some(one) = self.at(place)
        {
            one.times = one.times.saturating_add(1);
            one.woke = one.woke.saturating_add(u32::from(woke));
        }
    }

    /// What came woke it where it waits.
    fn was_fed(&mut self) {
        if let Some(place) = self.wait
            && let Some(one) = self.at(place)
        {
            one.fed = one.fed.saturating_add(1);
        }
    }

    /// Whether its wait for a condition is in the middle of something, and may be a sleep (Java's are such
    /// waits): it always ends at a time and never because something came, and elsewhere the thread waits
    /// without one, again and again.
    fn sleeps(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        let for_time = |one: &Tried| !one.endless && one.fed == 0 && one.woke == 0;
        let mut others = self.places.iter();
        place.timed == Some(true)
            && places.all(|one| one.place != place || for_time(one))
            && others.any(|one| one.endless && self.frequents(one.place))
    }

    /// Whether it has been seen in a place again and again, or what came has woken it there.
    fn frequents(&self, place: Place) -> bool {
        let mut places = self.places.iter();
        places.any(|one| one.place == place && (one.seen >= OFTEN || one.fed > 0))
    }

    /// Whether events wake it where it waits for this: the wait is for work.
    fn proven(&self, place: Place) -> bool {
        // Nothing wakes a sleep.
        let mut places = self.places.iter();
        place.wait != Wait::Sleep && places.any(|one| one.place == place && one.is_for_work())
    }

    /// What its wait means for the client, for which it speaks alone (`sole`) or with others.
    fn joint(&self, sole: bool) -> Joint {
        let Some(place) = self.wait else {
            return Joint {
                wait: None,
                unsure: false,
            };
        };
        let known = self.places.iter().any(Tried::is_for_work);
        let (wait, unsure) = match place.wait {
            // No work comes from a file.
            Wait::File => (Wait::File, false),
            _ if self.proven(place) => (Wait::Poll, false),
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
        Joint {
            wait: Some(wait),
            unsure,
        }
    }
}

impl Tried {
    fn is_for_work(&self) -> bool {
        self.woke > 0 && self.woke.saturating_mul(2) >= self.times && self.place.wait != Wait::Sleep
    }
}

impl ClientThreads {
    /// A switch of any thread of the process; of one that runs after a wait, that wait.
    pub(crate) fn switch(&mut self, switch: &Switch) -> Option<Woken> {
        let time = switch.time.as_nanos();
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&switch.tid) {
            let speak: Vec<u32> = self.speakers().map(|(tid, _)| tid).collect();
            self.threads
                .retain(|tid, one| one.now != Together::Blocked || speak.contains(tid));
            if self.threads.len() >= MAX_THREADS {
                return None;
            }
        }
        self.ran = true;
        let member = self.threads.entry(switch.tid);
        let member = member.or_insert_with(|| Member::new(time));
        let before = (member.now, member.since);
        member.now = match switch.kind {
            SwitchKind::In => Together::Running,
            SwitchKind::Preempted => Together::Ready,
            SwitchKind::Blocked => Together::Blocked,
        };
        if switch.kind != SwitchKind::In {
            member.since = time;
            member.wait = None;
            return None;
        }
        let waited = before.0 == Together::Blocked;
        // Who waits for another thread or for time does not read what comes.
        let reads = |place: Place| !matches!(place.wait, Wait::Lock | Wait::Sleep | Wait::File);
        let may_read = waited && member.wait.is_none_or(reads);
        let came = self.unread.take_if(|_| may_read);
        if came.is_some() {
            self.reader = switch.tid;
        }
        let woken = self.by_reader(time, switch.tid);
        let alone = waited && self.active(time, switch.tid).next().is_none();
        // Who handed it on had waited for something outside.
        let polled = |other: &Member| other.polled.is_some_and(|at| at >= before.1);
        let relayed = self.active(time, switch.tid).any(polled);
        let sole = self.speakers().nth(1).is_none();
        let member = self.threads.get_mut(&switch.tid)?;
        if std::mem::take(&mut member.fed) && waited && woken {
            member.was_fed();
        }
        let busy = member.wait.filter(|place| {
            let known = matches!(place.wait, Wait::Poll | Wait::Sleep | Wait::File);
            sole && !known && !member.frequents(*place) && !alone && !relayed
        });
        if waited && member.wait.is_some_and(|place| place.wait == Wait::Poll) {
            member.polled = Some(time);
            member.polls |= !member.asked;
        }
        member.asked = false;
        let mut proved = false;
        if std::mem::take(&mut member.tried) && waited {
            let place = member.wait;
            let known = place.is_some_and(|place| member.proven(place));
            member.tried(woken);
            proved = !known && place.is_some_and(|place| member.proven(place));
        }
        if came.is_some_and(|came| time.saturating_sub(came) <= WOKEN_WITHIN) {
            member.reads += 1;
            self.reads += 1;
        }
        member.since = time;
        member.wait = None;
        self.age();
        waited.then_some(Woken {
            since: before.1,
            proved,
            busy: busy.map(|place| place.wait),
        })
    }

    /// Whether the thread that runs now was woken by what has come: it reads that, or runs next to who does.
    fn by_reader(&self, time: u64, tid: u32) -> bool {
        if tid == self.reader {
            // Who waits elsewhere has not read what is still to be read.
            return self.unread.is_none();
        }
        self.threads.get(&self.reader).is_some_and(|reader| {
            reader.now != Together::Blocked || time.saturating_sub(reader.since) <= WOKEN_WITHIN
        })
    }

    /// The other threads of the process that run, could run or have just run.
    fn active(&self, time: u64, tid: u32) -> impl Iterator<Item = &Member> {
        let others = self.threads.iter().filter(move |(other, _)| **other != tid);
        let members = others.map(|(_, member)| member);
        members.filter(move |member| match member.now {
            Together::Running | Together::Ready => true,
            Together::Blocked => time.saturating_sub(member.since) <= WOKEN_WITHIN,
            Together::Unknown => false,
        })
    }

    fn age(&mut self) {
        if self.reads >= LATEST {
            self.reads = 0;
            for member in self.threads.values_mut() {
                member.reads /= 2;
                self.reads += member.reads;
            }
        }
        if self.writes >= LATEST {
            self.writes = 0;
            for member in self.threads.values_mut() {
                member.writes /= 2;
                self.writes += member.writes;
            }
        }
    }

    /// It became known what a thread waits in since `since`, while the client `asks` for a reply or not.
    pub(crate) fn waits(&mut self, tid: u32, since: u64, place: Place, asks: bool) {
        if let Some(member) = self.threads.get_mut(&tid)
            && member.now == Together::Blocked
            && member.since == since
        {
            member.seen(place);
            member.waits |= place.wait != Wait::Sleep && !asks;
        }
    }

    /// Bytes came for the client, an event of a device or any event among them or not, while it `asks` for a
    /// reply or not.
    pub(crate) fn delivered(&mut self, time: u64, device: bool, events: bool, asks: bool) {
        self.unread = Some(time);
        self.asked(asks);
        if !events || asks {
            return;
        }
        for member in self.threads.values_mut() {
            let waits = member.now == Together::Blocked && member.wait.is_some();
            member.tried |= waits && device;
            member.fed |= waits;
        }
    }

    fn asked(&mut self, asks: bool) {
        for member in self.threads.values_mut() {
            member.asked |= asks && member.now == Together::Blocked;
        }
    }

    /// The relay has read something that the client wrote, a question among it or not.
    pub(crate) fn sent(&mut self, time: u64, asks: bool) {
        self.asked(asks);
        let mut now = self.threads.values().map(|member| member.now);
        let runs = now.any(|now| now == Together::Running || now == Together::Ready);
        self.taken += 1;
        self.unwritten += u64::from(!self.ran && !runs && !self.threads.is_empty());
        self.ran = false;
        let mut ran = self.threads.values_mut().filter(|member| {
            member.now == Together::Running
                || member.now != Together::Unknown
                    && time.saturating_sub(member.since) <= WRITTEN_WITHIN
        });
        // Of several it cannot be told which wrote.
        if let (Some(writer), None) = (ran.next(), ran.next()) {
            writer.writes += 1;
            self.writes += 1;
            self.age();
        }
    }

    /// Whether another process writes on the connection: almost nothing came while one of these threads ran.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.taken >= FEWEST && self.unwritten.saturating_mul(10) > self.taken.saturating_mul(9)
    }

    /// The threads that speak for the client; all, as long as nothing has told.
    fn speakers(&self) -> impl Iterator<Item = (u32, &Member)> {
        let speaks = |member: &Member| {
            let share = |of: u32, all: u32| of > 0 && of.saturating_mul(SHARE) >= all;
            self.reads + self.writes == 0
                || share(member.reads, self.reads)
                || share(member.writes, self.writes)
        };
        let all = self.threads.iter().map(|(tid, member)| (*tid, member));
        all.filter(move |(_, member)| speaks(member))
    }

    /// What they do together.
    pub(crate) fn together(&self) -> Together {
        let mut together = Together::Unknown;
        for (_, member) in self.speakers() {
            together = match (together, member.now) {
                (_, Together::Running) => return Together::Running,
                (_, Together::Ready) | (Together::Ready, _) => Together::Ready,
                (_, Together::Blocked) => Together::Blocked,
                (before, Together::Unknown) => before,
            };
        }
        together
    }

    /// What they wait for, where all wait: those that ran since `begun`. The others have no part in what was
    /// begun with then.
    pub(crate) fn joint(&self, begun: u64) -> Joint {
        let sole = self.speakers().nth(1).is_none();
        let mut joint = Joint {
            wait: Some(Wait::Poll),
            unsure: false,
        };
        for (_, member) in self.speakers() {
            if member.since < begun {
                continue;
            }
            let one = member.joint(sole);
            match one.wait {
                Some(Wait::Poll) => joint.unsure |= one.unsure,
                Some(_) => return one,
                None => joint.wait = None,
            }
        }
        joint
    }
}
