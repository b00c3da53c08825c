//! The runs of the recorded server, one by one, for timelines.

use x11prof_trace::{Control, Timestamp};

use crate::pipeline::Observation;
use crate::server_time::server_runs::Runs;

/// Hands out the runs of the recorded server's thread that speaks with the clients, as far as context
/// switches tell.
#[derive(Debug, Default)]
pub struct ServerRuns {
    runs: Option<Runs>,
}

impl ServerRuns {
    /// Takes the next observation of a pass, and hands out the runs that are over by now: from when to when.
    pub fn observe(&mut self, observation: &Observation<'_>, on: impl FnMut(Timestamp, Timestamp)) {
        match observation {
            Observation::Control(_, Control::Server(server)) => {
                let known = self.runs.as_ref().map(Runs::server);
                if known != server.pid {
                    self.runs = server.pid.map(Runs::of);
                }
            }
            Observation::Switches(steps) => {
                if let Some(runs) = &mut self.runs {
                    steps.iter().for_each(|step| runs.step(step));
                }
                self.hand_out(on);
            }
            _ => {}
        }
    }

    /// The trace is over, and with it a run that goes on.
    pub fn end(&mut self, on: impl FnMut(Timestamp, Timestamp)) {
        if let Some(runs) = &mut self.runs {
            runs.end();
        }
        self.hand_out(on);
    }

    fn hand_out(&mut self, mut on: impl FnMut(Timestamp, Timestamp)) {
        let Some(runs) = &mut self.runs else { return };
        while let Some((from, to)) = runs.front().and_then(|(run, _)| Some((run.from, run.to?))) {
            on(Timestamp::from_nanos(from), Timestamp::from_nanos(to));
            runs.pop();
        }
    }
}
