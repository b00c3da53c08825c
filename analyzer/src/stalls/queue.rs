//! The requests of each client that the server may not have handled yet.
//!
//! A server handles the requests of a client in order. So a reply shows that all earlier requests of its client are
//! handled. No request after a pending request is handled.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;
use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::ConnectionId;

use crate::clients::PerClient;

/// Maximum number of open requests of a client; older ones are dropped.
const QUESTIONS: usize = 4096;
/// Maximum number of request kinds kept between two requests with a reply of a client.
const KINDS: usize = 64;

/// Requests of one kind: their cost, or 1 µs each without a cost.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OfKind {
    request: Symbol,
    cost: f64,
}

/// Consecutive requests of one client, with their costs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Work {
    kinds: Vec<OfKind>,
    /// The times of the first request and the last.
    first: u64,
    last: u64,
}

impl Work {
    fn add(&mut self, request: Symbol, (cost, times): (f64, u64), time: u64) {
        if self.kinds.is_empty() {
            self.first = time;
        }
        self.last = time;
        let full = self.kinds.len() >= KINDS;
        match self.kinds.iter_mut().find(|of| of.request == request) {
            Some(of) => of.cost += cost * times as f64,
            None if full => {}
            None => self.kinds.push(OfKind {
                request,
                cost: cost * times as f64,
            }),
        }
    }

    fn join(&mut self, other: &Work) {
        for of in &other.kinds {
            self.add(of.request, (of.cost, 1), other.last.max(self.last));
        }
    }

    fn cost(&self) -> f64 {
        self.kinds.iter().map(|of| of.cost).sum()
    }

    fn most_expensive(&self) -> Option<Symbol> {
        let most = self.kinds.iter().max_by(|a, b| a.cost.total_cmp(&b.cost));
        most.map(|of| of.request)
    }
}

/// A request with a reply, and its client's requests before it and since the previous request with a reply.
#[derive(Debug)]
struct QueuedRequest {
    sequence: SequenceNumber,
    requested_at: u64,
    request: Symbol,
    cost: f64,
    work: Work,
}

#[derive(Debug, Default)]
struct ClientQueue {
    questions: VecDeque<QueuedRequest>,
    /// Requests after the last request with a reply.
    rest: Work,
    /// True while the client is in [`Queue::ready`].
    ready: bool,
}

impl ClientQueue {
    /// Returns the client's work that the server may do next. The server does no work after an open request before it
    /// has replied.
    fn next(&mut self) -> &mut Work {
        match self.questions.front_mut() {
            Some(question) => &mut question.work,
            None => &mut self.rest,
        }
    }
}

/// A request that has received its reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RepliedRequest {
    pub(super) requested_at: u64,
    pub(super) request: Symbol,
}

/// A client that waits for a reply or for the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WaitingClient {
    pub(super) client: ConnectionId,
    /// The time of the client's first request that waits, in nanoseconds.
    pub(super) since: u64,
    pub(super) requests: u64,
}

/// The client that the server worked for, by estimated cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blamed {
    pub(super) client: ConnectionId,
    pub(super) request: Option<Symbol>,
    /// True if the server did no work for other clients.
    pub(super) alone: bool,
}

/// The requests of all clients that the server may not have handled yet.
#[derive(Debug, Default)]
pub(super) struct Queue {
    clients: PerClient<ClientQueue>,
    /// Clients with work that the server may do next. A reply concerns only these.
    ready: Vec<ConnectionId>,
    /// Open requests by time, without those that a later reply overtook.
    waiting: BTreeMap<(u64, ConnectionId, SequenceNumber), Symbol>,
    /// The work of each client that is known to be handled since the last [`Queue::forget_done`].
    done: FxHashMap<ConnectionId, Work>,
}

impl Queue {
    /// Adds equal requests that `client` sent at `time` (nanoseconds). `cost` has the cost of one request and the
    /// number of requests. `answered` is true if the request has a reply by the protocol.
    pub(super) fn sent(
        &mut self,
        client: ConnectionId,
        (request, sequence): (Symbol, SequenceNumber),
        cost: (f64, u64),
        time: u64,
        answered: bool,
    ) {
        let Some(of) = self.clients.entry(client) else {
            return;
        };
        if !answered {
            of.rest.add(request, cost, time);
        } else {
            if of.questions.len() >= QUESTIONS
                && let Some(oldest) = of.questions.pop_front()
            {
                let oldest = (oldest.requested_at, client, oldest.sequence);
                self.waiting.remove(&oldest);
            }
            self.waiting.insert((time, client, sequence), request);
            of.questions.push_back(QueuedRequest {
                sequence,
                requested_at: time,
                request,
                cost: cost.0,
                work: std::mem::take(&mut of.rest),
            });
        }
        self.look_at(client);
    }

    /// Updates whether the client has work that can be done next, after a change of its queue.
    fn look_at(&mut self, client: ConnectionId) {
        if let Some(of) = self.clients.get_mut(client)
            && !of.ready
            && !of.next().kinds.is_empty()
        {
            of.ready = true;
            self.ready.push(client);
        }
    }

    /// Notes that a request of `client` received its reply: everything that the client sent before is handled. Returns
    /// the request; `None` if it is unknown.
    pub(super) fn answered(
        &mut self,
        client: ConnectionId,
        sequence: SequenceNumber,
    ) -> Option<RepliedRequest> {
        let of = self.clients.get_mut(client)?;
        let found = of
            .questions
            .binary_search_by_key(&sequence, |one| one.sequence);
        let at = found.ok()?;
        let done = self.done.entry(client).or_default();
        let mut answered = None;
        for question in of.questions.drain(..=at) {
            done.join(&question.work);
            done.add(question.request, (question.cost, 1), question.requested_at);
            let asked = (question.requested_at, client, question.sequence);
            self.waiting.remove(&asked);
            answered = Some(RepliedRequest {
                requested_at: question.requested_at,
                request: question.request,
            });
        }
        self.look_at(client);
        answered
    }

    /// Notes that a request sent at `time` received its reply before earlier requests of other clients: these wait for
    /// something other than the server.
    pub(super) fn overtaken(&mut self, time: u64) {
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 < time
        {
            first.remove();
        }
    }

    /// Marks all work that arrived by `until` as handled. Drops requests without a reply that clients sent before
    /// `since`, because they were handled long ago. Times are in nanoseconds.
    pub(super) fn done(&mut self, since: u64, until: u64) {
        self.ready.retain(|id| {
            let Some(client) = self.clients.get_mut(*id) else {
                return false;
            };
            let next = client.next();
            if !next.kinds.is_empty() && next.first > until {
                return true;
            }
            let work = std::mem::take(next);
            if !work.kinds.is_empty() && work.last >= since {
                self.done.entry(*id).or_default().join(&work);
            }
            client.ready = false;
            false
        });
    }

    /// The client with the highest total cost of handled work; `None` if no work was handled.
    pub(super) fn blamed(&self) -> Option<Blamed> {
        let done = self.done.iter().filter(|(_, work)| !work.kinds.is_empty());
        let by_cost = done.clone().map(|(id, work)| (work.cost(), *id, work));
        let most = by_cost.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        most.map(|(_, client, work)| Blamed {
            client,
            request: work.most_expensive(),
            alone: done.count() == 1,
        })
    }

    /// Drops the requests that are handled.
    pub(super) fn forget_done(&mut self) {
        self.done.clear();
    }

    /// The clients that wait for the reply to a request for which `counts` returns true, in the order of their
    /// connections.
    pub(super) fn waiting(&self, counts: impl Fn(Symbol) -> bool) -> Vec<WaitingClient> {
        let mut waiting: BTreeMap<ConnectionId, WaitingClient> = BTreeMap::new();
        let questions = self.waiting.iter().filter(|(_, request)| counts(**request));
        for ((since, client, _), _) in questions {
            let of = waiting.entry(*client).or_insert(WaitingClient {
                client: *client,
                since: *since,
                requests: 0,
            });
            of.requests += 1;
        }
        waiting.into_values().collect()
    }

    /// Removes the state of a client that has disconnected.
    pub(super) fn closed(&mut self, client: ConnectionId) {
        if let Some(mut of) = self.clients.remove(client) {
            let done = self.done.entry(client).or_default();
            for question in of.questions.drain(..) {
                done.join(&question.work);
                let asked = (question.requested_at, client, question.sequence);
                self.waiting.remove(&asked);
            }
            done.join(&of.rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{SequenceNumber, Symbol};
    use x11prof_trace::ConnectionId;

    use super::Queue;

    const A: ConnectionId = ConnectionId(1);
    const B: ConnectionId = ConnectionId(2);

    #[test]
    fn reply_marks_earlier_requests_done() {
        let mut queue = Queue::default();
        let mut sent = |client, name: &str, number, cost, time, asks| {
            let request = (Symbol::new(name), SequenceNumber(number));
            queue.sent(client, request, (cost, 1), time, asks);
        };
        sent(A, "PutImage", 1, 50.0, 10, false);
        sent(A, "GetImage", 2, 20.0, 11, true);
        sent(A, "PolyPoint", 3, 99.0, 12, false);
        sent(B, "GetInputFocus", 1, 1.0, 13, true);
        assert_eq!(queue.waiting(|_| true).len(), 2);
        let answered = queue.answered(A, SequenceNumber(2)).unwrap();
        assert_eq!(
            (answered.requested_at, answered.request.as_str()),
            (11, "GetImage")
        );
        let blamed = queue.blamed().unwrap();
        assert_eq!((blamed.client, blamed.alone), (A, true));
        assert_eq!(blamed.request.unwrap().as_str(), "PutImage");
        let waiting = queue.waiting(|_| true);
        assert_eq!(
            (waiting.len(), waiting[0].client, waiting[0].since),
            (1, B, 13)
        );

        // Requests without a reply count once the server has turned to other clients.
        queue.forget_done();
        queue.answered(B, SequenceNumber(1)).unwrap();
        assert_eq!(queue.blamed().unwrap().client, B);
        queue.done(0, 100);
        let blamed = queue.blamed().unwrap();
        assert_eq!((blamed.client, blamed.alone), (A, false));
        queue.forget_done();
        assert_eq!(queue.blamed(), None);
    }
}
