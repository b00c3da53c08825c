//! The open requests of an episode: its client waits for other clients, or for the screen's clock.

use x11prof_trace::{ConnectionId, Timestamp};

use crate::pipeline::open_requests::OpenRequest;

/// Maximum number of requests kept for an episode.
const MAX_KEPT: usize = 16;

/// How a wait for a reply to an open request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedOutcome {
    /// The reply arrived.
    Answered,
    /// The client continued without the reply.
    GaveUp,
    /// The trace or the connection ended without a reply.
    Unanswered,
}

/// A request of an episode to another client, and how the wait for its reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedRequest {
    /// The request.
    pub request: OpenRequest,
    /// The end of the wait.
    pub until: Timestamp,
    /// The outcome of the wait.
    pub outcome: AwaitedOutcome,
    /// The request whose reply the other client waited for meanwhile.
    pub behind: Option<OpenRequest>,
}

impl AwaitedRequest {
    /// The length of the wait in nanoseconds.
    pub fn nanos(&self) -> u64 {
        let waited = self.until.since(self.request.since).as_nanos();
        u64::try_from(waited).unwrap_or(u64::MAX)
    }
}

/// The open requests of an episode, and the longest completed ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Awaits {
    open: Vec<OpenRequest>,
    over: Vec<AwaitedRequest>,
}

impl Awaits {
    /// The request that the client waits for: the latest open one.
    pub(crate) fn current(&self) -> Option<&OpenRequest> {
        self.open.last()
    }

    /// The request that the client waits for, or last waited for.
    pub(crate) fn latest(&self) -> Option<&OpenRequest> {
        let over = self.over.last().map(|one| &one.request);
        self.current().or(over)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// True if the client does nothing else for its action until a reply has arrived.
    pub(crate) fn blocks(&self) -> bool {
        self.open.iter().any(|one| one.kind.definition().blocks)
    }

    pub(crate) fn opens(&mut self, request: OpenRequest) {
        if self.open.len() < MAX_KEPT {
            self.open.push(request);
        }
    }

    /// Notes the client that a request has reached.
    pub(crate) fn reached(&mut self, number: u64, party: Option<ConnectionId>) {
        let mut open = self.open.iter_mut();
        if let Some(one) = open.find(|one| one.number == number) {
            one.party = party;
        }
    }

    /// Ends the wait for this request. Returns false if the episode has no such request.
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

    /// The time of the last reply.
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

    /// The ended waits, the longest first.
    pub(crate) fn finish(mut self) -> Vec<AwaitedRequest> {
        self.over.sort_by_key(|one| std::cmp::Reverse(one.nanos()));
        self.over
    }
}
