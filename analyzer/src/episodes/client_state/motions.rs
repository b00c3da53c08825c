//! Motion that a client handles more slowly than it comes: a backlog that grows while the pointer moves.
//!
//! The wire does not show which motion event a client handles. A client that takes the latest motion only responds less often
//! than motion comes, and its last response follows the last motion at once. A client that handles each event responds once
//! for each, and goes on long after the pointer has stopped: then the n-th response is that to the n-th event. Which of the
//! two it is shows when the client next waits for events.

use x11prof_trace::{ConnectionId, Timestamp};

use super::ClientState;
use crate::episodes::across::causal_edge::EpisodeId;
use crate::episodes::across::steps::Steps;
use crate::episodes::episode::{Episode, Owner, Parts};
use crate::text::label::Label;

/// Motion events without a quiet moment from which on a backlog is looked for.
const FEWEST: usize = 8;
/// Motion events and responses followed at once, at most.
const MOST: usize = 1 << 14;
/// Responses after the last motion that a client without a backlog sends: the current one, and one for the rest.
const AFTER: usize = 2;

/// Motion of one client that came faster than the client handled it.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    pub(crate) client: ConnectionId,
    pub(crate) landmark: Label,
    pub(crate) start: u64,
    /// Motion events, and the time in which they came.
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
    events: Vec<u64>,
    /// The beginnings of the responses' handling, and the responses.
    responses: Vec<(u64, u64)>,
    /// The number of episodes of motion before there were enough events to hold them.
    let_go: usize,
    /// Episodes of motion, until it is known whose response each is.
    held: Vec<(Episode, u64)>,
}

impl Motions {
    /// Motion came.
    pub(super) fn came(&mut self, time: u64) {
        if self.events.len() < MOST {
            self.events.push(time);
        }
    }

    /// The client drew at `time`.
    pub(super) fn drew(&mut self, time: u64) {
        if let Some(first) = self.events.first()
            && self.responses.len() < MOST
        {
            let since = self.responses.last().map_or(*first, |(_, last)| *last);
            self.responses.push((since, time));
        }
    }

    /// Takes the episodes of a client that may have a backlog; returns all others.
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

    /// True where each response is that to one event.
    fn are_handled_one_by_one(&self) -> bool {
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

impl ClientState {
    /// The client waits for events: all motion is handled. Ends the episodes of motion.
    pub(super) fn motion_is_handled(&mut self) {
        let motions = std::mem::take(&mut self.motions);
        if motions.are_handled_one_by_one() && !motions.held.is_empty() {
            self.backlog(motions);
        } else {
            self.ended_episodes.extend(motions.held);
        }
    }

    /// An episode for each response, from the motion that it is the response to.
    fn backlog(&mut self, motions: Motions) {
        let Some((first, _)) = motions.held.first() else {
            return;
        };
        let mut parts = Parts::default();
        motions
            .held
            .iter()
            .for_each(|(one, _)| parts.merge(&one.parts));
        let handling = parts.total() - parts.of(Owner::Waiting);
        let count = motions.responses.len();
        let (mut oldest, mut sum) = (0, 0);
        let responses = motions.responses.iter().copied().enumerate();
        for (at, (since, end)) in responses.skip(motions.let_go) {
            let event = motions.events.get(at * motions.events.len() / count);
            let start = event.copied().unwrap_or(since).min(since);
            oldest = oldest.max(end.saturating_sub(start));
            sum += end.saturating_sub(since);
            let mut steps = Steps::default();
            steps.add(start, since, Owner::Waiting, None);
            let mut from = since;
            for owner in Parts::OWNERS {
                let share = u128::from(parts.of(owner)) * u128::from(end - since);
                let share = share.checked_div(handling.into()).unwrap_or(0);
                let to = from
                    .saturating_add(u64::try_from(share).unwrap_or(0))
                    .min(end);
                if owner != Owner::Waiting {
                    steps.add(from, to, owner, None);
                    from = to;
                }
            }
            steps.add(from, end, Owner::Client, None);
            let mut own = Parts::default();
            steps
                .list()
                .iter()
                .for_each(|step| own.add(step.owner, step.length()));
            let id = EpisodeId {
                client: self.client,
                number: self.take_number(),
            };
            let episode = Episode {
                id,
                start: Timestamp::from_nanos(start),
                parts: own,
                steps,
                events: 1,
                requests: 1,
                delivered: Some(start),
                link: None,
                ..first.clone()
            };
            self.ended_episodes.push((episode, end));
        }
        let came = motions.events.first().zip(motions.events.last());
        self.backlogs.push(Backlog {
            client: self.client,
            landmark: first.landmark.clone(),
            start: first.start.as_nanos(),
            events: motions.events.len() as u64,
            came_in: came.map_or(0, |(first, last)| last - first),
            each: sum / count.saturating_sub(motions.let_go).max(1) as u64,
            oldest,
        });
    }
}
