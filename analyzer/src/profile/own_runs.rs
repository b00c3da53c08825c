//! When the server ran though nobody had sent it anything: what it does of its own accord, for a
//! viewer, a compositor or a timer. The context switches tell when it ran, the recorded bytes what
//! for. What such a run takes depends on what the pixels are, which no model of requests knows.

use std::collections::VecDeque;

use x11prof_cost_model::Micros;
use x11prof_trace::{Switch, SwitchKind, Timestamp};

/// What was read off a client's socket so shortly before a run ended may be heard by the next one only:
/// the recorder's way to the server. What came before a run began is heard by it.
const ON_THE_WAY: u64 = 200_000;
/// Runs, and arrivals, that are kept until it is known which belong together. A run for which one of
/// them is gone is no own one.
const MOST: usize = 1 << 14;

/// The server ran, from a wakeup until it waited again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ran {
    /// When it was woken.
    pub(super) from: Timestamp,
    /// When it waited again.
    pub(super) to: Timestamp,
    /// Whether it was woken by nothing that had been sent to it.
    pub(super) own: bool,
    /// For how long it was on a processor.
    pub(super) took: Micros,
    /// The prices of what it had been sent.
    pub(super) priced: Micros,
}

impl Ran {
    /// For how long it was on a processor beyond the prices: nothing where they are higher.
    pub(super) fn beyond(&self) -> Micros {
        Micros((self.took - self.priced).0.max(0.0))
    }
}

/// A run of the server's, for whomever.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Until when all that came had been heard before; `None` where it was not seen to wait before, as a
    /// server that has been busy since the recording began.
    heard: Option<u64>,
    from: u64,
    /// When it waited again; `None` while it runs.
    to: Option<u64>,
    /// Since when it is on a processor; `None` while it is preempted.
    on_since: Option<u64>,
    nanos: u64,
}

/// Tells the server's own runs from those for its clients. Of a server of several threads it is the
/// first that counts: the one that speaks with clients.
#[derive(Debug)]
pub(super) struct OwnRuns {
    server: u32,
    /// Its runs, the last of which may go on.
    runs: VecDeque<Run>,
    /// Until when all that came was heard by the end of the last that is over.
    heard: Option<u64>,
    /// When something came for the server, and what it is priced at.
    came: VecDeque<(u64, Micros)>,
    /// Until when what came may have been forgotten.
    forgotten: u64,
}

impl OwnRuns {
    /// Those of this process.
    pub(super) fn of(server: u32) -> OwnRuns {
        OwnRuns {
            server,
            runs: VecDeque::new(),
            heard: None,
            came: VecDeque::new(),
            forgotten: 0,
        }
    }

    /// Takes context switches: those of the time for which `before` will be asked, at least.
    pub(super) fn observe(&mut self, switches: &[Switch]) {
        let first = |it: &&Switch| it.pid == self.server && it.tid == it.pid;
        for switch in switches.iter().filter(first) {
            let time = switch.time.as_nanos();
            let awake = self.runs.back_mut().filter(|run| run.to.is_none());
            match (switch.kind, awake) {
                (SwitchKind::In, Some(run)) => {
                    run.on_since.get_or_insert(time);
                }
                (SwitchKind::In, None) => {
                    if self.runs.len() == MOST {
                        self.runs.pop_front();
                    }
                    self.runs.push_back(Run {
                        heard: self.heard,
                        from: time,
                        to: None,
                        on_since: Some(time),
                        nanos: 0,
                    });
                }
                (kind, awake) => {
                    let blocked = kind == SwitchKind::Blocked;
                    let mut heard = time.saturating_sub(ON_THE_WAY);
                    if let Some(run) = awake {
                        let since = run.on_since.take().unwrap_or(time);
                        run.nanos += time.saturating_sub(since);
                        run.to = blocked.then_some(time);
                        heard = heard.max(run.from);
                    }
                    if blocked {
                        self.heard = Some(heard);
                    }
                }
            }
        }
    }

    /// Something comes for the server: bytes of a client, a client, or a client's end. Since when the server
    /// is in a run of its own, if it is, and thus awake.
    pub(super) fn comes(&mut self, time: Timestamp) -> Option<Timestamp> {
        let time = time.as_nanos();
        if self.came.len() == MOST
            && let Some((gone, _)) = self.came.pop_front()
        {
            self.forgotten = gone;
        }
        let begun = self.runs.front().filter(|run| run.from <= time);
        let own = begun.filter(|run| self.is_own(run));
        let since = own.map(|run| Timestamp::from_nanos(run.from));
        self.came.push_back((time, Micros(0.0)));
        since
    }

    /// What came last costs so much more.
    pub(super) fn costs(&mut self, time: Micros) {
        if let Some((_, price)) = self.came.back_mut() {
            *price += time;
        }
    }

    /// The next of its runs that ended before `time`. All that came until then is to have been told.
    pub(super) fn before(&mut self, time: Timestamp) -> Option<Ran> {
        let over = |run: &mut Run| run.to.is_some_and(|to| to < time.as_nanos());
        let run = self.runs.pop_front_if(over)?;
        let own = self.is_own(&run);
        let to = run.to.unwrap_or(run.from);
        let mut priced = Micros(0.0);
        let heard = run.from.max(to.saturating_sub(ON_THE_WAY));
        self.came.retain_mut(|(at, price)| {
            if *at <= to {
                priced += std::mem::take(price);
            }
            *at > heard
        });
        Some(Ran {
            from: Timestamp::from_nanos(run.from),
            to: Timestamp::from_nanos(to),
            own,
            took: Micros::from_nanos(run.nanos as f64),
            priced,
        })
    }

    /// When the recorded server had done all that came by now, and waited; `None` where that is not known,
    /// or it runs on.
    pub(super) fn done(&self) -> Option<Timestamp> {
        let run = self.runs.front()?;
        run.to.map(Timestamp::from_nanos)
    }

    /// For how long, at least, it runs on end where it runs for a client at `time`.
    pub(super) fn busy(&self, time: Timestamp) -> Option<Micros> {
        let time = time.as_nanos();
        let run = self.runs.front().filter(|run| run.from <= time)?;
        let nanos = run.to.unwrap_or(time).saturating_sub(run.from);
        (!self.is_own(run)).then(|| Micros::from_nanos(nanos as f64))
    }

    /// Whether nothing had come for a run before it began, as far as is known.
    fn is_own(&self, run: &Run) -> bool {
        let came_since = |heard| {
            let came = self.came.iter().take_while(|(at, _)| *at <= run.from);
            came.into_iter().any(|(at, _)| *at > heard)
        };
        run.heard
            .is_some_and(|heard| self.forgotten <= heard && !came_since(heard))
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_trace::{Switch, SwitchKind, Timestamp};

    use super::{MOST, OwnRuns};

    const SERVER: u32 = 7;

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    /// The server's switches: when it began to run, and when it waited; the first run is over.
    fn with(all: &[(u64, u64)]) -> OwnRuns {
        let mut own = OwnRuns::of(SERVER);
        for &(from, to) in all {
            own.observe(&[
                switch(from, SwitchKind::In),
                switch(to, SwitchKind::Blocked),
            ]);
        }
        own.runs.pop_front();
        own
    }

    fn switch(micros: u64, kind: SwitchKind) -> Switch {
        Switch {
            time: at(micros),
            pid: SERVER,
            tid: SERVER,
            cpu: 1,
            kind,
        }
    }

    /// The next run: when it began, whether it was an own one, and its time beyond.
    fn next(runs: &mut OwnRuns, before: u64) -> Option<(u64, bool, f64)> {
        let ran = runs.before(at(before))?;
        Some((ran.from.as_nanos() / 1000, ran.own, ran.beyond().0))
    }

    #[test]
    fn a_run_for_nobody_is_its_own() {
        let mut runs = with(&[(0, 10), (5000, 5050), (9000, 9400), (12_000, 12_100)]);
        assert_eq!(next(&mut runs, 4000), None);
        assert_eq!(runs.comes(at(4900)), None);
        runs.costs(Micros(30.0));
        // The first one is for what came before it; the others are not.
        assert_eq!(next(&mut runs, 20_000), Some((5000, false, 20.0)));
        assert_eq!(next(&mut runs, 20_000), Some((9000, true, 400.0)));
        assert_eq!(runs.done(), Some(at(12_100)));
        assert_eq!(next(&mut runs, 20_000), Some((12_000, true, 100.0)));
        assert_eq!(next(&mut runs, 20_000), None);
    }

    #[test]
    fn what_comes_meanwhile_is_taken_off() {
        let mut runs = with(&[(0, 10), (5000, 9000), (9100, 9150), (12_000, 12_005)]);
        assert_eq!(runs.comes(at(6000)), Some(at(5000)));
        runs.costs(Micros(30.0));
        assert_eq!(runs.comes(at(8950)), Some(at(5000)));
        assert_eq!(runs.busy(at(8950)), None);
        runs.costs(Micros(20.0));
        assert_eq!(next(&mut runs, 10_000), Some((5000, true, 3950.0)));
        // What came last may have been on its way still: the next run may be for it.
        assert_eq!(next(&mut runs, 20_000), Some((9100, false, 50.0)));
        assert_eq!(next(&mut runs, 20_000), Some((12_000, true, 5.0)));
        assert_eq!(runs.busy(at(13_000)), None);
    }

    #[test]
    fn a_client_keeps_it_busy() {
        let mut runs = with(&[(0, 10), (5000, 9000)]);
        runs.comes(at(4900));
        assert_eq!(runs.busy(at(4990)), None);
        runs.comes(at(6000));
        assert_eq!(runs.busy(at(6000)), Some(Micros(4000.0)));
    }

    #[test]
    fn one_that_never_waited_runs_for_its_clients() {
        let mut runs = OwnRuns::of(SERVER);
        runs.comes(at(10));
        runs.observe(&[
            switch(20, SwitchKind::In),
            switch(90, SwitchKind::Preempted),
        ]);
        assert_eq!(runs.busy(at(9020)), Some(Micros(9000.0)));
        runs.observe(&[
            switch(9100, SwitchKind::In),
            switch(9200, SwitchKind::Blocked),
        ]);
        runs.costs(Micros(50.0));
        assert_eq!(next(&mut runs, 10_000), Some((20, false, 120.0)));
    }

    #[test]
    fn preempted_it_does_not_run() {
        use SwitchKind::{Blocked, In, Preempted};
        let mut runs = OwnRuns::of(SERVER);
        let all = [
            (0, Blocked),
            (5000, In),
            (5100, Preempted),
            (5400, In),
            (5500, Blocked),
        ];
        runs.observe(&all.map(|(time, kind)| switch(time, kind)));
        assert_eq!(next(&mut runs, 9000), Some((5000, true, 200.0)));
    }

    #[test]
    fn what_is_forgotten_may_have_been_for_a_client() {
        let mut runs = with(&[(0, 10), (5000, 5050)]);
        for _ in 0..=MOST {
            runs.comes(at(4900));
        }
        assert_eq!(next(&mut runs, 9000), Some((5000, false, 50.0)));
    }
}
