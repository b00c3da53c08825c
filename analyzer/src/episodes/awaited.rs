//! The open requests of an episode: its client waits for other clients, or for the screen's clock.

use x11prof_trace::{ConnectionId, Timestamp};

use crate::pipeline::open_requests::{OpenKind, OpenRequest};

/// Maximum number of open requests, and of ended waits, kept for an episode.
const MAX_KEPT: usize = 16;

/// The end of a client's wait for the reply to an open request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedOutcome {
    /// The reply that the client waited for arrived.
    Answered,
    /// The client continued without the reply.
    GaveUp,
    /// The trace or the connection ended without a reply.
    Unanswered,
}

/// An open request of an episode (a request to another client), and the end of the wait for its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedRequest {
    /// The open request, for whose reply the client waited.
    pub request: OpenRequest,
    /// The time at which the wait ended.
    pub until: Timestamp,
    /// How the wait for the reply ended.
    pub outcome: AwaitedOutcome,
    /// The open request whose reply the other client waited for during this wait; `None` if there is none.
    pub behind: Option<OpenRequest>,
}

impl AwaitedRequest {
    /// The wait for an open request that has lasted until `until`.
    pub(crate) fn unanswered(request: &OpenRequest, until: Timestamp) -> AwaitedRequest {
        AwaitedRequest {
            request: *request,
            until,
            outcome: AwaitedOutcome::Unanswered,
            behind: None,
        }
    }

    /// The length of the wait in nanoseconds.
    pub fn nanos(&self) -> u64 {
        let waited = self.until.since(self.request.since).as_nanos();
        u64::try_from(waited).unwrap_or(u64::MAX)
    }
}

/// The open requests of an episode, and the longest waits that have ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Awaits {
    pub(super) open: Vec<OpenRequest>,
    over: Vec<AwaitedRequest>,
}

impl Awaits {
    /// Returns the latest open request, whose reply the client waits for; `None` if there is none.
    pub(crate) fn current(&self) -> Option<&OpenRequest> {
        self.open.last()
    }

    /// Returns the request whose reply the client waits for. If there is none, returns a request whose wait has ended.
    pub(crate) fn latest(&self) -> Option<&OpenRequest> {
        let over = self.over.last().map(|one| &one.request);
        self.current().or(over)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns true at `time` (nanoseconds) if the client waits for a reply of `party`, or has just received it.
    pub(crate) fn waits_for(&self, party: ConnectionId, time: u64) -> bool {
        let over = self.over.iter().filter(|one| one.until.as_nanos() == time);
        let mut all = self.open.iter().chain(over.map(|one| &one.request));
        all.any(|one| one.party == Some(party))
    }

    /// Returns true if the client cannot continue its action until the reply to an open request has arrived.
    pub(crate) fn blocks(&self) -> bool {
        self.open.iter().any(|one| one.kind.definition().blocks)
    }

    pub(crate) fn opens(&mut self, request: OpenRequest) {
        if self.open.len() < MAX_KEPT {
            self.open.push(request);
        }
    }

    /// Stores the client `party` that open request `number` has reached.
    pub(crate) fn reached(&mut self, number: u64, party: Option<ConnectionId>) {
        let mut open = self.open.iter_mut();
        if let Some(one) = open.find(|one| one.number == number) {
            one.party = party;
        }
    }

    /// Ends the wait for open request `number` at `time` (nanoseconds). Returns false if the episode has no such
    /// request.
    pub(crate) fn ends(&mut self, number: u64, time: u64, outcome: AwaitedOutcome) -> bool {
        let Some(at) = self.open.iter().position(|one| one.number == number) else {
            return false;
        };
        let request = self.open.remove(at);
        let wait = AwaitedRequest::unanswered(&request, Timestamp::from_nanos(time));
        self.over.push(AwaitedRequest { outcome, ..wait });
        if self.over.len() > MAX_KEPT {
            self.over.sort_by_key(|one| std::cmp::Reverse(one.nanos()));
            self.over.pop();
        }
        true
    }

    /// The time of the last reply to an open request, in nanoseconds; `None` if no reply has arrived. Selection owners
    /// and window managers do not have to wait for the replies to pieces and pings.
    pub(crate) fn answered_at(&self) -> Option<u64> {
        let answered = self.over.iter().filter(|one| {
            one.outcome == AwaitedOutcome::Answered
                && !matches!(one.request.kind, OpenKind::PieceTaken | OpenKind::Ping)
        });
        answered.map(|one| one.until.as_nanos()).max()
    }

    /// Ends all waits at `time` (nanoseconds) with this outcome.
    pub(crate) fn end_all(&mut self, time: u64, outcome: AwaitedOutcome) {
        while let Some(one) = self.current() {
            self.ends(one.number, time, outcome);
        }
    }

    /// Ends all waits with the episode at `end` (nanoseconds), also for replies that came later if the client had given
    /// up.
    pub(crate) fn end_by(&mut self, end: u64, gave_up: bool) {
        self.end_all(end, AwaitedOutcome::Unanswered);
        let end = Timestamp::from_nanos(end);
        for one in self.over.iter_mut().filter(|one| one.until >= end) {
            match one.outcome {
                AwaitedOutcome::Answered if !gave_up => {}
                _ if gave_up => (one.until, one.outcome) = (end, AwaitedOutcome::GaveUp),
                _ => one.until = end,
            }
        }
    }

    /// Returns the waits that have ended, the longest first.
    pub(crate) fn finish(mut self) -> Vec<AwaitedRequest> {
        self.over.sort_by_key(|one| std::cmp::Reverse(one.nanos()));
        self.over
    }
}
