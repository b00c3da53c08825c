//! Each run of the recorded server beside the prices of what had come for it: where a model lacks
//! something, and what comes when it does.

use std::collections::{BTreeMap, VecDeque};

use x11prof_cost_model::Micros;
use x11prof_protocol::Symbol;
use x11prof_trace::{Control, Direction, Timestamp};

use super::charges::{Charge, TransportPart};
use super::own_runs::OwnRuns;
use crate::pipeline::Observation;

/// Requests of so many names are told by name; a run with more is one of many.
const NAMES: usize = 3;
/// Kinds of runs that are kept apart at most.
const MOST_KINDS: usize = 1 << 12;
/// Requests that wait for the end of their run at most; what is beyond has no name in it.
const MOST_WAITING: usize = 1 << 16;

/// What runs of one kind took, and what they are priced at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunLine {
    /// How many there were.
    pub runs: u64,
    /// For how long the server was on a processor, by its context switches.
    pub took: Micros,
    /// What had come for it costs, with its transport.
    pub priced: Micros,
}

impl RunLine {
    /// What they took beyond their prices; negative where these are higher.
    pub fn beyond(&self) -> Micros {
        self.took - self.priced
    }
}

/// Runs of the recorded server by the requests that came for them: `GetInputFocus`, with a `*` behind those
/// that came more than once, `own` where nothing had.
#[derive(Debug, Default)]
pub struct Runs {
    followed: Option<OwnRuns>,
    came: VecDeque<(Timestamp, Symbol)>,
    lines: BTreeMap<String, RunLine>,
}

impl Runs {
    /// What each kind of run took, in the order of their names.
    pub fn lines(&self) -> impl Iterator<Item = (&str, &RunLine)> {
        self.lines.iter().map(|(name, line)| (name.as_str(), line))
    }

    /// Takes the next observation, before what it is charged.
    pub(super) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Switches(switches) => {
                if let Some(runs) = &mut self.followed {
                    runs.observe(switches);
                }
            }
            Observation::BlockStart(block) if block.direction == Direction::ToServer => {
                self.comes(block.time);
            }
            Observation::Control(_, Control::Server(server)) => {
                self.followed = server.pid.map(OwnRuns::of);
            }
            Observation::Control(
                time,
                Control::Opened(_) | Control::Closed { .. } | Control::Ended { .. },
            ) => self.comes(*time),
            _ => {}
        }
    }

    /// Takes a charge of the last observation.
    pub(super) fn charge(&mut self, charge: &Charge<'_>) {
        let Some(runs) = &mut self.followed else {
            return;
        };
        match charge {
            Charge::Request {
                time,
                operation,
                price,
                ..
            } => {
                runs.costs(price.server.time);
                if self.came.len() < MOST_WAITING {
                    self.came.push_back((*time, operation.request));
                }
            }
            // What it did of its own accord is no forecast.
            Charge::Transport { part, server, .. } if *part != TransportPart::Own => {
                runs.costs(server.time);
            }
            _ => {}
        }
    }

    fn comes(&mut self, time: Timestamp) {
        let Some(runs) = &mut self.followed else {
            return;
        };
        while let Some(run) = runs.before(time) {
            // What came while it ran of its own accord is priced there, and is not the next one's.
            let came = name(&mut self.came, run.to);
            let name = if run.own { OWN.to_owned() } else { came };
            let known = self.lines.contains_key(&name) || self.lines.len() < MOST_KINDS;
            let name = if known { name } else { MANY.to_owned() };
            let line = self.lines.entry(name).or_default();
            line.runs += 1;
            line.took += run.took;
            line.priced += run.priced;
        }
        runs.comes(time);
    }
}

const MANY: &str = "(many)";
const OWN: &str = "own";

/// What has come by then, which is forgotten.
fn name(came: &mut VecDeque<(Timestamp, Symbol)>, by: Timestamp) -> String {
    let mut requests: BTreeMap<Symbol, u64> = BTreeMap::new();
    while let Some((_, request)) = came.pop_front_if(|(time, _)| *time <= by) {
        *requests.entry(request).or_default() += 1;
    }
    match requests.len() {
        0 => "(nothing)".to_owned(),
        1..=NAMES => {
            let names = requests.iter().map(|(name, count)| {
                let more = if *count > 1 { "*" } else { "" };
                format!("{name}{more}")
            });
            names.collect::<Vec<_>>().join(" ")
        }
        _ => MANY.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Cost, Micros, Price};
    use x11prof_protocol::SequenceNumber;
    use x11prof_session::Operation;
    use x11prof_trace::{ConnectionId, Control, Server, Switch, SwitchKind, Timestamp};

    use super::{RunLine, Runs};
    use crate::pipeline::Observation;
    use crate::profile::charges::{Charge, TransportPart};

    const SERVER: u32 = 7;
    const CLIENT: ConnectionId = ConnectionId(1);

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    /// The recorded server ran in these microseconds.
    fn ran(runs: &mut Runs, all: &[(u64, u64)]) {
        let server = Server {
            pid: Some(SERVER),
            ..Server::default()
        };
        runs.observe(&Observation::Control(at(0), &Control::Server(server)));
        let switch = |micros, kind| Switch {
            time: at(micros),
            pid: SERVER,
            tid: SERVER,
            cpu: 0,
            kind,
        };
        for &(from, to) in all {
            let both = [
                switch(from, SwitchKind::In),
                switch(to, SwitchKind::Blocked),
            ];
            runs.observe(&Observation::Switches(&both));
        }
    }

    fn asks(runs: &mut Runs, micros: u64, names: &[&str]) {
        runs.comes(at(micros));
        for name in names {
            let price = Price {
                server: Cost::exact(Micros(5.0)),
                ..Price::default()
            };
            runs.charge(&Charge::Request {
                connection: CLIENT,
                sequence: SequenceNumber(1),
                time: at(micros),
                operation: &Operation::new((*name).into()),
                bytes: 4,
                price: &price,
                blocking: false,
            });
        }
        let wakeup = Cost::exact(Micros(10.0));
        for part in [TransportPart::Wakeup, TransportPart::Own] {
            runs.charge(&Charge::beside((CLIENT, at(micros)), part, wakeup, None));
        }
    }

    #[test]
    fn runs_are_told_by_what_came_for_them() {
        let mut runs = Runs::default();
        ran(
            &mut runs,
            &[
                (0, 10),
                (1000, 1040),
                (5000, 5300),
                (9000, 9070),
                (9900, 9910),
            ],
        );
        asks(&mut runs, 990, &["Bell", "NoOperation", "Bell"]);
        asks(&mut runs, 8990, &["A", "B", "C", "D"]);
        runs.comes(at(20_000));
        let lines: Vec<_> = runs.lines().collect();
        let line = |runs, took, priced| RunLine {
            runs,
            took: Micros(took),
            priced: Micros(priced),
        };
        assert_eq!(
            lines,
            [
                ("(many)", &line(1, 70.0, 30.0)),
                ("(nothing)", &line(1, 10.0, 0.0)),
                ("Bell* NoOperation", &line(1, 40.0, 25.0)),
                ("own", &line(2, 310.0, 0.0)),
            ]
        );
        assert_eq!(lines[2].1.beyond(), Micros(15.0));
    }
}
