//! What a server does later for what was drawn on its screen: by the model of its pictures, and where
//! the recorded server is the one that is priced, by what it did of its own accord.

use x11prof_cost_model::{Deferred, Host, Micros, ServerIdentity, ServerParameters, is_same};
use x11prof_session::Change;
use x11prof_trace::{ConnectionId, Control, Switch, Timestamp};

use super::deferred::{Made, Pictures, Updates};
use super::own_runs::OwnRuns;
use crate::recorded::{recorded_host, recorded_server};

/// The later work of one server.
#[derive(Debug)]
pub(super) struct Later {
    pictures: Pictures,
    /// The runs of the recorded server, where it is this one.
    runs: Option<OwnRuns>,
    /// Whose prices these are, and the machine.
    priced: (ServerIdentity, Host),
    /// The machine of the recording.
    host: Host,
}

/// Work that the recording shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own {
    pub(super) from: Timestamp,
    pub(super) time: Micros,
}

impl Later {
    /// The work of the server that `parameters` describe.
    pub(super) fn new(parameters: &ServerParameters, costs: Deferred) -> Later {
        Later {
            pictures: Pictures::new(costs),
            runs: None,
            priced: (parameters.server.clone(), parameters.host.clone()),
            host: Host::default(),
        }
    }

    /// Takes what is not on the wire: which server is recorded, and where.
    pub(super) fn control(&mut self, control: &Control) {
        match control {
            Control::Started(started) => self.host = recorded_host(started),
            Control::Server(server) => {
                let (known, host) = &self.priced;
                let is_it = is_same((known, host), (&recorded_server(server), &self.host));
                // What is done before the server waits has no run of its own.
                let told = is_it && self.pictures.wait();
                self.runs = server.pid.filter(|_| told).map(OwnRuns::of);
            }
            _ => {}
        }
    }

    /// Takes context switches.
    pub(super) fn switches(&mut self, switches: &[Switch]) {
        if let Some(runs) = &mut self.runs {
            runs.observe(switches);
        }
    }

    /// What is seen of its own runs; `None` where they are not looked for.
    pub(super) fn seen(&self) -> Option<Updates> {
        self.runs.as_ref().map(|_| self.pictures.seen())
    }

    /// The next work of its own that was over before `time`.
    pub(super) fn own(&mut self, time: Timestamp, at: impl Fn(Timestamp) -> Micros) -> Option<Own> {
        let runs = self.runs.as_mut()?;
        while let Some(run) = runs.before(time) {
            let took = match run.own {
                true => Some(self.pictures.ran(at(run.from), run.beyond())),
                false => (self.pictures).within(at(run.from), at(run.to), run.beyond()),
            };
            if let Some(time) = took {
                let from = run.from;
                return Some(Own { from, time });
            }
        }
        None
    }

    /// Something comes for the server, all of whose work before it has been asked for. Whether it is awake
    /// for work of its own.
    pub(super) fn comes(&mut self, time: Timestamp, at: impl Fn(Timestamp) -> Micros) -> bool {
        let since = self.runs.as_mut().and_then(|runs| runs.comes(time));
        if let Some(since) = since {
            self.pictures.runs(at(since));
        }
        since.is_some()
    }

    /// What came last costs so much more.
    pub(super) fn costs(&mut self, time: Micros) {
        if let Some(runs) = &mut self.runs {
            runs.costs(time);
        }
    }

    /// A `change` by what came at `time`, which the server by its clock is busy with until `busy`; the
    /// recorded one may have been done before. What the change costs beside its request.
    pub(super) fn changed(
        &mut self,
        change: &Change,
        time: Timestamp,
        busy: Micros,
        at: impl Fn(Timestamp) -> Micros,
    ) -> Micros {
        let done = self.runs.as_ref().and_then(OwnRuns::done);
        let done = done.map_or(busy, |done| Micros(at(done).0.max(at(time).0)));
        self.pictures.change(change, Micros(busy.0.min(done.0)))
    }

    /// Whether the server, at work until `now`, looks for once whether a picture is to be made.
    pub(super) fn pauses(&self, now: Micros) -> bool {
        self.pictures.pauses(now)
    }

    /// A client has requests at `now`, where the server was at work until `busy`.
    pub(super) fn serves(&mut self, client: ConnectionId, now: Micros, busy: Micros) {
        self.pictures.serves(client, now, busy);
    }

    /// The picture that was made by `now`, by the model: of another server, or of one that has no rest from
    /// its clients for as long as there is between two pictures. The wakeup before cost `cold` more than
    /// one in a warm cache.
    pub(super) fn made(
        &mut self,
        time: Timestamp,
        (now, idle): (Micros, bool),
        cold: Micros,
    ) -> Option<Made> {
        if let Some(runs) = &self.runs {
            let busy = runs.busy(time)?;
            if !self.pictures.come_within(busy) {
                return None;
            }
        }
        self.pictures.made(now, idle, cold)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, ServerParameters};
    use x11prof_session::Changed;
    use x11prof_trace::{Control, Server, Switch, SwitchKind, Timestamp};

    use super::{Later, Made};

    const PID: u32 = 7;

    /// A server with an update each 10 ms at most, of 100 µs and 1 µs a pixel, while a server of this vendor
    /// is recorded, which ran in these milliseconds.
    fn later(vendor: &str, runs: &[(u64, u64)]) -> Later {
        let text = "format = 1\n[server]\nname = \"it\"\nvendor = \"Us\"\nrelease = 1\ndepth = 8\n\
             [transport]\nwakeup = { cpu_us = 1 }\nbyte_read = { cpu_us = 0 }\n\
             reply = { cpu_us = 0 }\nevent = { cpu_us = 0 }\n\
             deferred = { interval_us = 10000, update_us = 100, pixel_us = 1 }\n";
        let parameters = ServerParameters::from_toml(text).unwrap();
        let deferred = parameters.transport.as_ref().unwrap().deferred.unwrap();
        let mut later = Later::new(&parameters, deferred);
        later.control(&Control::Server(Server {
            vendor: vendor.to_owned(),
            release: 1,
            depth: 8,
            pid: Some(PID),
            ..Server::default()
        }));
        let switch = |millis, kind| Switch {
            time: millisecond(millis),
            pid: PID,
            tid: PID,
            cpu: 0,
            kind,
        };
        for &(from, to) in runs {
            let (from, to) = (
                switch(from, SwitchKind::In),
                switch(to, SwitchKind::Blocked),
            );
            later.switches(&[from, to]);
        }
        later
    }

    fn millisecond(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn at(time: Timestamp) -> Micros {
        Micros::from_nanos(time.as_nanos() as f64)
    }

    /// A client changes 100 pixels at that time.
    fn draws(later: &mut Later, millis: u64) {
        let (time, area) = (millisecond(millis), [0, 0, 10, 10]);
        later.comes(time, at);
        let [left, top, right, bottom] = area;
        let changed = Changed {
            left,
            top,
            right,
            bottom,
        };
        later.changed(&changed.into(), time, at(time), at);
        later.costs(Micros(50.0));
    }

    fn made(later: &mut Later, millis: u64, now: f64) -> Option<Made> {
        later.made(millisecond(millis), (Micros(now), true), Micros::ZERO)
    }

    fn own(later: &mut Later, before: u64) -> Option<(u64, f64)> {
        let own = later.own(millisecond(before), at)?;
        Some((own.from.as_nanos() / 1_000_000, own.time.0))
    }

    #[test]
    fn an_update_of_the_recorded_server_takes_what_it_took() {
        let mut later = later("Us", &[(0, 1), (20, 21), (25, 28), (35, 36)]);
        draws(&mut later, 20);
        assert_eq!(made(&mut later, 40, 40_000.0), None);
        // The run for the client was none, that which came half an interval behind it was one, and another
        // timer's is work as well.
        assert_eq!(own(&mut later, 40), Some((25, 3000.0)));
        assert_eq!(own(&mut later, 40), Some((35, 1000.0)));
        assert_eq!(own(&mut later, 40), None);
        let seen = later.seen().unwrap();
        assert_eq!(
            (seen.count, seen.pixels, seen.time),
            (1, 100, Micros(4000.0))
        );
    }

    #[test]
    fn one_in_a_run_for_a_client_takes_what_that_took_beyond() {
        let mut later = later("Us", &[(0, 1), (20, 21), (25, 28), (40, 52)]);
        draws(&mut later, 20);
        draws(&mut later, 25);
        assert_eq!(own(&mut later, 39), Some((25, 2950.0)));
        // A longer one than there is between two updates is the model's.
        draws(&mut later, 40);
        assert_eq!(made(&mut later, 50, 44_000.0), None);
        let made = made(&mut later, 50, 45_000.0).unwrap();
        assert_eq!(
            (made.due, made.cost.time),
            (Micros(45_000.0), Micros(150.0))
        );
    }

    #[test]
    fn another_servers_runs_do_not_count() {
        let mut later = later("Them", &[(0, 1), (20, 21), (25, 28)]);
        draws(&mut later, 20);
        assert_eq!(own(&mut later, 40), None);
        assert!(later.seen().is_none());
        assert!(made(&mut later, 25, 25_000.0).is_some());
    }
}
