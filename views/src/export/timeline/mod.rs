//! Converts a trace to a timeline in the order of the trace: spans with a beginning and an end, values of counters, and
//! causes. The exports for Perfetto and Firefox are based on this timeline.

mod counts;
mod entry;
mod lanes;

use std::collections::{HashMap, VecDeque, hash_map};

use x11prof_analyzer::{MessageContext, Observation, TraceSummary};
use x11prof_protocol::{Message, SequenceNumber, Symbol};
use x11prof_trace::{ConnectionId, Control, Direction, Timestamp};

use counts::Counts;
pub(super) use entry::{ClientCounter, Counter, SentRequest, TimelineEntry, named_mark};
pub(super) use lanes::Lanes;

/// The maximum number of a client's requests that wait for replies. Above this limit, the oldest requests become
/// entries without a reply.
const WAITING_LIMIT: usize = 1 << 14;

/// The last event that a client received. The client's next request may be a response to this event.
#[derive(Debug)]
struct LastEvent {
    at: Timestamp,
    name: Symbol,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Client {
    waiting: VecDeque<(SequenceNumber, usize, SentRequest)>,
    lanes: Lanes,
    event: Option<LastEvent>,
}

/// Converts observations to entries of a timeline.
#[derive(Default)]
pub(super) struct Timeline {
    summary: TraceSummary,
    clients: HashMap<ConnectionId, Client>,
    counts: Counts,
    number: u64,
}

impl Timeline {
    /// The summary of the trace.
    pub(super) fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// Processes the next observation of a pass, and passes the complete entries to `on`.
    pub(super) fn observe(
        &mut self,
        observation: &Observation<'_>,
        on: &mut dyn FnMut(TimelineEntry),
    ) {
        self.summary.observe(observation);
        match observation {
            Observation::ServerRan(run) => {
                on(TimelineEntry::Run(run.from, run.to));
                self.counts.add(Counter::Wakeups, run.from, 1, on);
            }
            Observation::BlockStart(block) => {
                self.know(block.connection, on);
                let of = match block.direction {
                    Direction::ToServer => ClientCounter::Sent,
                    Direction::ToClient => ClientCounter::Received,
                };
                let counted = Counter::Client(block.connection, of);
                let bytes = i64::from(block.wire_len);
                self.counts.add(counted, block.time, bytes, on);
            }
            Observation::Message(seen) => {
                self.counts.resources(seen.time, seen.session, on);
                self.message(seen, on);
            }
            Observation::Control(time, Control::Mark { text }) => {
                on(TimelineEntry::Mark(*time, text.clone()));
            }
            Observation::Control(_, Control::Opened(opened)) => self.know(opened.connection, on),
            Observation::Control(_, Control::Closed { connection, .. }) => {
                self.gone(*connection, on);
            }
            Observation::Closed { time, session } => {
                self.counts.resources(*time, session, on);
                let clients = &self.clients;
                self.counts
                    .gone(|client| !clients.contains_key(&client), on);
            }
            _ => {}
        }
    }

    /// Passes the remaining entries to `on` at the end of the trace.
    pub(super) fn end(&mut self, on: &mut dyn FnMut(TimelineEntry)) {
        let clients: Vec<ConnectionId> = self.clients.keys().copied().collect();
        for client in clients {
            self.gone(client, on);
        }
        self.counts.end(on);
    }

    fn know(&mut self, client: ConnectionId, on: &mut dyn FnMut(TimelineEntry)) {
        if let hash_map::Entry::Vacant(vacant) = self.clients.entry(client) {
            vacant.insert(Client::default());
            on(TimelineEntry::Client(
                client,
                self.summary.client_name(client),
            ));
        }
    }

    fn message(&mut self, seen: &MessageContext<'_>, on: &mut dyn FnMut(TimelineEntry)) {
        let id = seen.connection;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        match seen.message {
            Message::Request(request) => {
                self.number += 1;
                let event = client.event.take();
                let responds_to = event.map(|event| {
                    let number = self.number;
                    self.number += 1;
                    on(event.entry(id, Some(number)));
                    number
                });
                let sent = SentRequest {
                    at: seen.time,
                    name: request.name,
                    sequence: request.sequence.0,
                    bytes: request.wire_len,
                    stack: seen.stack,
                    number: self.number,
                    responds_to,
                };
                if !request.has_reply {
                    on(TimelineEntry::Request(sent, id));
                    return;
                }
                if client.waiting.len() == WAITING_LIMIT {
                    client.give_up(id, on);
                }
                let lane = client.lanes.take(sent.at);
                client.waiting.push_back((request.sequence, lane, sent));
            }
            Message::Reply(reply) if reply.last => {
                let received = reply.wire_len;
                client.answered(id, reply.sequence, seen.time, received, None, on);
            }
            Message::Error(error) => {
                let (at, name) = (seen.time, error.name);
                if !client.answered(id, error.sequence, at, 32, Some(name), on) {
                    on(TimelineEntry::Event {
                        client: id,
                        at,
                        name,
                        bytes: 32,
                        led_to: None,
                    });
                }
            }
            Message::Event(event) => {
                let last = client.event.replace(LastEvent {
                    at: seen.time,
                    name: event.name,
                    bytes: event.wire_len,
                });
                if let Some(last) = last {
                    on(last.entry(id, None));
                }
            }
            _ => {}
        }
    }

    /// Passes the pending entries of the disconnected client `id` to `on`.
    fn gone(&mut self, id: ConnectionId, on: &mut dyn FnMut(TimelineEntry)) {
        let Some(mut client) = self.clients.remove(&id) else {
            return;
        };
        if let Some(event) = client.event.take() {
            on(event.entry(id, None));
        }
        while !client.waiting.is_empty() {
            client.give_up(id, on);
        }
    }
}

impl Client {
    /// Handles the reply to the request `sequence`, and passes the round trip to `on`. `received` is the length of the
    /// reply in bytes. Returns true if a request waited for the reply.
    fn answered(
        &mut self,
        client: ConnectionId,
        sequence: SequenceNumber,
        at: Timestamp,
        received: u64,
        error: Option<Symbol>,
        on: &mut dyn FnMut(TimelineEntry),
    ) -> bool {
        let found = self.waiting.binary_search_by_key(&sequence, |(of, ..)| *of);
        let Some((_, lane, request)) = found.ok().and_then(|place| self.waiting.remove(place))
        else {
            return false;
        };
        let answered = at.max(request.at);
        self.lanes.free(lane, answered);
        on(TimelineEntry::RoundTrip {
            client,
            request,
            lane,
            answered,
            received,
            error,
        });
        true
    }

    /// Stops waiting for the reply to the client's oldest waiting request, and passes the request to `on` as a request
    /// without a reply.
    fn give_up(&mut self, client: ConnectionId, on: &mut dyn FnMut(TimelineEntry)) {
        if let Some((_, lane, request)) = self.waiting.pop_front() {
            self.lanes.free(lane, request.at);
            on(TimelineEntry::Request(request, client));
        }
    }
}

impl LastEvent {
    fn entry(self, client: ConnectionId, led_to: Option<u64>) -> TimelineEntry {
        TimelineEntry::Event {
            client,
            at: self.at,
            name: self.name,
            bytes: self.bytes,
            led_to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Timeline, TimelineEntry};
    use x11prof_analyzer::Pipeline;
    use x11prof_analyzer::testing::{Synthetic, get_input_focus, no_operation, reply};

    #[test]
    fn overlapping_round_trips_use_separate_lanes() {
        let mut trace = Synthetic::new();
        trace
            .client_sends(&[get_input_focus(), get_input_focus(), no_operation(1)])
            .wait(10)
            .server_sends(&[reply(1), reply(2)])
            .client_sends(&[get_input_focus()])
            .wait(10)
            .server_sends(&[reply(4)])
            .end();
        let (mut timeline, mut pipeline) = (Timeline::default(), Pipeline::new());
        let mut entries = Vec::new();
        pipeline.run_records(trace.records.iter().cloned(), |observation| {
            timeline.observe(observation, &mut |entry| entries.push(entry));
        });
        timeline.end(&mut |entry| entries.push(entry));
        let trips: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                TimelineEntry::RoundTrip { request, lane, .. } => Some((request.sequence, *lane)),
                _ => None,
            })
            .collect();
        assert_eq!(trips, [(1, 0), (2, 1), (4, 0)]);
        let requests = entries
            .iter()
            .filter(|entry| matches!(entry, TimelineEntry::Request(..)));
        assert_eq!(requests.count(), 1);
        assert!(matches!(entries[0], TimelineEntry::Client(..)));
    }
}
