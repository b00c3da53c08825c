//! Motion that arrives faster than a client handles it: a backlog that grows while the pointer moves.
//!
//! The protocol does not show which motion event a client handles. A client that reads only the latest motion responds
//! less often than motion arrives, and its last response immediately follows the last motion. A client that handles
//! each event responds once per event, and continues long after the pointer has stopped: its n-th response belongs to
//! the n-th event. Which of the two a client does is known when it next waits for events.

use x11prof_trace::ConnectionId;

use crate::episodes::cross_client::causal_edge::EpisodeId;
use crate::episodes::episode::Episode;
use crate::text::label::Label;

/// A backlog has at least this many motion events between two moments at which the client waits for events.
const FEWEST: usize = 8;
/// Maximum number of motion events, and of responses, tracked for a client. Further ones are ignored.
const MOST: usize = 1 << 14;
/// A client without a backlog responds at most this often after the last motion event: once for the event that it was
/// handling, and once for the remaining motion.
const AFTER: usize = 2;

/// Pointer motion of one client that arrived faster than the client handled it. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    pub(crate) client: ConnectionId,
    pub(crate) landmark: Label,
    pub(crate) start: u64,
    /// The number of motion events. They arrived within `came_in` nanoseconds.
    pub(crate) events: u64,
    pub(crate) came_in: u64,
    /// The mean time in which the client handled one motion event, in nanoseconds.
    pub(crate) each: u64,
    /// The longest time from the arrival of a motion event to the end of its response, in nanoseconds.
    pub(crate) oldest: u64,
}

/// The pointer motion that a client received, and its responses, since it last waited for events.
#[derive(Debug, Default)]
pub(super) struct Motions {
    /// The arrival times of the motion events, in nanoseconds.
    pub(super) events: Vec<u64>,
    /// For each response, the time at which the client began to handle it and the time of the response, in nanoseconds.
    pub(super) responses: Vec<(u64, u64)>,
    /// The number of motion episodes that were released before there were enough events for a backlog.
    pub(super) let_go: usize,
    /// Motion episodes with their end times in nanoseconds, held until the event that each response belongs to is
    /// known.
    pub(super) held: Vec<(Episode, u64)>,
}

impl Motions {
    /// Notes a motion event that arrived at `time` (nanoseconds).
    pub(super) fn came(&mut self, time: u64) {
        if self.events.len() < MOST {
            self.events.push(time);
        }
    }

    /// Notes that the client drew at `time` (nanoseconds).
    pub(super) fn drew(&mut self, time: u64) {
        if let Some(first) = self.events.first()
            && self.responses.len() < MOST
        {
            let since = self.responses.last().map_or(*first, |(_, last)| *last);
            self.responses.push((since, time));
        }
    }

    /// Keeps the episode in `held` if its client may have a backlog; otherwise returns the episode and its end time.
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

    /// Returns the first episodes of the trees that the held episodes belong to.
    pub(super) fn roots(&self) -> impl Iterator<Item = EpisodeId> {
        let held = self.held.iter();
        held.map(|(one, _)| one.link.as_ref().map_or(one.id, |link| link.root))
    }

    /// Returns true if the client responded to each motion event separately.
    pub(super) fn are_handled_one_by_one(&self) -> bool {
        let (events, responses) = (self.events.len(), self.responses.len());
        self.go_on_after_last() && responses * 10 >= events * 9 && responses * 10 <= events * 11
    }

    /// Returns true if the client responds to motion long after the last motion event.
    fn go_on_after_last(&self) -> bool {
        let last = self.events.last().copied().unwrap_or(0);
        let after = self.responses.iter().rev();
        let after = after.take_while(|(since, _)| *since > last).count();
        self.events.len() >= FEWEST && after > AFTER
    }

    /// The arrival time in nanoseconds of the oldest motion event that the client has not responded to; `None` if the
    /// client does not fall behind.
    pub(super) fn oldest_unhandled(&self) -> Option<u64> {
        let oldest = self.events.get(self.responses.len());
        oldest.copied().filter(|_| self.go_on_after_last())
    }

    /// The backlog that these events and responses of `client` are; `oldest` is the age of the oldest event in
    /// nanoseconds. `None` without an episode of motion.
    pub(super) fn backlog(&self, client: ConnectionId, oldest: u64) -> Option<Backlog> {
        let (first, _) = self.held.first()?;
        let took = self.responses.iter().skip(self.let_go);
        let took = took.map(|(since, end)| end.saturating_sub(*since));
        let count = took.len().max(1) as u64;
        let came = self.events.first().zip(self.events.last());
        Some(Backlog {
            client,
            landmark: first.landmark.clone(),
            start: first.start.as_nanos(),
            events: self.events.len() as u64,
            came_in: came.map_or(0, |(first, last)| last - first),
            each: took.fold(0, u64::saturating_add) / count,
            oldest,
        })
    }
}
