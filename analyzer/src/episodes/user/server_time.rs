//! The recorded server's run time for each client, by its context switches. Clients whose requests came for
//! a run share the run, by the number of requests.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::Message;
use x11prof_trace::{ConnectionId, Control, Direction};

use crate::pipeline::Observation;
use crate::server_time::server_runs::Runs;

/// Pieces of a client's time kept; the episode that they belong to is known within seconds.
const PIECES_LIMIT: usize = 1 << 16;

/// Requests that came from a client together.
#[derive(Debug, Clone, Copy)]
struct ArrivedRequests {
    at: u64,
    client: ConnectionId,
    requests: u64,
}

/// The server's time by client.
#[derive(Debug, Default)]
pub(crate) struct ServerTime {
    runs: Option<Runs>,
    /// The trace has the server's switches.
    is_known: bool,
    /// Requests since a block began.
    requests: u64,
    /// Requests that belong to no run yet.
    came: VecDeque<ArrivedRequests>,
    /// Times of sending, with the server's time for the requests, in nanoseconds.
    spent: HashMap<ConnectionId, VecDeque<(u64, f64)>>,
}

impl ServerTime {
    /// True where the trace tells the server's time.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Takes the next observation of a pass.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Control(_, Control::Server(server)) => {
                self.runs = server.pid.map(Runs::of);
            }
            Observation::Control(_, Control::Capture { pid, capture, .. }) => {
                let of_server = self.runs.as_ref().is_some_and(|runs| runs.server() == *pid);
                self.is_known |= of_server && capture == "switches";
            }
            // Then a request is told of after its work.
            Observation::Control(_, Control::Attached {}) => {
                (self.runs, self.is_known) = (None, false);
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.came.retain(|came| came.client != *connection);
            }
            Observation::Switches(steps) => {
                if let Some(runs) = &mut self.runs {
                    steps.iter().for_each(|step| runs.step(step));
                }
                if let Some(last) = steps.last() {
                    self.settle(last.time);
                }
            }
            Observation::BlockStart(_) => self.requests = 0,
            Observation::Message(seen) => {
                let is_request = matches!(seen.message, Message::Request(_));
                self.requests += u64::from(is_request) * seen.times;
            }
            Observation::BlockEnd(block) if self.is_known => {
                let at = block.time.as_nanos();
                if block.direction == Direction::ToServer && self.requests > 0 {
                    self.came.push_back(ArrivedRequests {
                        at,
                        client: block.connection,
                        requests: self.requests,
                    });
                }
                self.settle(at);
            }
            _ => {}
        }
    }

    /// The trace has ended.
    pub(crate) fn finish(&mut self) {
        if let Some(runs) = &mut self.runs {
            runs.end();
        }
        self.settle(u64::MAX);
    }

    /// Shares the runs that were over before `now`; what was sent until then is known.
    fn settle(&mut self, now: u64) {
        let Some(runs) = &mut self.runs else {
            return;
        };
        while let Some((run, _)) = runs.front()
            && let Some(to) = run.to
            && to < now
        {
            let count = self.came.iter().take_while(|came| came.at <= to).count();
            let came: Vec<ArrivedRequests> = self.came.drain(..count).collect();
            let all: u64 = came.iter().map(|came| came.requests).sum();
            let each = run.share().time.0 * 1000.0 / all.max(1) as f64;
            for ArrivedRequests {
                at,
                client,
                requests,
            } in came
            {
                let spent = self.spent.entry(client).or_default();
                spent.push_back((at, each * requests as f64));
                if spent.len() > PIECES_LIMIT {
                    spent.pop_front();
                }
            }
            runs.pop();
        }
        while self.came.len() > PIECES_LIMIT {
            self.came.pop_front();
        }
    }

    /// The server's time for a client's requests between two times, in nanoseconds. Forgets earlier
    /// requests.
    pub(crate) fn during(&mut self, client: ConnectionId, from: u64, to: u64) -> u64 {
        let Some(spent) = self.spent.get_mut(&client) else {
            return 0;
        };
        while spent.pop_front_if(|(at, _)| *at < from).is_some() {}
        let within = spent.iter().take_while(|(at, _)| *at <= to);
        within.map(|(_, nanos)| nanos).sum::<f64>().round() as u64
    }
}
