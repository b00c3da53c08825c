//! Each client's waits for replies: their number, their time, and repeated requests.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_protocol::{Message, Symbol};
use x11prof_trace::{ConnectionId, Control};

use crate::episodes::shows;
use crate::pipeline::Observation;
use crate::round_trips::{CompletedRequest, ReplyKind};

/// Maximum number of clients, and of different requests of each.
const CLIENTS: usize = 4096;
const DIFFERENT: usize = 1024;
/// A request that follows an equal one within this time, in nanoseconds, is a repetition. Slower repetition has little
/// cost.
const AGAIN_WITHIN: u64 = 1_000_000_000;
/// Requests that a client sends within this time before it draws, in nanoseconds, count as preparation of the drawing,
/// not as polling.
const PREPARES_WITHIN: u64 = 100_000_000;
const LAST: usize = 64;

/// The round trips of a client so far.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientWaits {
    /// The number of round trips by name of the request.
    pub(super) round_trips: FxHashMap<Symbol, u64>,
    /// The number of round trips whose request equals one within the second before, by name of the request.
    pub(super) again: FxHashMap<Symbol, u64>,
    /// The latest repeated round trips, each with its time in nanoseconds.
    recent: VecDeque<(Symbol, u64)>,
    /// The time at which the client last received an event or drew, in nanoseconds. The first equal request after that
    /// time is no repetition.
    acted: u64,
    /// The time in which the client waited for replies, in nanoseconds.
    pub(super) waited: u64,
}

impl ClientWaits {
    /// Notes that the client draws, or receives an event, at `time` (nanoseconds). The requests just before are not
    /// polling.
    fn acts(&mut self, time: u64) {
        self.acted = time;
        for (name, at) in self.recent.drain(..) {
            if at.saturating_add(PREPARES_WITHIN) >= time
                && let Some(count) = self.again.get_mut(&name)
            {
                *count = count.saturating_sub(1);
            }
        }
    }
}

/// The waits for replies and the repeated requests of all clients.
#[derive(Debug, Default)]
pub(super) struct RequestRates {
    client_waits: FxHashMap<ConnectionId, ClientWaits>,
    /// For each client, the time in nanoseconds at which each request (by hash) was last sent.
    last: FxHashMap<ConnectionId, FxHashMap<u64, u64>>,
}

impl RequestRates {
    pub(super) fn observe(&mut self, observation: &Observation<'_>) {
        match observation {
            Observation::Message(seen) => {
                let acts = match seen.message {
                    Message::Event(_) => true,
                    Message::Request(request) => shows(seen, request),
                    _ => false,
                };
                if acts && let Some(of) = self.client_waits.get_mut(&seen.connection) {
                    of.acts(seen.time.as_nanos());
                }
                if let Some(answer) = seen.answer {
                    self.answered(answer);
                }
            }
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.last.remove(connection);
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &CompletedRequest<'_>) {
        let RequestRates { client_waits, last } = self;
        if !answer.how.is_round_trip()
            || client_waits.len() >= CLIENTS && !client_waits.contains_key(&answer.client)
        {
            return;
        }
        let of = client_waits.entry(answer.client).or_default();
        let (name, time) = (answer.question.name, answer.question.requested_at);
        *of.round_trips.entry(name).or_default() += 1;
        of.waited = of.waited.saturating_add(answer.waited());
        // A wait for the server to finish earlier requests is not a repeated request.
        if answer.how == ReplyKind::Synchronised && answer.question.requests_ahead > 0 {
            return;
        }
        let last = last.entry(answer.client).or_default();
        if last.len() >= DIFFERENT {
            last.clear();
        }
        let before = last.insert(answer.question.same, time);
        let reacts = |before| (before..=time).contains(&of.acted);
        let again = |before| time.saturating_sub(before) <= AGAIN_WITHIN && !reacts(before);
        if before.is_some_and(again) {
            *of.again.entry(name).or_default() += 1;
            if of.recent.len() == LAST {
                of.recent.pop_front();
            }
            of.recent.push_back((name, time));
        }
    }

    /// The waits of each client so far, by connection.
    pub(super) fn client_waits(&self) -> &FxHashMap<ConnectionId, ClientWaits> {
        &self.client_waits
    }

    /// Drops the clients for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl Fn(ConnectionId) -> bool) {
        self.client_waits.retain(|id, _| keep(*id));
    }
}
