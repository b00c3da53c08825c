//! Matches the times of the server's handlers with the requests of the trace, by client and sequence number.
//!
//! The server reports a client's index, which is part of the client's resource IDs, and the low bits of the sequence
//! number. Times arrive after their requests, except with an attached recorder, which receives requests later.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use x11prof_protocol::SequenceNumber;
use x11prof_trace::{ConnectionId, HandlerTime, Timestamp};

/// Maximum number of requests, or of times, of one client that wait for a match. Beyond it, the oldest count as
/// unmatched.
const WAITING_LIMIT: u64 = 1 << 16;

/// Requests that wait for their handler times, and handler times that wait for their requests. `K` identifies a
/// request.
#[derive(Debug)]
pub(crate) struct Timed<K> {
    /// The index in the server of each connection's client.
    indices: FxHashMap<ConnectionId, u16>,
    clients: FxHashMap<u16, Client<K>>,
}

#[derive(Debug)]
struct Client<K> {
    requests: VecDeque<Waiting<K>>,
    /// The number of requests that wait for a handler time.
    waits: u64,
    /// The handlers' times, each with the nanoseconds of one of its requests.
    times: VecDeque<(HandlerTime, f64)>,
    /// The last request that matched a handler time. The server may suspend a client and handle the same request again.
    met: Option<(u16, K)>,
}

/// Equal requests, one after the other.
#[derive(Debug)]
struct Waiting<K> {
    first: u16,
    count: u64,
    key: K,
}

impl<K> Waiting<K> {
    fn pass(&mut self, times: u64) {
        self.first = self.first.wrapping_add(times as u16);
        self.count -= times;
    }
}

/// A match of requests with a handler time, or a handler time without a request.
#[derive(Debug)]
pub(crate) enum Match<K> {
    /// Requests with this key were handled: their number, the nanoseconds of their handlers, and the start of the first
    /// handler.
    Timed(K, u64, f64, Timestamp),
    /// The server handled requests that are not in the trace: the start of the handler, and its nanoseconds.
    Unclaimed(Timestamp, f64),
}

impl<K: Copy> Timed<K> {
    pub(crate) fn new() -> Timed<K> {
        Timed {
            indices: FxHashMap::default(),
            clients: FxHashMap::default(),
        }
    }

    /// Stores the resource ids (base and mask) that the server assigned to `connection`. An earlier client with the
    /// same index has disconnected.
    pub(crate) fn accepted(
        &mut self,
        connection: ConnectionId,
        (first, mask): (u32, u32),
        on: &mut dyn FnMut(Match<K>),
    ) {
        let index = first.checked_shr(mask.count_ones());
        let Some(index) = index.and_then(|index| u16::try_from(index).ok()) else {
            return;
        };
        self.indices.insert(connection, index);
        if let Some(before) = self.clients.insert(index, Client::new()) {
            before.end(on);
        }
    }

    pub(crate) fn closed(&mut self, connection: ConnectionId) {
        // Requests that the server is still handling precede the next client with the index.
        self.indices.remove(&connection);
    }

    /// Adds `times` equal requests of `connection`; `first` is the sequence number of the first, and `key` identifies
    /// them. Returns false if the client's index in the server is unknown.
    pub(crate) fn requests(
        &mut self,
        (connection, first): (ConnectionId, SequenceNumber),
        times: u64,
        key: K,
        on: &mut dyn FnMut(Match<K>),
    ) -> bool {
        let index = self.indices.get(&connection);
        let Some(client) = index.and_then(|index| self.clients.get_mut(index)) else {
            return false;
        };
        client.waits += times;
        client.requests.push_back(Waiting {
            first: low_bits(first),
            count: times,
            key,
        });
        client.settle(on);
        true
    }

    /// Adds a handler time; `nanos` is its CPU time in nanoseconds.
    pub(crate) fn handled(&mut self, time: &HandlerTime, nanos: u64, on: &mut dyn FnMut(Match<K>)) {
        let Some(client) = self
            .clients
            .get_mut(&time.client)
            .filter(|_| time.count > 0)
        else {
            return on(Match::Unclaimed(time.start, nanos as f64));
        };
        let each = nanos as f64 / f64::from(time.count);
        client.times.push_back((*time, each));
        client.settle(on);
    }

    /// Ends the trace: requests and handler times that still wait have no match.
    pub(crate) fn end(&mut self, on: &mut dyn FnMut(Match<K>)) {
        for client in self.clients.values_mut() {
            std::mem::replace(client, Client::new()).end(on);
        }
    }
}

impl<K: Copy> Client<K> {
    fn new() -> Client<K> {
        Client {
            requests: VecDeque::new(),
            waits: 0,
            times: VecDeque::new(),
            met: None,
        }
    }

    /// Matches the waiting requests and handler times of each client as far as possible.
    fn settle(&mut self, on: &mut dyn FnMut(Match<K>)) {
        while let (Some(waiting), Some((time, each))) =
            (self.requests.front_mut(), self.times.front_mut())
        {
            if let Some((sequence, key)) = self.met
                && sequence == time.sequence
                && waiting.first != sequence
            {
                on(Match::Timed(key, 0, *each, time.start));
                time.sequence = time.sequence.wrapping_add(1);
                time.count -= 1;
                self.times.pop_front_if(|(time, _)| time.count == 0);
                continue;
            }
            // Sequence numbers wrap; fewer than half of them are in flight.
            let after = waiting.first.wrapping_sub(time.sequence).cast_signed();
            let lost = match after < 0 {
                true => waiting.count.min(after.unsigned_abs().into()),
                false => 0,
            };
            let skipped = u32::from(after.max(0).unsigned_abs()).min(time.count);
            if skipped > 0 {
                on(Match::Unclaimed(time.start, *each * f64::from(skipped)));
            }
            // The next request of the trace is the next one that the time covers.
            let met = match lost > 0 {
                true => 0,
                false => u64::from(time.count - skipped).min(waiting.count),
            };
            if met > 0 {
                on(Match::Timed(
                    waiting.key,
                    met,
                    *each * met as f64,
                    time.start,
                ));
                let last = waiting.first.wrapping_add((met - 1) as u16);
                self.met = Some((last, waiting.key));
            }
            waiting.pass(lost + met);
            self.waits -= lost + met;
            let passed = skipped + met as u32;
            time.sequence = time.sequence.wrapping_add(passed as u16);
            time.count -= passed;
            self.requests.pop_front_if(|waiting| waiting.count == 0);
            self.times.pop_front_if(|(time, _)| time.count == 0);
        }
        while let Some(beyond) = self.waits.checked_sub(WAITING_LIMIT + 1)
            && let Some(waiting) = self.requests.front_mut()
        {
            let lost = waiting.count.min(beyond + 1);
            waiting.pass(lost);
            self.waits -= lost;
            self.requests.pop_front_if(|waiting| waiting.count == 0);
        }
        if self.times.len() as u64 > WAITING_LIMIT
            && let Some((time, each)) = self.times.pop_front()
        {
            on(Match::Unclaimed(time.start, each * f64::from(time.count)));
        }
    }

    fn end(self, on: &mut dyn FnMut(Match<K>)) {
        for (time, each) in self.times {
            let nanos = each * f64::from(time.count);
            on(match self.met {
                Some((sequence, key)) if sequence == time.sequence => {
                    Match::Timed(key, 0, nanos, time.start)
                }
                _ => Match::Unclaimed(time.start, nanos),
            });
        }
    }
}

/// The bits of a sequence number that the server reports.
fn low_bits(sequence: SequenceNumber) -> u16 {
    sequence.0 as u16
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::SequenceNumber;
    use x11prof_trace::{ConnectionId, HandlerTime, Timestamp};

    use super::{Match, Timed};

    const CLIENT: ConnectionId = ConnectionId(9);

    fn timed() -> Timed<char> {
        let mut timed = Timed::new();
        let ids = (3 << 21, (1 << 21) - 1);
        timed.accepted(CLIENT, ids, &mut |_| panic!("nobody was there"));
        timed
    }

    fn time(sequence: u16, count: u32) -> HandlerTime {
        HandlerTime {
            start: Timestamp::from_nanos(0),
            took_ns: 0,
            client: 3,
            sequence,
            count,
        }
    }

    /// Adds the match in a few words.
    fn reported(into: &mut String, happened: Match<char>) {
        into.push_str(&match happened {
            Match::Timed(key, _, nanos, _) => format!("{key}{nanos} "),
            Match::Unclaimed(_, nanos) => format!("?{nanos} "),
        });
    }

    #[test]
    fn requests_and_handler_times_match_in_either_order() {
        let (mut timed, mut all) = (timed(), String::new());
        let on = &mut |happened| reported(&mut all, happened);
        assert!(timed.requests((CLIENT, SequenceNumber(0xFFFF)), 1, 'a', on));
        timed.handled(&time(0xFFFF, 1), 5, on);
        // Two of three requests are in the trace: another recorder sent the first for itself.
        timed.handled(&time(0, 3), 30, on);
        timed.requests((CLIENT, SequenceNumber(0x1_0001)), 1, 'b', on);
        timed.requests((CLIENT, SequenceNumber(0x1_0002)), 1, 'c', on);
        assert_eq!(all, "a5 ?10 b10 c10 ");
    }

    #[test]
    fn request_handled_again_keeps_every_time() {
        let (mut timed, mut all) = (timed(), String::new());
        let on = &mut |happened| reported(&mut all, happened);
        timed.requests((CLIENT, SequenceNumber(7)), 2, 'a', on);
        timed.handled(&time(7, 2), 10, on);
        // The second request slept, and was handled twice more.
        timed.handled(&time(8, 1), 3, on);
        timed.handled(&time(8, 1), 4, on);
        timed.handled(&time(9, 1), 6, on);
        timed.requests((CLIENT, SequenceNumber(9)), 1, 'b', on);
        timed.handled(&time(9, 1), 2, on);
        timed.end(on);
        assert_eq!(all, "a10 a3 a4 b6 b2 ");
    }

    #[test]
    fn unmatched_handler_times_are_reported() {
        let (mut timed, mut all) = (timed(), String::new());
        let on = &mut |happened| reported(&mut all, happened);
        timed.requests((CLIENT, SequenceNumber(1)), 1, 'a', on);
        timed.requests((CLIENT, SequenceNumber(2)), 1, 'b', on);
        timed.handled(&time(2, 1), 7, on);
        timed.requests((CLIENT, SequenceNumber(3)), 1, 'c', on);
        timed.handled(
            &HandlerTime {
                client: 4,
                ..time(1, 1)
            },
            8,
            on,
        );
        timed.end(on);
        timed.handled(&time(4, 2), 9, on);
        timed.end(on);
        assert_eq!(all, "b7 ?8 ?9 ");
        assert!(!timed.requests((ConnectionId(1), SequenceNumber(1)), 1, 'x', &mut |_| {}));
    }
}
