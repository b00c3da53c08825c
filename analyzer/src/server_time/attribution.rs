//! Attributes the CPU time of each run of the recorded server to the work in it, in proportion to estimated costs.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_cost_model::Micros;
use x11prof_protocol::SequenceNumber;
use x11prof_trace::{ConnectionId, HandlerTime, Timestamp};

use super::fit::{AttributionKey, Fit, WINDOW};
use crate::server_time::server_runs::{INTERRUPTED, Runs};
use crate::server_time::share::{Rate, Share};
use crate::threads::delays::HANDED_ON_WITHIN;
use crate::threads::thread_states::Step;

/// With RECORD, the server reports its work while it runs. The recorder may read the report up to this many nanoseconds
/// after the run.
const TOLD_LATE: u64 = 2_000_000;
/// Maximum number of work items that wait for their run; equal items count as one. Beyond the limit, all waiting work
/// is attributed to the next run.
const WAITING_LIMIT: usize = 1 << 16;
/// The number of latest waiting items that are searched for an equal item of the same time. Each request has only a few
/// charges.
const ALIKE: usize = 4;

/// The source of the server's CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Source {
    /// The trace has no server time.
    #[default]
    None,
    /// The context switches of the server, scaled to its CPU clock.
    Switches,
    /// Only the server's CPU clock: all its time is attributed as one run.
    Clock,
}

/// Evidence in the trace that the server ran for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The server received a message from the client.
    In,
    /// The server sent a reply or an error, or updated its screen.
    CompletedRequest,
    /// The server sent an event to the client.
    Event,
}

/// The client and sequence number of a request that has a reply; identifies also the reply.
pub(crate) type RequestId = (ConnectionId, SequenceNumber);

/// Work that the server ran for. `K` is the key that its time is attributed to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Work<K> {
    /// The time at which the recorder saw the work, in nanoseconds of the trace.
    pub(crate) at: u64,
    pub(crate) came: Evidence,
    /// The key of the work; `None` for the beginning of a long request, whose kind is not known yet.
    pub(crate) key: Option<K>,
    /// `None` if there is no cost data.
    pub(crate) cost: Option<Micros>,
    /// The request, if it has a reply, or the request that this reply belongs to; `None` for other work.
    pub(crate) question: Option<RequestId>,
}

/// A request, or several equal ones in a row, whose handler time has not been reported yet.
#[derive(Debug)]
struct TimedWork<K> {
    /// The sequence number of the first request.
    first: SequenceNumber,
    /// The number of requests whose handler time has not been reported yet.
    waits: u64,
    key: K,
    cost: Option<Micros>,
}

/// Runs of the server that no recorded client caused.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnattributedRuns {
    /// The number of runs of the server.
    pub(crate) runs: u64,
    /// The CPU time of the server's runs that no recorded client caused.
    pub(crate) share: Share,
}

/// Attributes the runs of a server to keys.
#[derive(Debug)]
pub(crate) struct Attribution<K> {
    source: Source,
    /// True if the server itself reports its work (docs/FORMAT.md, "Attached").
    reported: bool,
    runs: Runs,
    /// Work that belongs to no run yet, by time. Equal items of the same time are stored once with a count.
    waiting: VecDeque<(Work<K>, u64)>,
    /// The estimated cost of the work that certainly belongs to the first run, by key.
    sure: FxHashMap<K, f64>,
    /// The estimated cost of the work of the previous run, by key.
    last: FxHashMap<K, f64>,
    /// Runs that wait for their attribution.
    fit: Fit<K>,
    /// The latest request with a reply of each client, and whether the reply has been sent.
    questions: FxHashMap<ConnectionId, (SequenceNumber, bool)>,
    /// True if a reply was pending when the first run began. In this case, the server had waited for a disk or another
    /// server before the run, not for clients.
    owes: bool,
    /// The work that woke the server.
    woken_by: Option<K>,
    /// True if a message arrived for the run.
    called: bool,
    /// The time of runs in which only a part of a message had arrived.
    carried: Share,
    unattributed: UnattributedRuns,
    /// True if the server reports the times of its handlers.
    timed: bool,
    /// The requests of each client that wait for their handlers' times, and the last request whose time was reported:
    /// the server may put a client to sleep and handle the request again.
    expected: FxHashMap<ConnectionId, VecDeque<TimedWork<K>>>,
    /// Handlers whose runs have not ended, by time, each with the nanoseconds attributed to earlier runs.
    handled: VecDeque<(HandlerTime, u64)>,
    /// The beginning of the analyzed part, in nanoseconds. Handler time before it is ignored.
    handled_from: u64,
    /// The end of the analyzed part, in nanoseconds. Later handlers, and the rest of handlers that continue, are
    /// ignored.
    handled_until: u64,
    /// True after the end of the trace.
    over: bool,
    /// Handler time that exceeds its runs.
    overdrawn: Micros,
    /// The shares of timed requests that have not been credited yet.
    matched: Vec<(K, Share)>,
    /// The sum of all costs and their number. Work without cost data counts as the mean.
    known_costs: (f64, u64),
}

impl<K: AttributionKey> Attribution<K> {
    /// Creates an attribution of the runs of the server with this process id.
    pub(crate) fn of(server: u32) -> Attribution<K> {
        Attribution {
            source: Source::None,
            reported: false,
            runs: Runs::of(server),
            waiting: VecDeque::new(),
            sure: FxHashMap::default(),
            last: FxHashMap::default(),
            fit: Fit::new(),
            questions: FxHashMap::default(),
            owes: false,
            woken_by: None,
            called: false,
            carried: Share::default(),
            unattributed: UnattributedRuns::default(),
            timed: false,
            expected: FxHashMap::default(),
            handled: VecDeque::new(),
            handled_from: 0,
            handled_until: u64::MAX,
            over: false,
            overdrawn: Micros::ZERO,
            matched: Vec::new(),
            known_costs: (0.0, 0),
        }
    }

    pub(crate) fn server(&self) -> u32 {
        self.runs.server()
    }

    pub(crate) fn source(&self) -> Source {
        self.source
    }

    /// Notes that the recorder captures the server's context switches (`switches` is true), or only its CPU clock.
    pub(crate) fn captured(&mut self, switches: bool) {
        self.source = match switches {
            true => Source::Switches,
            false => Source::Clock,
        };
    }

    /// Notes that the server itself reports its work.
    pub(crate) fn reported_by_server(&mut self) {
        self.reported = true;
    }

    /// Notes that the server reports the times of its request handlers.
    pub(crate) fn time_handlers(&mut self) {
        self.timed = true;
    }

    /// True if the server reports the times of its request handlers.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// Adds times of request handlers that the server reported.
    pub(crate) fn handled(&mut self, times: &[HandlerTime]) {
        if self.timed {
            let from = self.handled_from;
            let of_part = times.iter().filter_map(|time| since(*time, from));
            self.handled.extend(of_part.map(|time| (time, 0)));
        }
    }

    /// Adds a request whose handler time follows, or `times` equal requests from `first` on.
    pub(crate) fn timed_request(&mut self, work: Work<K>, first: RequestId, times: u64) {
        if let Some(key) = work.key {
            let expected = self.expected.entry(first.0).or_default();
            if expected.len() >= WAITING_LIMIT {
                expected.pop_front();
            }
            expected.push_back(TimedWork {
                first: first.1,
                waits: times,
                key,
                cost: work.cost,
            });
        }
        // The request still counts as evidence for a run.
        let work = Work {
            key: None,
            cost: None,
            ..work
        };
        self.work(work, times);
    }

    /// Credits `count` requests from `sequence` on with the time of their handlers: its start and its nanoseconds.
    /// Earlier requests of the client without a handler time get their estimated cost.
    pub(crate) fn handled_request(
        &mut self,
        (client, sequence): RequestId,
        count: u64,
        (start, nanos): (Timestamp, f64),
    ) {
        if !self.timed {
            return;
        }
        let share = self.of_part(start.as_nanos(), nanos);
        let Some(expected) = self.expected.get_mut(&client) else {
            self.unattributed.share += share;
            return;
        };
        while expected.get(1).is_some_and(|next| next.first <= sequence)
            && let Some(lost) = expected.pop_front()
        {
            if lost.waits > 0 {
                let cost = lost
                    .cost
                    .map_or_else(|| usual(self.known_costs), |cost| cost.0);
                *self.sure.entry(lost.key).or_default() += cost * lost.waits as f64;
            }
        }
        match expected.front_mut() {
            Some(timed) if timed.first == sequence => {
                timed.waits = timed.waits.saturating_sub(count);
                self.matched.push((timed.key, share));
            }
            _ => self.unattributed.share += share,
        }
    }

    /// Notes that the server handled requests that are not in the trace: the start, and the nanoseconds.
    pub(crate) fn handled_unrecorded(&mut self, start: Timestamp, nanos: f64) {
        if self.timed {
            self.unattributed.share += self.of_part(start.as_nanos(), nanos);
        }
    }

    /// The part of a handler's CPU time that lies within the analyzed part.
    fn of_part(&self, start: u64, nanos: f64) -> Share {
        let before = self.handled_from.saturating_sub(start) as f64;
        let is_short = nanos <= INTERRUPTED as f64;
        if start >= self.handled_until || before > 0.0 && is_short {
            return Share::default();
        }
        let until = match self.handled_until {
            until if !is_short && until != u64::MAX => {
                nanos.min(self.runs.ran_between(start, until) as f64)
            }
            _ => nanos,
        };
        of_nanos((until - before).max(0.0))
    }

    /// Removes the handlers that began before `until`, the end of a run, and returns their CPU time in the run. A
    /// handler that waits, for example for a disk, continues in the next run.
    fn handlers(&mut self, until: u64) -> Micros {
        let mut sum = 0;
        while let Some((time, earlier)) = self.handled.front_mut() {
            let (start, took) = (time.start.as_nanos(), time.took_ns);
            if start >= until.min(self.handled_until) {
                break;
            }
            let end = start.saturating_add(took).min(self.handled_until);
            let may_wait = self.source == Source::Switches && took > INTERRUPTED;
            let so_far = match may_wait {
                true => took.min(self.runs.ran_between(start, end.min(until))),
                false => took,
            };
            sum = so_far.saturating_sub(*earlier).saturating_add(sum);
            if may_wait && end > until {
                *earlier = so_far;
                break;
            }
            self.handled.pop_front();
        }
        Micros::from_nanos(sum as f64)
    }

    /// The share of a run that ended at `to`, without its handlers. The server reports a handler that waits long after
    /// the handler's first runs were attributed; later runs compensate for the difference.
    fn without_handlers(&mut self, share: Share, to: u64) -> Share {
        let took = self.handlers(to) + self.overdrawn;
        self.overdrawn = Micros((took - share.time).0.max(0.0));
        share.less(took)
    }

    /// Corrects handler times that exceed the last run, which no later run can compensate: the handlers used less CPU
    /// time than they reported. The last handlers are reduced first, each by the same factor. The rate distributes the
    /// rest over all shares.
    fn pay_back(&mut self) {
        let sum: f64 = self.matched.iter().map(|(_, share)| share.time.0).sum();
        let owed = self.overdrawn.0.min(sum);
        self.overdrawn = Micros(self.overdrawn.0 - owed);
        if owed > 0.0 {
            let left = (sum - owed) / sum;
            let all = self.matched.iter_mut();
            all.for_each(|(_, share)| share.time = share.time * left);
        }
    }

    /// The maximum time in nanoseconds after the end of a run at which its work is seen.
    fn late(&self) -> u64 {
        if self.reported {
            TOLD_LATE
        } else {
            HANDED_ON_WITHIN
        }
    }

    /// Notes a reading of the server's CPU clock: its time and its value, both in nanoseconds.
    pub(crate) fn clock(&mut self, at: u64, clock: u64) {
        self.runs.clock(at, clock);
    }

    /// Adds changes of threads' states. All changes up to the time of a `settle` must be added before it.
    pub(crate) fn steps(&mut self, steps: &[Step]) {
        steps.iter().for_each(|step| self.runs.step(step));
    }

    /// Adds `times` equal items of work that the server ran for.
    pub(crate) fn work(&mut self, work: Work<K>, times: u64) {
        if let Some(cost) = work.cost {
            self.known_costs.0 += cost.0 * times as f64;
            self.known_costs.1 += times;
        }
        self.wait(work, times);
        if self.source == Source::Clock || self.waiting.len() > WAITING_LIMIT {
            while let Some((work, times)) = self.next_if(|_| true) {
                self.take(work, times);
            }
        }
    }

    /// Queues `work` by time; it may be earlier than the last queued work. Equal work is queued once, with a count.
    fn wait(&mut self, work: Work<K>, times: u64) {
        if work.question.is_none() {
            for back in 1..=ALIKE.min(self.waiting.len()) {
                let at = self.waiting.len() - back;
                let (earlier, waits) = &mut self.waiting[at];
                if earlier.at != work.at {
                    break;
                }
                // Costs differ for most work, and comparing them is fastest.
                if earlier.cost == work.cost && *earlier == work {
                    *waits += times;
                    return;
                }
            }
        }
        match self.waiting.back() {
            Some((last, _)) if last.at > work.at => {
                let place = self
                    .waiting
                    .partition_point(|(earlier, _)| earlier.at <= work.at);
                self.waiting.insert(place, (work, times));
            }
            _ => self.waiting.push_back((work, times)),
        }
    }

    /// Removes and returns the earliest waiting work and its count if it satisfies `asked`.
    fn next_if(&mut self, asked: impl Fn(&Work<K>) -> bool) -> Option<(Work<K>, u64)> {
        self.waiting.pop_front_if(|(work, _)| asked(work))
    }

    /// Drops the pending requests of a disconnected client.
    pub(crate) fn gone(&mut self, client: ConnectionId) {
        self.questions.remove(&client);
        let mut expected = self.expected.get(&client).into_iter().flatten();
        if expected.all(|one| one.waits == 0) {
            self.expected.remove(&client);
        }
    }

    /// Corrects the cost of the last work of `key` by this difference.
    pub(crate) fn corrected(&mut self, key: K, cost: Micros) {
        *self.sure.entry(key).or_default() += cost.0;
    }

    /// Attributes the runs that had ended by `now` (nanoseconds), and passes the shares to `credit`. All work up to
    /// then must have been added. `wakeup` returns the cost of a wakeup after a sleep of the given nanoseconds, and
    /// `woken` the key of a wakeup by the given work.
    pub(crate) fn settle(
        &mut self,
        now: u64,
        wakeup: impl Fn(Option<u64>) -> Micros,
        woken: impl Fn(Option<K>) -> K,
        mut credit: impl FnMut(K, Share),
    ) {
        if self.source != Source::Switches {
            self.handlers(now);
            hand_out(&mut self.matched, &mut credit);
            if self.source == Source::Clock {
                // Costs substitute for times here: the rate scales their sum to the clock's time.
                for (key, cost) in self.sure.drain() {
                    credit(key, of_costs(cost));
                }
            }
            return;
        }
        while let Some((run, next)) = self.runs.front() {
            let (run, next) = (*run, next);
            let over = run.to.filter(|to| to.saturating_add(self.late()) < now);
            // Work that arrived before the run began, or well before it ended, certainly belongs to the run.
            let end = run.to.unwrap_or(now).min(now);
            let sure = run.from.max(end.saturating_sub(HANDED_ON_WITHIN));
            while let Some((work, times)) = self.next_if(|work| work.at <= sure) {
                self.take(work, times);
            }
            let Some(to) = over else { return };
            self.take_last(to, next);
            let share = self.without_handlers(run.share(), to);
            if self.over && next.is_none() {
                self.pay_back();
            }
            hand_out(&mut self.matched, &mut credit);
            self.divide(share, wakeup(run.slept), &woken);
            if self.fit.is_full() {
                self.fit.divide(&mut credit);
            }
            self.runs.pop();
            self.owes = self.questions.values().any(|(_, answered)| !answered);
        }
    }

    /// Adds the work that arrived shortly before the run ended to the run, if it belongs to it: other work explains the
    /// next run.
    fn take_last(&mut self, to: u64, next: Option<u64>) {
        let soon = next.filter(|next| next.saturating_sub(to) <= HANDED_ON_WITHIN);
        let explained = soon.is_some_and(|next| {
            let waiting = self.waiting.iter().map(|(work, _)| work);
            let mut soon = waiting.take_while(|work| work.at <= next);
            soon.any(|work| work.at > to && work.came == Evidence::In)
        });
        let keep_in = soon.is_some() && !explained && self.called;
        let until = next.unwrap_or(u64::MAX).min(to.saturating_add(self.late()));
        let mut kept = VecDeque::new();
        while let Some((work, times)) = self.next_if(|work| work.at <= until) {
            let own = match work.came {
                Evidence::In => self.reported || work.at <= to && !keep_in,
                Evidence::CompletedRequest | Evidence::Event => true,
            };
            if own {
                self.take(work, times);
            } else {
                kept.push_back((work, times));
            }
        }
        for (work, times) in kept.into_iter().rev() {
            self.waiting.push_front((work, times));
        }
    }

    fn take(&mut self, work: Work<K>, times: u64) {
        self.called |= work.came != Evidence::CompletedRequest;
        if let Some((client, sequence)) = work.question {
            let (last, answered) = self.questions.entry(client).or_default();
            if work.came == Evidence::In {
                (*last, *answered) = (sequence, false);
            } else {
                *answered |= *last <= sequence;
            }
        }
        let Some(key) = work.key else { return };
        if work.came == Evidence::In {
            self.woken_by.get_or_insert(key);
        }
        let cost = work
            .cost
            .map_or_else(|| usual(self.known_costs), |cost| cost.0);
        let is_kept = self.sure.len() < WINDOW || self.sure.contains_key(&key);
        let key = if is_kept { key } else { key.kind() };
        *self.sure.entry(key).or_default() += cost * times as f64;
    }

    fn divide(&mut self, share: Share, wakeup: Micros, woken: &impl Fn(Option<K>) -> K) {
        let by = self.woken_by.take();
        let called = std::mem::take(&mut self.called);
        if !called && self.owes {
            // The server continues the work of the previous run.
            for (key, cost) in self.sure.drain() {
                *self.last.entry(key).or_default() += cost;
            }
        } else if called {
            std::mem::swap(&mut self.sure, &mut self.last);
            self.sure.clear();
        } else {
            // If there are only replies, the previous run wrote them.
            self.sure.clear();
            self.unattributed.runs += 1;
            self.unattributed.share += share;
            return;
        }
        self.last.retain(|_, cost| *cost > 0.0);
        let share = share + std::mem::take(&mut self.carried);
        if self.last.is_empty() {
            self.carried = share;
            return;
        }
        let woken = called.then(|| (woken(by), wakeup.0));
        let parts = self.last.iter().map(|(key, cost)| (*key, *cost));
        self.fit.run(share, parts.chain(woken));
    }

    /// Attributes all runs that are not attributed yet, and passes the shares to `credit`. Called for a report, and at
    /// the end.
    pub(crate) fn finish(&mut self, mut credit: impl FnMut(K, Share)) {
        hand_out(&mut self.matched, &mut credit);
        self.fit.divide(&mut credit);
    }

    /// Returns the shares of the runs that are not yet attributed, if they were attributed now.
    pub(crate) fn pending(&self) -> Vec<(K, Share)> {
        let mut pending = Vec::new();
        self.fit
            .clone()
            .divide(&mut |key, share| pending.push((key, share)));
        pending
    }

    /// Ends the trace or the analyzed part, and the current run. Server work since its last switch or clock reading is
    /// unknown, or belongs to the next part.
    pub(crate) fn end(&mut self) {
        self.runs.end();
        if self.source == Source::Switches {
            self.handled_until = self.handled_until.min(self.runs.reported_until());
        }
        self.over = true;
    }

    /// Ends the analyzed part. Later data only affects the rate.
    pub(crate) fn stop(&mut self) {
        self.handled_until = self.handled_until.min(self.runs.reported_until());
        self.runs.stop();
    }

    /// The runs of the server's first thread that no recorded client caused, or for which no complete message ever
    /// arrived.
    pub(crate) fn unattributed(&self) -> UnattributedRuns {
        let share = self.unattributed.share + self.carried;
        UnattributedRuns {
            share,
            ..self.unattributed
        }
    }

    /// The CPU time of the server's other threads.
    pub(crate) fn threads(&self) -> Share {
        self.runs.others()
    }

    /// Returns the server's CPU time in microseconds, first by context switches, then by its clock; `None` if the two
    /// agree.
    pub(crate) fn doubt(&self) -> Option<(Micros, Micros)> {
        self.runs
            .doubt()
            .filter(|_| self.source == Source::Switches)
    }

    /// Returns the part of the credited shares that the server's runs covered, from 0 to 1.
    fn paid(&self, credited: Share) -> f64 {
        match self.over && credited.time.0 > 0.0 {
            true => (1.0 - self.overdrawn.0 / credited.time.0).max(0.0),
            false => 1.0,
        }
    }

    /// The factor from shares to the kernel's CPU time; `credited` is the sum of all credited shares. `None` without
    /// context switches and clock readings.
    pub(crate) fn rate(&self, credited: Share) -> Option<Rate> {
        let timed = self.is_timed();
        let rate = match self.source {
            Source::Switches => {
                let rate = self.runs.rate().unwrap_or(Rate::PLAIN);
                let scale = rate.scale * self.paid(credited);
                Some(Rate { scale, ..rate })
            }
            Source::Clock if credited.time.0 > 0.0 => {
                let clock = self.runs.clocked()?;
                Some(Rate {
                    scale: clock.0 / credited.time.0,
                    ..Rate::PLAIN
                })
            }
            _ => None,
        };
        rate.map(|rate| Rate { timed, ..rate })
    }

    /// Resets all counts and times.
    pub(crate) fn start_afresh(&mut self) {
        self.runs.start_afresh();
        // Runs that still wait belong to the time before the reset.
        self.fit.divide(&mut |_, _| {});
        self.waiting.clear();
        // The rest of a handler that continues belongs to the new part.
        let from = self.runs.reported_until();
        self.handled_from = from;
        let waiting = self.handled.drain(..);
        let rest = waiting.filter_map(|(time, _)| Some((since(time, from)?, 0)));
        self.handled = rest.collect();
        self.overdrawn = Micros::ZERO;
        self.matched.clear();
        self.sure.clear();
        self.unattributed = UnattributedRuns::default();
        self.carried = Share::default();
    }
}

/// Returns the part of a handler's time after `from` (nanoseconds); `None` if nothing remains. A short handler counts
/// completely at its beginning.
fn since(time: HandlerTime, from: u64) -> Option<HandlerTime> {
    let before = from.saturating_sub(time.start.as_nanos());
    match before {
        0 => Some(time),
        _ if time.took_ns <= before.max(INTERRUPTED) => None,
        _ => Some(HandlerTime {
            start: Timestamp::from_nanos(from),
            took_ns: time.took_ns - before,
            ..time
        }),
    }
}

/// The mean cost in microseconds, or 1 if there is no cost yet.
fn usual((sum, count): (f64, u64)) -> f64 {
    if sum > 0.0 { sum / count as f64 } else { 1.0 }
}

fn hand_out<K>(matched: &mut Vec<(K, Share)>, credit: &mut impl FnMut(K, Share)) {
    for (key, share) in matched.drain(..) {
        credit(key, share);
    }
}

fn of_nanos(nanos: f64) -> Share {
    Share {
        time: Micros::from_nanos(nanos),
        stretches: 0.0,
    }
}

fn of_costs(cost: f64) -> Share {
    Share {
        time: Micros(cost.max(0.0)),
        stretches: 0.0,
    }
}

#[cfg(test)]
mod tests;
