//! The chain of waits that explains an episode's time. It is followed backwards from the end of the episode to its
//! beginning, through the client that ended each wait.

use rustc_hash::FxHashMap;

use super::causal_edge::{CausalEdge, EpisodeId};
use super::coalesce::{TimedStep, coalesce};
use super::path_step::PathStep;
use crate::episodes::cause::{Cause, ServerCause};
use crate::episodes::episode::{Episode, LatencyComponent};
use crate::threads::delays::WOKEN_WITHIN;

/// Maximum number of steps in a chain. Beyond it, short steps are merged.
const MAX_LINKS: usize = 64;
/// Maximum number of steps that are followed backwards. Beyond it, the earlier part of the chain is missing.
const MAX_STEPS: usize = 4096;

/// The state of the walk from the end of an episode to its beginning.
struct Walk<'a> {
    all: &'a FxHashMap<EpisodeId, Episode>,
    /// The beginning of the chain, in nanoseconds.
    from: u64,
    /// The steps of the chain, the last one first.
    path: Vec<PathStep>,
}

/// The chain of waits from the beginning of episode `root` to the end of episode `last`, which `root` caused, in time
/// order.
pub(crate) fn path(
    all: &FxHashMap<EpisodeId, Episode>,
    root: EpisodeId,
    last: EpisodeId,
) -> Vec<PathStep> {
    let mut walk = Walk {
        all,
        from: all.get(&root).map_or(0, |root| root.start.as_nanos()),
        path: Vec::new(),
    };
    let Some(episode) = all.get(&last) else {
        return Vec::new();
    };
    let (mut at, mut time) = (last, episode.end().as_nanos());
    for _ in 0..MAX_STEPS {
        match walk.back(at, time, at == root) {
            // Another client may have waited since before the beginning.
            Some(next) if next.1 > walk.from && (next.1 < time || next.0 != at) => {
                (at, time) = next;
            }
            _ => break,
        }
    }
    walk.path.reverse();
    coalesce(walk.path, MAX_LINKS)
}

impl Walk<'_> {
    /// Follows the steps of an episode backwards from `time` (nanoseconds). Returns the episode and the time from which
    /// to continue.
    fn back(&mut self, at: EpisodeId, time: u64, is_root: bool) -> Option<(EpisodeId, u64)> {
        let episode = self.all.get(&at)?;
        let asked = episode.asked();
        let own = |owner, start, end: u64| PathStep {
            client: at.client,
            owner,
            request: None,
            asked: asked.filter(|_| !is_root),
            by: None,
            start,
            nanos: end.saturating_sub(start),
        };
        let steps = episode.steps.list().iter().rev();
        let step = steps.into_iter().find(|step| step.start < time);
        let Some(step) = step else {
            // The cause of its beginning.
            let link = episode.link.as_ref().filter(|_| !is_root)?;
            return self.sender(link, at, time);
        };
        // Nothing is known about the time after the last step.
        let end = time.min(step.end);
        if let Some(link) = ended_by(episode, step.start, end)
            && (waits(step.owner) || !episode.scheduled)
        {
            self.add(own(
                LatencyComponent::OffCpu(Cause::Processor),
                link.delivered.min(end),
                end,
            ));
            let until = link.delivered.min(end);
            if self.all.contains_key(&link.from) && link.sent > step.start {
                return self.sender(link, at, until);
            }
            // The episode acted without a known cause before this time: only the client is known.
            self.add(PathStep {
                by: Some(link.from.client),
                request: Some(link.request),
                ..own(step.owner, step.start, until)
            });
            return Some((at, step.start));
        }
        self.add(PathStep {
            request: step.request,
            by: step.by,
            ..own(step.owner, step.start, end)
        });
        Some((at, step.start))
    }

    /// Adds the steps from the request that caused an event until `time` (nanoseconds), when the event was delivered.
    fn sender(&mut self, link: &CausalEdge, to: EpisodeId, time: u64) -> Option<(EpisodeId, u64)> {
        self.all.get(&link.from)?;
        let nanos = time.saturating_sub(link.sent);
        let held = link.held.map_or(0, |(_, held)| held.min(nanos));
        let unserved = link.unserved.min(nanos - held);
        let mut add = |cause, request, by, start, nanos| {
            self.add(PathStep {
                client: to.client,
                owner: LatencyComponent::Server(cause),
                request,
                asked: None,
                by,
                start,
                nanos,
            });
        };
        let free = link.sent + held;
        let (ready, request) = (free + unserved, Some(link.request));
        let served = nanos - held - unserved;
        add(ServerCause::Reply, request, None, ready, served);
        add(ServerCause::Processor, None, None, free, unserved);
        let by = link.held.map(|(by, _)| by);
        add(ServerCause::Grabbed, None, by, link.sent, held);
        Some((link.from, link.sent.min(time)))
    }

    fn add(&mut self, mut step: PathStep) {
        let before = self.from.saturating_sub(step.start).min(step.nanos);
        step.start += before;
        step.nanos -= before;
        match self.path.last_mut() {
            _ if step.nanos == 0 => {}
            Some(later) if later.is_like(&step) => later.join(&step),
            _ => self.path.push(step),
        }
    }
}

/// Returns true if time with this owner may be a wait for another client.
fn waits(owner: LatencyComponent) -> bool {
    matches!(
        owner,
        LatencyComponent::OffCpu(Cause::Poll | Cause::Elsewhere | Cause::Processor)
            | LatencyComponent::Waiting
            | LatencyComponent::Awaited
    )
}

/// Returns the event of another client that ended the episode's wait from `start` to `end` (nanoseconds); `None` if
/// there is none.
fn ended_by(episode: &Episode, start: u64, end: u64) -> Option<&CausalEdge> {
    let fed = episode.fed.iter();
    let ends = |link: &&CausalEdge| {
        start < link.delivered && link.delivered <= end && end - link.delivered <= WOKEN_WITHIN
    };
    fed.filter(ends).max_by_key(|link| link.delivered)
}
