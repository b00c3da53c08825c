//! The server time of each client's requests, by the time at which they were sent. The source is the server's handler
//! times if the server reports them, otherwise the server's runs on a processor. A run is split between the clients
//! whose requests arrived for it, in proportion to their numbers of requests.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::Message;
use x11prof_trace::{ConnectionId, Control, Direction};

use crate::pipeline::{Observation, ServerRun};

/// Maximum number of pieces of a client's time. Beyond it, neighbouring pieces are merged.
const PIECES_LIMIT: usize = 1 << 18;

/// Requests that a client sent in one block.
#[derive(Debug, Clone, Copy)]
struct ArrivedRequests {
    at: u64,
    client: ConnectionId,
    requests: u64,
}

/// The source of the server's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Source {
    #[default]
    None,
    Switches,
    Handlers,
}

/// The server time of a client's requests. Each entry is a time in nanoseconds, and the sum of the server time of all
/// requests sent by then.
#[derive(Debug, Default)]
struct ClientTime(Vec<(u64, f64)>);

impl ClientTime {
    /// Returns the index of the first piece after `time` (nanoseconds).
    fn after(&self, time: u64) -> usize {
        self.0.partition_point(|(at, _)| *at <= time)
    }

    fn add(&mut self, sent: u64, nanos: f64) {
        // Handlers run in the order of the requests, nearly always.
        let place = self.after(sent);
        let before = place.checked_sub(1).map(|last| self.0[last]);
        let sum = before.map_or(0.0, |(_, sum)| sum);
        for (_, later) in &mut self.0[place..] {
            *later += nanos;
        }
        match before {
            Some((at, _)) if at == sent => self.0[place - 1].1 += nanos,
            _ => self.0.insert(place, (sent, sum + nanos)),
        }
        if self.0.len() > PIECES_LIMIT {
            let mut keep = false;
            self.0.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    fn until(&self, place: usize) -> f64 {
        place.checked_sub(1).map_or(0.0, |last| self.0[last].1)
    }

    fn between(&self, from: u64, to: u64) -> f64 {
        let before = from.checked_sub(1).map_or(0, |before| self.after(before));
        self.until(self.after(to)) - self.until(before)
    }
}

/// The server's time for each client's requests.
#[derive(Debug, Default)]
pub(crate) struct ServerTime {
    /// The process of the server; `None` for an attached server, which reports requests after its work.
    pid: Option<u32>,
    source: Source,
    /// The number of requests in the current block.
    requests: u64,
    /// Requests that have not yet been attributed to a run.
    came: VecDeque<ArrivedRequests>,
    spent: HashMap<ConnectionId, ClientTime>,
}

impl ServerTime {
    /// True if the trace contains the server's time.
    pub(crate) fn is_known(&self) -> bool {
        self.source != Source::None
    }

    /// Processes the next observation of a pass over the recording.
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::HandledRequest(one) => {
                let spent = self.spent.entry(one.connection).or_default();
                spent.add(one.sent.as_nanos(), one.nanos);
            }
            Observation::Control(_, Control::Timing { why: None, .. }) => {
                self.source = Source::Handlers;
            }
            _ if self.source == Source::Handlers => {}
            Observation::Control(_, Control::Server(server)) => {
                self.pid = server.pid;
            }
            Observation::Control(_, Control::Capture { pid, capture, .. })
                if self.pid == Some(*pid) && capture == "switches" =>
            {
                self.source = Source::Switches;
            }
            Observation::Control(_, Control::Attached {}) => {
                (self.pid, self.source) = (None, Source::None);
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.came.retain(|came| came.client != *connection);
            }
            Observation::ServerRan(run) if self.source == Source::Switches => self.share(run),
            Observation::BlockStart(_) => self.requests = 0,
            Observation::Message(seen) => {
                let is_request = matches!(seen.message, Message::Request(_));
                self.requests += u64::from(is_request) * seen.times;
            }
            Observation::BlockEnd(block, _) if self.source == Source::Switches => {
                let at = block.time.as_nanos();
                if block.direction == Direction::ToServer && self.requests > 0 {
                    self.came.push_back(ArrivedRequests {
                        at,
                        client: block.connection,
                        requests: self.requests,
                    });
                }
                while self.came.len() > PIECES_LIMIT {
                    self.came.pop_front();
                }
            }
            _ => {}
        }
    }

    /// Splits the time of a run among the requests that had arrived before it ended.
    fn share(&mut self, run: &ServerRun) {
        let to = run.to.as_nanos();
        let count = self.came.iter().take_while(|came| came.at <= to).count();
        let came: Vec<ArrivedRequests> = self.came.drain(..count).collect();
        let all: u64 = came.iter().map(|came| came.requests).sum();
        let each = run.nanos as f64 / all.max(1) as f64;
        for one in came {
            let spent = self.spent.entry(one.client).or_default();
            spent.add(one.at, each * one.requests as f64);
        }
    }

    /// The nanoseconds of server time for the requests that a client sent between the times `from` and `to`
    /// (nanoseconds).
    pub(crate) fn between(&self, client: ConnectionId, from: u64, to: u64) -> u64 {
        let spent = self.spent.get(&client);
        spent.map_or(0, |spent| spent.between(from, to).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::ClientTime;

    #[test]
    fn time_between_bounds_sums_unordered_input() {
        let mut time = ClientTime::default();
        for (sent, nanos) in [(10, 5.0), (20, 7.0), (20, 1.0), (15, 100.0)] {
            time.add(sent, nanos);
        }
        let between = [(0, 100), (20, 20), (0, 10), (11, 19), (21, 30), (10, 15)];
        let sums = between.map(|(from, to)| time.between(from, to));
        assert_eq!(sums, [113.0, 8.0, 5.0, 100.0, 0.0, 105.0]);
    }
}
