//! The open requests of an episode: its client waits for other clients, or for the screen's clock.

use x11prof_trace::{ConnectionId, Timestamp};

use crate::pipeline::open_requests::OpenRequest;

/// Requests kept of an episode, at most.
const MAX_KEPT: usize = 16;

/// The end of a wait for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedOutcome {
    /// The answer came.
    Answered,
    /// The client continued without the answer.
    GaveUp,
    /// The trace or the connection ended without an answer.
    Unanswered,
}

/// A request of an episode that another client has to answer, and how the wait for the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedRequest {
    /// The request.
    pub request: OpenRequest,
    /// The end of the wait.
    pub until: Timestamp,
    /// The outcome of the wait.
    pub outcome: AwaitedOutcome,
    /// The request for whose answer the other client waited meanwhile.
    pub behind: Option<OpenRequest>,
}

impl AwaitedRequest {
    /// The length of the wait in nanoseconds.
    pub fn nanos(&self) -> u64 {
        let waited = self.until.since(self.request.since).as_nanos();
        u64::try_from(waited).unwrap_or(u64::MAX)
    }
}

/// The open requests of an episode, and the longest of the completed ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Awaits {
    open: Vec<OpenRequest>,
    over: Vec<AwaitedRequest>,
}

impl Awaits {
    /// The request that the client waits for: the one opened last.
    pub(crate) fn current(&self) -> Option<&OpenRequest> {
        self.open.last()
    }

    /// The request that the client waits for, or has waited for last.
    pub(crate) fn latest(&self) -> Option<&OpenRequest> {
        let over = self.over.last().map(|one| &one.request);
        self.current().or(over)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// True if the client does nothing else for its action until one of the answers has come.
    pub(crate) fn blocks(&self) -> bool {
        self.open.iter().any(|one| one.kind.definition().blocks)
    }

    pub(crate) fn opens(&mut self, request: OpenRequest) {
        if self.open.len() < MAX_KEPT {
            self.open.push(request);
        }
    }

    /// The request has reached the client that has to answer it.
    pub(crate) fn reached(&mut self, number: u64, party: Option<ConnectionId>) {
        let mut open = self.open.iter_mut();
        if let Some(one) = open.find(|one| one.number == number) {
            one.party = party;
        }
    }

    /// Ends the wait for this request; false if the episode has no such request.
    pub(crate) fn ends(&mut self, number: u64, time: u64, outcome: AwaitedOutcome) -> bool {
        let Some(at) = self.open.iter().position(|one| one.number == number) else {
            return false;
        };
        let request = self.open.remove(at);
        self.over.push(AwaitedRequest {
            request,
            until: Timestamp::from_nanos(time),
            outcome,
            behind: None,
        });
        if self.over.len() > MAX_KEPT {
            self.over.sort_by_key(|one| std::cmp::Reverse(one.nanos()));
            self.over.pop();
        }
        true
    }

    /// The time of the last answer.
    pub(crate) fn answered_at(&self) -> Option<u64> {
        let answered = self.over.iter();
        let answered = answered.filter(|one| one.outcome == AwaitedOutcome::Answered);
        answered.map(|one| one.until.as_nanos()).max()
    }

    /// All waits end at `time`.
    pub(crate) fn end_all(&mut self, time: u64, outcome: AwaitedOutcome) {
        while let Some(one) = self.current() {
            self.ends(one.number, time, outcome);
        }
    }

    /// The waits that are over, the longest first.
    pub(crate) fn finish(mut self) -> Vec<AwaitedRequest> {
        self.over.sort_by_key(|one| std::cmp::Reverse(one.nanos()));
        self.over
    }
}
