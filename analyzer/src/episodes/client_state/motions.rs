//! Motion that arrives faster than a client handles it: a backlog that grows while the pointer moves.
//! The wire does not show which motion event a client handles. A client that takes the latest motion only responds less often
//! The protocol does not show which motion event a client handles. A client that reads only the latest motion responds
//! less often than motion arrives, and its last response immediately follows the last motion. A client that handles
//! each event responds once per event, and continues long after the pointer has stopped: its n-th response belongs to
//! the n-th event. The case is known when the client next waits for events.

use x11prof_trace::ConnectionId;

use crate::episodes::cross_client::causal_edge::EpisodeId;
use crate::episodes::episode::Episode;
use crate::text::label::Label;

/// The number of motion events without a quiet moment from which on a backlog is possible.
const FEWEST: usize = 8;
/// Maximum number of motion events and of responses tracked at the same time.
const MOST: usize = 1 << 14;
/// The number of responses after the last motion from a client without a backlog: the current one, and one for the
/// remaining motion.
const AFTER: usize = 2;

/// Pointer motion of one client that arrived faster than the client handled it.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    pub(crate) client: ConnectionId,
    pub(crate) landmark: Label,
    pub(crate) start: u64,
    /// The number of motion events, and the time in which they arrived.
    pub(crate) events: u64,
    pub(crate) came_in: u64,
    /// The mean time of a response.
    pub(crate) each: u64,
    /// The age of the oldest motion when it was handled.
    pub(crate) oldest: u64,
}

/// The motion and the responses since the client last waited for events.
#[derive(Debug, Default)]
pub(super) struct Motions {
    /// The times of the events.
    pub(super) events: Vec<u64>,
    /// The beginnings of the responses' handling, and the responses.
    pub(super) responses: Vec<(u64, u64)>,
    /// The number of motion episodes before there were enough events to hold them.
    pub(super) let_go: usize,
    /// Motion episodes, until it is known which response belongs to each.
    pub(super) held: Vec<(Episode, u64)>,
}

impl Motions {
    /// Notes a motion event.
    pub(super) fn came(&mut self, time: u64) {
        if self.events.len() < MOST {
            self.events.push(time);
        }
    }

    /// Notes that the client drew at `time`.
    pub(super) fn drew(&mut self, time: u64) {
        if let Some(first) = self.events.first()
            && self.responses.len() < MOST
        {
            let since = self.responses.last().map_or(*first, |(_, last)| *last);
            self.responses.push((since, time));
        }
    }

    /// Holds the episodes of a client that may have a backlog, and returns all other episodes.
    pub(super) fn hold(&mut self, episode: Episode, end: u64) -> Option<(Episode, u64)> {
        let is_motion = self.is_motion(&episode);
        if self.events.len() < FEWEST || self.held.len() >= MOST || !is_motion {
            self.let_go += usize::from(is_motion);
            return Some((episode, end));
        }
        self.held.push((episode, end));
        None
    }

    fn is_motion(&self, episode: &Episode) -> bool {
        episode.group.as_str().starts_with("Pointer moved")
            || !self.held.is_empty() && episode.delivered.is_none()
    }

    /// The trees of the episodes that are held.
    pub(super) fn roots(&self) -> impl Iterator<Item = EpisodeId> {
        let held = self.held.iter();
        held.map(|(one, _)| one.link.as_ref().map_or(one.id, |link| link.root))
    }

    /// True if each response belongs to one event.
    pub(super) fn are_handled_one_by_one(&self) -> bool {
        let (events, responses) = (self.events.len(), self.responses.len());
        let last = self.events.last().copied().unwrap_or(0);
        let after = self.responses.iter().rev();
        let after = after.take_while(|(since, _)| *since > last).count();
        events >= FEWEST
            && after > AFTER
            && responses * 10 >= events * 9
            && responses * 10 <= events * 11
    }
}
