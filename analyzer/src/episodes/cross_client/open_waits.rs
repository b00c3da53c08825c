//! The open requests of each client, to find clients that cannot reply because they wait for a reply themselves.

use std::collections::VecDeque;

use x11prof_trace::Timestamp;

use crate::episodes::awaited::AwaitedRequest;
use crate::pipeline::open_requests::OpenRequest;

/// Maximum number of waits kept; the latest are kept.
const MAX_WAITS: usize = 256;

/// A wait for a reply, open or ended.
#[derive(Debug)]
struct OpenWait {
    request: OpenRequest,
    until: Option<Timestamp>,
}

/// The latest waits for open requests of all clients.
#[derive(Debug, Default)]
pub(crate) struct OpenWaits(VecDeque<OpenWait>);

impl OpenWaits {
    /// Adds an open request, or updates the client that it has reached.
    pub(crate) fn opened(&mut self, request: &OpenRequest) {
        match self.find(request) {
            Some(known) => known.request = *request,
            None => {
                if self.0.len() == MAX_WAITS {
                    self.0.pop_front();
                }
                self.0.push_back(OpenWait {
                    request: *request,
                    until: None,
                });
            }
        }
    }

    /// Ends the wait for an open request at `time` (nanoseconds).
    pub(crate) fn over(&mut self, request: &OpenRequest, time: u64) {
        if let Some(known) = self.find(request) {
            known.until = Some(Timestamp::from_nanos(time));
        }
    }

    fn find(&mut self, request: &OpenRequest) -> Option<&mut OpenWait> {
        let mut all = self.0.iter_mut().rev();
        all.find(|one| one.request.number == request.number)
    }

    /// Sets the field `behind` of each wait to the open request that the other client waited for during more than half
    /// of the wait.
    pub(crate) fn explain(&self, waits: &mut [AwaitedRequest]) {
        for wait in waits {
            let overlap = |one: &OpenWait| {
                let from = one.request.since.max(wait.request.since);
                let until = one.until.map_or(wait.until, |until| until.min(wait.until));
                until.since(from).as_nanos()
            };
            let party = self.0.iter();
            let party = party.filter(|one| Some(one.request.client) == wait.request.party);
            let longest = party.max_by_key(|one| overlap(one));
            let longest = longest.filter(|one| overlap(one) * 2 > u128::from(wait.nanos()));
            wait.behind = longest.map(|one| one.request);
        }
    }
}
