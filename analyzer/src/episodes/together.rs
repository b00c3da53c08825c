//! Presses that a client read together. Each press is an episode, from its own time to the end of the common response.

use x11prof_trace::Timestamp;

use super::cross_client::causal_edge::EpisodeId;
use super::episode::Episode;
use super::queue::WaitingStimulus;
use super::tree::Tree;

/// A press that a client has read while it handled another stimulus, and to which it has sent no separate response.
#[derive(Debug, Clone)]
pub(crate) struct ReadPress {
    pub(crate) press: WaitingStimulus,
    /// The time by which the client had read the press, in nanoseconds.
    pub(crate) time: u64,
}

/// An episode that its client ended at `end` (nanoseconds), and the presses that were read together with its stimulus.
#[derive(Debug)]
pub(crate) struct FinishedEpisode {
    pub(crate) episode: Episode,
    pub(crate) end: u64,
    pub(crate) together: Vec<ReadPress>,
}

impl ReadPress {
    /// Turns the press into an episode with number `id`, which ends with the common response of `episode` at `end`
    /// (nanoseconds). Returns the episode and its end. The requests count only with `episode`.
    pub(crate) fn episode(self, id: EpisodeId, episode: &Episode, end: u64) -> (Episode, u64) {
        let ReadPress { press, time: read } = self;
        let steps = episode.steps.clone().after_wait(press.start, read);
        let together = Episode {
            id,
            landmark: press.about.landmark,
            group: press.about.group,
            trigger: press.stimulus.trigger,
            start: Timestamp::from_nanos(press.start),
            parts: steps.parts(),
            round_trips: 0,
            bytes: 0,
            received: 0,
            events: press.events,
            busy: Default::default(),
            waited_idle: 0,
            children: Vec::new(),
            of_children: 0,
            link: press.link,
            fed: Vec::new(),
            steps,
            delivered: Some(press.delivered),
            tags: press.tags,
            tree: Tree::new(press.about.group),
            asked: Vec::new(),
            awaited: Vec::new(),
            presentation: 0,
            handled: Vec::new(),
            ..episode.clone()
        };
        (together, end.max(read))
    }
}
