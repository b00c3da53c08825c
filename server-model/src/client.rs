//! The charged costs of a client's requests, which are stored until the server's messages show that the requests did
//! not fail.

use std::collections::VecDeque;

use x11prof_cost_model::Cost;
use x11prof_protocol::{SequenceNumber, Symbol};

/// The maximum number of stored costs of a client. If a request fails after the client has sent more requests than
/// this, the request's charge is not corrected.
const COST_LIMIT: usize = 4096;

/// The charged cost of a request, or of several equal consecutive requests. An error may still correct the charge.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct ChargedRequest {
    /// The sequence number of the first of the requests that may still fail.
    pub(crate) sequence: SequenceNumber,
    pub(crate) request: Symbol,
    pub(crate) server: Cost,
    pub(crate) fixed: Cost,
}

/// The model's state for a client.
#[derive(Default)]
pub(crate) struct Client {
    /// The sequence number of the client's latest request.
    pub(crate) latest: SequenceNumber,
    /// The charged costs of requests. Each entry represents consecutive equal requests, up to the sequence number in
    /// the second value.
    charged: VecDeque<(ChargedRequest, SequenceNumber)>,
    /// The sum of the costs of wakeups that were charged before their request was known; `None` if there are none.
    pub(crate) wakeups: Option<Cost>,
}

impl Client {
    /// Notes that the client sent a request with this cost.
    pub(crate) fn requested(&mut self, request: ChargedRequest) {
        let before = std::mem::replace(&mut self.latest, request.sequence);
        if let Some((alike, last)) = self.charged.back_mut()
            && *last == before
            && before.next() == request.sequence
            && (ChargedRequest {
                sequence: alike.sequence,
                ..request
            }) == *alike
        {
            *last = request.sequence;
            return;
        }
        if self.charged.len() == COST_LIMIT {
            self.charged.pop_front();
        }
        self.charged.push_back((request, request.sequence));
    }

    /// Notes that the client sent `times` more requests that equal its latest one.
    pub(crate) fn repeated(&mut self, times: u64) {
        self.latest.0 += times;
        if let Some((_, last)) = self.charged.back_mut() {
            last.0 += times;
        }
    }

    /// Notes that the server has handled all requests before the sequence number `sequence`, so they cannot fail any
    /// more.
    pub(crate) fn answered(&mut self, sequence: SequenceNumber) {
        while self
            .charged
            .pop_front_if(|(_, last)| *last < sequence)
            .is_some()
        {}
        if let Some((front, _)) = self.charged.front_mut() {
            front.sequence = front.sequence.max(sequence);
        }
    }

    /// Removes and returns the cost of the failed request with this sequence number; `None` if it is no longer stored.
    /// A request can fail only once.
    pub(crate) fn failed(&mut self, sequence: SequenceNumber) -> Option<ChargedRequest> {
        self.answered(sequence);
        let (front, last) = self.charged.front_mut()?;
        let failed = (front.sequence == sequence).then_some(*front)?;
        if sequence == *last {
            self.charged.pop_front();
        } else {
            front.sequence = sequence.next();
        }
        Some(failed)
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Cost;
    use x11prof_protocol::SequenceNumber;

    use super::{ChargedRequest, Client};

    #[test]
    fn repeated_requests_can_fail_individually() {
        let (mut client, number) = (Client::default(), SequenceNumber);
        for (sequence, request) in (1..=6).zip(["A", "B", "B", "B", "B", "A"]) {
            client.requested(ChargedRequest {
                sequence: number(sequence),
                request: request.into(),
                server: Cost::default(),
                fixed: Cost::default(),
            });
        }
        assert_eq!(client.charged.len(), 3);
        let mut failed = |sequence| {
            let failed = client.failed(number(sequence));
            failed.map(|failed| (failed.sequence.0, failed.request.as_str()))
        };
        assert_eq!(failed(3), Some((3, "B")));
        assert_eq!(failed(3), None);
        assert_eq!(failed(2), None);
        assert_eq!(failed(5), Some((5, "B")));
        assert_eq!(failed(6), Some((6, "A")));
        assert_eq!(failed(7), None);
    }
}
