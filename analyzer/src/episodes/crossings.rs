//! Events that a client makes itself: it shows, hides or moves a window, and the pointer is in another one
//! without anybody moving it, or other windows are seen more or less. The server sends them while it
//! handles the request, so they bear its sequence number.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::{Request, SequenceNumber};
use x11prof_trace::ConnectionId;

/// Requests of a client that are known, the latest.
const KEPT: usize = 16;
/// An event that comes later than this after the request, in nanoseconds, is another's.
const WITHIN: u64 = 50_000_000;

/// The latest requests that show, hide or move windows, or the pointer.
#[derive(Debug, Default)]
pub(crate) struct Crossings(HashMap<ConnectionId, VecDeque<(SequenceNumber, u64)>>);

impl Crossings {
    /// A client sent this at `time`.
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

    /// True if the client itself caused an event that it got at `time`, after the request of this
    /// number.
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

    /// A client is gone.
    pub(crate) fn closed(&mut self, client: ConnectionId) {
        self.0.remove(&client);
    }
}
