//! Events that a client causes itself. When it shows, hides or moves a window, the pointer is in another window without
//! having moved, or the visibility of other windows changes. The server sends these events while it handles the
//! request, so they have the request's sequence number.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::{Request, SequenceNumber};
use x11prof_trace::ConnectionId;

/// Maximum number of requests kept for a client; the latest are kept.
const KEPT: usize = 16;
/// An event that arrives later than this after the request, in nanoseconds, has another cause.
const WITHIN: u64 = 50_000_000;

/// Each client's latest requests that show, hide or move windows, or move the pointer; each with its time in
/// nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Crossings(HashMap<ConnectionId, VecDeque<(SequenceNumber, u64)>>);

impl Crossings {
    /// Notes a request that `client` sent at `time` (nanoseconds).
    pub(crate) fn request(&mut self, time: u64, client: ConnectionId, request: &Request<'_>) {
        if matches!(
            request.name.as_str(),
            "MapWindow"
                | "MapSubwindows"
                | "UnmapWindow"
                | "UnmapSubwindows"
                | "ConfigureWindow"
                | "CirculateWindow"
                | "ReparentWindow"
                | "DestroyWindow"
                | "DestroySubwindows"
                | "WarpPointer"
        ) {
            let known = self.0.entry(client).or_default();
            if known.len() == KEPT {
                known.pop_front();
            }
            known.push_back((request.sequence, time));
        }
    }

    /// True if the client itself caused an event that it received at `time` (nanoseconds). `after` is the sequence
    /// number in the event.
    pub(crate) fn made(
        &self,
        time: u64,
        client: ConnectionId,
        after: Option<SequenceNumber>,
    ) -> bool {
        let known = self.0.get(&client).into_iter().flatten();
        let mut same = known.filter(|(number, _)| Some(*number) == after);
        let recent = |(_, sent): &(SequenceNumber, u64)| time.saturating_sub(*sent) <= WITHIN;
        same.next().is_some_and(recent)
    }

    /// Drops the requests of a disconnected client.
    pub(crate) fn closed(&mut self, client: ConnectionId) {
        self.0.remove(&client);
    }
}
