//! Creates the episodes of pointer motion that a client handled event by event: one episode for each response.

use x11prof_trace::Timestamp;

use super::ClientState;
use super::motions::{Backlog, Motions};
use crate::episodes::cross_client::causal_edge::EpisodeId;
use crate::episodes::cross_client::steps::Steps;
use crate::episodes::episode::{Episode, LatencyBreakdown, LatencyComponent, Trigger};

impl ClientState {
    /// Releases the held motion episodes, because the client waits for events and so has handled all motion. If the
    /// client handled each event separately, replaces these episodes by one for each response.
    pub(super) fn motion_is_handled(&mut self) {
        let motions = std::mem::take(&mut self.motions);
        if motions.are_handled_one_by_one() && !motions.held.is_empty() {
            self.behind_motion = motions.responses.last().map(|(since, _)| *since);
            self.backlog(motions);
        } else {
            self.ended_episodes.extend(motions.held);
        }
    }

    /// Corrects the episode of input that the client read behind a backlog of motion: the input waited until the last
    /// response to the motion.
    pub(super) fn waited_behind_motion(&mut self, episode: &mut Episode) {
        let start = episode.start.as_nanos();
        let since = self.behind_motion.take().filter(|since| *since > start);
        let Some(since) = since.filter(|_| episode.trigger == Trigger::Input) else {
            return;
        };
        episode.steps = episode.steps.after_wait(start, since);
        episode.parts = episode.steps.parts();
    }

    /// Records a backlog, and one episode for each response. An episode begins with the motion event that its response
    /// belongs to.
    fn backlog(&mut self, motions: Motions) {
        let Some((first, _)) = motions.held.first() else {
            return;
        };
        let mut parts = LatencyBreakdown::default();
        motions
            .held
            .iter()
            .for_each(|(one, _)| parts.merge(&one.parts));
        let handling = parts.total() - parts.of(LatencyComponent::Waiting);
        let count = motions.responses.len();
        let mut oldest = 0;
        let responses = motions.responses.iter().copied().enumerate();
        for (at, (since, end)) in responses.skip(motions.let_go) {
            let event = motions.events.get(at * motions.events.len() / count);
            let start = event.copied().unwrap_or(since).min(since);
            oldest = oldest.max(end.saturating_sub(start));
            let mut steps = Steps::default();
            steps.add(start, since, LatencyComponent::Waiting, None);
            let mut from = since;
            for owner in LatencyBreakdown::OWNERS {
                let share = u128::from(parts.of(owner)) * u128::from(end - since);
                let share = share.checked_div(handling.into()).unwrap_or(0);
                let to = from
                    .saturating_add(u64::try_from(share).unwrap_or(0))
                    .min(end);
                if owner != LatencyComponent::Waiting {
                    steps.add(from, to, owner, None);
                    from = to;
                }
            }
            steps.add(from, end, LatencyComponent::Client, None);
            let id = EpisodeId {
                client: self.client,
                number: self.take_number(),
            };
            let episode = Episode {
                id,
                start: Timestamp::from_nanos(start),
                parts: steps.parts(),
                steps,
                events: 1,
                requests: 1,
                delivered: Some(start),
                link: None,
                ..first.clone()
            };
            self.ended_episodes.push((episode, end));
        }
        self.backlogs.extend(motions.backlog(self.client, oldest));
    }

    /// The backlog of motion that the client has at `now` (nanoseconds); `None` if it does not fall behind.
    pub(crate) fn backlog_at(&self, now: u64) -> Option<Backlog> {
        let oldest = self.motions.oldest_unhandled()?;
        self.motions
            .backlog(self.client, now.saturating_sub(oldest))
    }
}
