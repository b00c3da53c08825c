//! The grabs of the server, which hold up the requests of all other clients.

use std::collections::VecDeque;

use x11prof_trace::ConnectionId;

/// Maximum number of ended grabs that are kept; the latest are kept.
const REMEMBERED: usize = 256;

/// A grab that holds up a request of another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) by: ConnectionId,
    /// The end of the grab in nanoseconds; `None` while it is active.
    pub(crate) until: Option<u64>,
}

/// The client that has grabbed the server, and earlier grabs. When a client is updated, it subtracts the total of its
/// previous update from the current total. So the end of a grab does not need to update all clients.
#[derive(Debug, Default)]
pub(crate) struct GrabHistory {
    pub(crate) by: Option<ConnectionId>,
    /// The client that last grabbed the server.
    pub(crate) last: Option<ConnectionId>,
    /// The time of the last change, in nanoseconds.
    pub(crate) since: u64,
    before: u64,
    /// The latest ended grabs: holder, beginning and end, the latest last.
    ended: VecDeque<(ConnectionId, u64, u64)>,
}

impl GrabHistory {
    /// Returns the total time until `time` in which any client had grabbed the server, in nanoseconds.
    pub(crate) fn total(&self, time: u64) -> u64 {
        let now = self.by.map_or(0, |_| time.saturating_sub(self.since));
        self.before.saturating_add(now)
    }

    /// Changes the owner of the server's grab.
    pub(crate) fn change(&mut self, time: u64, by: Option<ConnectionId>) {
        if let Some(had) = self.by {
            if self.ended.len() == REMEMBERED {
                self.ended.pop_front();
            }
            self.ended.push_back((had, self.since, time));
        }
        self.before = self.total(time);
        (self.by, self.since) = (by, time);
        self.last = by.or(self.last);
    }

    /// The other client that had grabbed the server for half of the time from `from` to `until` or longer.
    pub(crate) fn most_of(
        &self,
        client: ConnectionId,
        from: u64,
        until: u64,
    ) -> Option<ConnectionId> {
        let overlap = |since: u64, end: u64| end.min(until).saturating_sub(since.max(from));
        let mut long = self.all().filter(|(by, since, end)| {
            *by != client && overlap(*since, *end) * 2 >= until.saturating_sub(from)
        });
        long.next().map(|(by, ..)| by)
    }

    /// The grabs: holder, beginning and end (the greatest time while it is active), the latest first.
    fn all(&self) -> impl Iterator<Item = (ConnectionId, u64, u64)> {
        let open = self.by.map(|by| (by, self.since, u64::MAX));
        open.into_iter().chain(self.ended.iter().rev().copied())
    }

    /// The grab of another client that held up a request that `client` sent at `sent` (nanoseconds); `None` if the
    /// server could read the request.
    pub(crate) fn hold(&self, client: ConnectionId, sent: u64) -> Option<Hold> {
        let mut later = self.all().take_while(|(.., until)| sent < *until);
        let (by, _, until) = later.find(|(_, since, _)| *since <= sent)?;
        let until = Some(until).filter(|until| *until != u64::MAX);
        (by != client).then_some(Hold { by, until })
    }
}
