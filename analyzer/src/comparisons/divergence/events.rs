//! Compares the events of a client in both recordings.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;

use super::alignment::{Hunk, align};
use super::streams::{ClientStream, DisplayStreams, Received};
use super::{ClientPair, Divergence, ReceivedPair};

impl Divergence {
    /// Aligns the events of a client, and the errors without a known request. Events do not belong to a request, so
    /// they are aligned separately.
    pub(super) fn events(
        &mut self,
        pair: &mut ClientPair,
        displays: [&DisplayStreams; 2],
        [first, second]: [&ClientStream; 2],
    ) {
        let of = |client: &ClientStream| -> Vec<usize> {
            let all = client.received.iter().enumerate();
            let all = all.filter(|(index, (kind, one))| {
                matches!(kind, Received::Event | Received::Error)
                    && !client.is_answer(*index)
                    && !(self.is_replay && one.is_from_outside)
            });
            all.map(|(index, _)| index).collect()
        };
        let (events, partners) = (of(first), of(second));
        let hashes = |client: &ClientStream, events: &[usize]| -> Vec<u64> {
            let hash = |index: &usize| client.received[*index].1.hash;
            events.iter().map(hash).collect()
        };
        let (left, right) = (hashes(first, &events), hashes(second, &partners));
        let mut alignment = align(&left, &right, &mut self.alignment_steps);
        let is_late = |index: Option<&usize>, goes_on: &ClientStream, ends: &ClientStream| {
            let event = index.map(|index| &goes_on.received[*index].1);
            event.is_some_and(|event| event.requests_before as usize >= ends.requests.len())
        };
        self.cut_off(&mut alignment, displays, [first, second], |last| {
            is_late(events.get(last.reference.start), first, second)
                || is_late(partners.get(last.other.start), second, first)
        });
        for (i, j) in alignment.equal {
            self.received(pair, [first, second], [&events[i..=i], &partners[j..=j]]);
        }
        let (is_replay, earlier) = (self.is_replay, pair.received.len());
        for Hunk {
            reference,
            mut other,
        } in alignment.hunks
        {
            // After the recording's end the replay goes on until its clients have closed.
            while is_replay
                && reference.start == events.len()
                && let Some(last) = partners[other.clone()].last()
                && second.received[*last].1.requests_before as usize == second.requests.len()
            {
                other.end -= 1;
            }
            self.unequal_events(pair, [first, second], &events[reference], &partners[other]);
        }
        join_moved(&mut pair.received, earlier);
        // The player of a replay closes a connection after its last request.
        let is_known = |client: &ClientStream, one: &ReceivedPair| match is_replay {
            true => {
                one.kind != Received::Event
                    || (one.requests_before as usize) < client.requests.len()
            }
            false => !client.ended_before(one.requests_before),
        };
        pair.received.retain(|one| match one.places {
            // A replay sends its requests at other times, so its events come in another order.
            [Some(_), Some(_)] => !(is_replay && one.is_moved),
            [Some(_), None] => is_known(second, one),
            [None, Some(_)] => is_replay || is_known(first, one),
            [None, None] => false,
        });
    }

    /// Aligns the events between two equal events: events of the same name are compared in order.
    fn unequal_events(
        &mut self,
        pair: &mut ClientPair,
        clients: [&ClientStream; 2],
        first: &[usize],
        second: &[usize],
    ) {
        let mut by_name: BTreeMap<Symbol, [Vec<usize>; 2]> = BTreeMap::new();
        for (side, events) in [first, second].into_iter().enumerate() {
            for index in events {
                let name = clients[side].received[*index].1.name;
                by_name.entry(name).or_default()[side].push(*index);
            }
        }
        for [first, second] in by_name.values() {
            self.received(pair, clients, [first, second]);
        }
    }
}

/// Joins the differences after the `earlier` ones: an event that only the reference has with an equal event that only the
/// other recording has, at another position. The latter remains without a place.
fn join_moved(received: &mut [ReceivedPair], earlier: usize) {
    let mut missing: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for at in (earlier..received.len()).rev() {
        if received[at].places[1].is_none() {
            missing.entry(received[at].hash).or_default().push(at);
        }
    }
    for at in earlier..received.len() {
        let (hash, [first, place]) = (received[at].hash, received[at].places);
        if first.is_none()
            && let Some(partner) = missing.get_mut(&hash).and_then(Vec::pop)
        {
            received[at].places[1] = None;
            received[partner].places[1] = place;
            received[partner].is_moved = true;
        }
    }
}
