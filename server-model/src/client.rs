//! One client's requests and answers, as far as prices go.

use std::collections::VecDeque;

use x11prof_cost_model::{Cost, Micros};
use x11prof_protocol::{SequenceNumber, Symbol};

use crate::clock::Time;

/// Prices kept for each client until an answer shows that their requests did not fail.
/// A request that fails with more than this many behind it keeps its full price.
const RECENT: usize = 4096;

/// A price that an error may still correct.
pub(crate) struct PricedRequest {
    pub(crate) sequence: SequenceNumber,
    pub(crate) request: Symbol,
    pub(crate) server: Cost,
    pub(crate) fixed: Cost,
    pub(crate) blocking: bool,
}

/// One client.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) latest: SequenceNumber,
    recent: VecDeque<PricedRequest>,
    /// Wakeups charged for a request that has not ended yet.
    pub(crate) unblamed: Option<Cost>,
    /// When the reply to its latest request or an event came, where nothing of it has come since.
    pub(crate) awaited: Option<Time>,
    /// The server wrote to this client, and no message of that write has ended yet: the first
    /// one bears the write's cost.
    pub(crate) written: bool,
    /// When the server last wrote what some request of its last batches calls for.
    pub(crate) told: Option<Time>,
    /// For how long the client has run when it was told so, in all, and the server before it told it.
    ran: Micros,
    served: Micros,
}

impl Client {
    /// The client has run for `ran` behind what the server, at work for `served`, told it: whether it has run
    /// less than the server so far. Of two that share a processor, a scheduler that is fair lets that one go on.
    pub(crate) fn runs_first(&mut self, ran: Micros, served: Micros) -> bool {
        self.ran += ran;
        self.served += served;
        self.ran.0 < self.served.0
    }

    /// A request came at such a price.
    pub(crate) fn asked(&mut self, recent: PricedRequest) {
        self.latest = recent.sequence;
        self.awaited = None;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(recent);
    }

    /// The server has got as far as `sequence`: nothing before it can fail any more.
    pub(crate) fn answered(&mut self, sequence: SequenceNumber) {
        while self
            .recent
            .front()
            .is_some_and(|front| front.sequence < sequence)
        {
            self.recent.pop_front();
        }
    }

    /// The price of the request that failed, where it is still known. A request fails once: taken out, it is
    /// corrected once.
    pub(crate) fn failed(&mut self, sequence: SequenceNumber) -> Option<PricedRequest> {
        self.answered(sequence);
        let front = self.recent.front()?;
        (front.sequence == sequence)
            .then(|| self.recent.pop_front())
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::Client;

    #[test]
    fn who_has_run_less_runs_first() {
        let mut client = Client::default();
        assert!(client.runs_first(Micros(10.0), Micros(20.0)));
        assert!(client.runs_first(Micros(25.0), Micros(20.0)));
        assert!(!client.runs_first(Micros(10.0), Micros(5.0)));
        assert!(!client.runs_first(Micros(10.0), Micros(10.0)));
    }
}
