//! Finds the request that caused another client's event: the latest request with the same causal key that the server
//! can have handled before it sent the event.
//!
//! The protocol does not name the request that causes an event. The server sends the event while it handles the request
//! (protocol, section 9: replies and events are in the order of the requests). So the event is delivered before the
//! server is idle, and before the requester receives any later message from the server.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::{SequenceNumber, Symbol};
use x11prof_trace::ConnectionId;

use super::causal_edge::{CausalEdge, EpisodeId, TreePosition};
use super::causal_keys::{CausalKey, CausalRequest};
use crate::threads::delays::HANDED_ON_WITHIN;

/// Maximum number of requests kept. Beyond it, the oldest request is dropped, and its events have no known cause.
const MAX_CAUSES: usize = 4096;
/// Without other evidence, a request counts as handled this long after the client sent it, in nanoseconds.
const HANDLED_WITHIN: u64 = 1_000_000_000;
/// A message of the server is delivered within this time, in nanoseconds: the relay may have to wait for a processor.
const DELIVERED_WITHIN: u64 = 50_000_000;
/// The resolution of the server's clock in nanoseconds: it counts milliseconds.
const TICK: u64 = 1_000_000;

#[derive(Debug)]
struct Cause {
    causal_key: CausalKey,
    request: Symbol,
    sequence: SequenceNumber,
    sent: u64,
    by: TreePosition,
    /// The time by which the server had handled the request, in nanoseconds; `None` if unknown.
    handled: Option<u64>,
}

impl Cause {
    /// Returns the latest time in nanoseconds at which an event of this request can be delivered.
    fn until(&self) -> u64 {
        let handled = self
            .handled
            .unwrap_or(self.sent.saturating_add(HANDLED_WITHIN));
        handled.saturating_add(DELIVERED_WITHIN)
    }
}

/// The latest requests of each client that may cause events of other clients.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    /// The requests in the order of time; the first has the number `first`.
    all: VecDeque<Cause>,
    first: u64,
    /// The numbers of the requests, by causal key.
    causal_keys: HashMap<CausalKey, VecDeque<u64>>,
    /// Requests that the server may not have handled, by client.
    unhandled: HashMap<ConnectionId, VecDeque<u64>>,
}

impl Causes {
    /// Adds requests that a client sent at `time` (nanoseconds), in the episode at position `by`.
    pub(crate) fn sent(&mut self, time: u64, causal_requests: &[CausalRequest], by: TreePosition) {
        for act in causal_requests {
            let number = self.first + self.all.len() as u64;
            self.causal_keys
                .entry(act.causal_key)
                .or_default()
                .push_back(number);
            let unhandled = self.unhandled.entry(by.id.client).or_default();
            unhandled.push_back(number);
            self.all.push_back(Cause {
                causal_key: act.causal_key,
                request: act.request,
                sequence: act.sequence,
                sent: time,
                by,
                handled: None,
            });
        }
        while self.all.len() > MAX_CAUSES
            || self.all.front().is_some_and(|first| first.until() < time)
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(cause) = self.all.pop_front() {
            remove_first(&mut self.causal_keys, &cause.causal_key, self.first);
            remove_first(&mut self.unhandled, &cause.by.id.client, self.first);
            self.first += 1;
        }
    }

    fn get(&self, number: u64) -> Option<&Cause> {
        let at = number.checked_sub(self.first)?;
        self.all.get(usize::try_from(at).ok()?)
    }

    /// Notes that `client` received a message at `time` (nanoseconds) that the server sent after it had handled request
    /// `until`.
    pub(crate) fn answered(&mut self, time: u64, client: ConnectionId, until: SequenceNumber) {
        self.handle(time, client, |cause| cause.sequence <= until);
    }

    /// Notes that the server has been idle since `time` (nanoseconds). `grab` is the client that has grabbed the
    /// server.
    pub(crate) fn rests(&mut self, time: u64, grab: Option<ConnectionId>) {
        let clients: Vec<ConnectionId> = self.unhandled.keys().copied().collect();
        for client in clients {
            if grab.is_none_or(|by| by == client) {
                let came = |cause: &Cause| cause.sent.saturating_add(HANDED_ON_WITHIN) <= time;
                self.handle(time, client, came);
            }
        }
    }

    fn handle(&mut self, time: u64, client: ConnectionId, done: impl Fn(&Cause) -> bool) {
        let Some(unhandled) = self.unhandled.get_mut(&client) else {
            return;
        };
        while let Some(number) = unhandled.front() {
            let at = number.checked_sub(self.first);
            let at = at.and_then(|at| usize::try_from(at).ok());
            match at.and_then(|at| self.all.get_mut(at)) {
                Some(cause) if !done(cause) => break,
                Some(cause) => cause.handled = Some(time),
                None => {}
            }
            unhandled.pop_front();
        }
        if unhandled.is_empty() {
            self.unhandled.remove(&client);
        }
    }

    /// The cause of an event with one of these causal keys. `client` received the event at `time`; the event happened
    /// at or before `by`, by the server's clock. `None` if no such request is known, or if the client itself caused the
    /// event.
    pub(crate) fn find(
        &self,
        time: u64,
        by: Option<u64>,
        client: ConnectionId,
        causal_keys: &[CausalKey],
    ) -> Option<CausalEdge> {
        let until = by.map_or(time, |by| by.saturating_add(TICK).min(time));
        let valid = |number: &u64| {
            self.get(*number)
                .is_some_and(|cause| cause.sent <= until && time <= cause.until())
        };
        let of_sign = |causal_key: &CausalKey| {
            self.causal_keys
                .get(causal_key)?
                .iter()
                .rev()
                .copied()
                .find(valid)
        };
        let cause = self.get(causal_keys.iter().filter_map(of_sign).max()?)?;
        let by = cause.by;
        (by.id.client != client).then(|| CausalEdge {
            from: by.id,
            root: by.root,
            depth: by.depth + 1,
            after: (by.depth > 0).then_some(by.parent),
            begun: by.begun,
            request: cause.request,
            sent: cause.sent,
            delivered: time,
            held: None,
            unserved: 0,
            looped: false,
        })
    }

    /// Returns the first episodes of the trees to which an event after `time` (nanoseconds) may still add episodes.
    pub(crate) fn roots(&self, time: u64) -> impl Iterator<Item = EpisodeId> {
        let live = self.all.iter().filter(move |cause| cause.until() >= time);
        live.map(|cause| cause.by.root)
    }
}

/// Removes `number` from the list of a key if it is the first.
fn remove_first<K: std::hash::Hash + Eq>(of: &mut HashMap<K, VecDeque<u64>>, key: &K, number: u64) {
    if let Some(list) = of.get_mut(key) {
        list.pop_front_if(|first| *first == number);
        if list.is_empty() {
            of.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CausalRequest, Causes, EpisodeId, TreePosition};
    use crate::episodes::cross_client::causal_keys::{CausalKey, EffectKind};
    use x11prof_protocol::{SequenceNumber, Symbol};
    use x11prof_trace::ConnectionId;

    const MS: u64 = 1_000_000;
    const SIGN: CausalKey = CausalKey {
        kind: EffectKind::Property,
        window: 5,
        detail: 7,
    };

    fn act(sequence: u64, causal_key: CausalKey) -> CausalRequest {
        CausalRequest {
            sequence: SequenceNumber(sequence),
            request: Symbol::new("ChangeProperty"),
            causal_key,
        }
    }

    fn standing(client: u32, number: u64) -> TreePosition {
        let client = ConnectionId(client);
        TreePosition::of(EpisodeId { client, number }, None, 0)
    }

    fn found(
        causes: &Causes,
        time: u64,
        client: u32,
        causal_keys: &[CausalKey],
    ) -> Option<(u32, u64)> {
        let link = causes.find(time, None, ConnectionId(client), causal_keys)?;
        Some((link.from.client.0, link.from.number))
    }

    #[test]
    fn latest_request_with_same_key_is_the_cause() {
        let mut causes = Causes::default();
        causes.sent(10 * MS, &[act(1, SIGN)], standing(1, 4));
        let other = CausalKey { window: 6, ..SIGN };
        causes.sent(12 * MS, &[act(2, SIGN), act(3, other)], standing(2, 9));
        assert_eq!(found(&causes, 13 * MS, 3, &[SIGN]), Some((2, 9)));
        // The client caused the event itself.
        assert_eq!(found(&causes, 13 * MS, 2, &[SIGN]), None);
        // Only an equal key matches: another atom or kind does not.
        let atom = CausalKey { detail: 8, ..SIGN };
        let kind = CausalKey {
            kind: EffectKind::Map,
            ..SIGN
        };
        assert_eq!(found(&causes, 13 * MS, 3, &[atom, kind]), None);
        // On the server's clock, the second request came after the event.
        let by = Some(10 * MS + MS / 2);
        let link = causes.find(13 * MS, by, ConnectionId(3), &[SIGN]).unwrap();
        assert_eq!((link.from.client.0, link.sent), (1, 10 * MS));
    }

    #[test]
    fn causes_expire_once_the_server_handled_them() {
        let mut causes = Causes::default();
        causes.sent(10 * MS, &[act(1, SIGN)], standing(1, 0));
        assert!(found(&causes, 900 * MS, 3, &[SIGN]).is_some());
        assert!(found(&causes, 2000 * MS, 3, &[SIGN]).is_none());
        // The reply to a later request shows that the request was handled before.
        causes.answered(20 * MS, ConnectionId(1), SequenceNumber(2));
        assert!(found(&causes, 60 * MS, 3, &[SIGN]).is_some());
        assert!(found(&causes, 80 * MS, 3, &[SIGN]).is_none());
        // During another client's grab, a resting server has not handled the request.
        causes.sent(100 * MS, &[act(3, SIGN)], standing(1, 1));
        causes.rests(110 * MS, Some(ConnectionId(2)));
        assert!(found(&causes, 300 * MS, 3, &[SIGN]).is_some());
        causes.rests(310 * MS, None);
        assert!(found(&causes, 400 * MS, 3, &[SIGN]).is_none());
    }

    #[test]
    fn chain_depth_and_table_size_are_bounded() {
        let mut causes = Causes::default();
        let deep = TreePosition {
            depth: 8,
            parent: standing(4, 4).id,
            ..standing(1, 0)
        };
        for n in 0..10_000 {
            let causal_key = CausalKey { window: n, ..SIGN };
            causes.sent(MS, &[act(u64::from(n), causal_key)], deep);
        }
        assert_eq!((causes.all.len(), causes.causal_keys.len()), (4096, 4096));
        let last = CausalKey {
            window: 9999,
            ..SIGN
        };
        let link = causes.find(2 * MS, None, ConnectionId(3), &[last]).unwrap();
        assert_eq!((link.depth, link.from), (9, deep.id));
        let link = link.bounded();
        assert_eq!((link.depth, link.from), (8, deep.parent));
        causes.answered(2 * MS, ConnectionId(1), SequenceNumber(20_000));
        assert!(causes.unhandled.is_empty());
        causes.sent(3000 * MS, &[], deep);
        assert_eq!((causes.all.len(), causes.causal_keys.len()), (0, 0));
    }
}
