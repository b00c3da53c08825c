//! Trees of episodes that caused each other, held until no further part of a tree can arrive.

use std::collections::{BTreeMap, HashSet};

use rustc_hash::FxHashMap;

use super::causal_edge::{CausalEdge, EpisodeId};
use super::path::path;
use crate::episodes::cause::Cause;
use crate::episodes::episode::{Child, Episode, LatencyComponent, Trigger};
use crate::episodes::interval_union::IntervalUnion;

/// Maximum number of held episodes. Beyond it, all trees count as complete and are released.
const MAX_HELD: usize = 4096;
/// Maximum number of episodes of a tree; further effects begin a new tree.
const MAX_EPISODES: usize = 64;
/// Minimum time between searches for complete trees, in nanoseconds of the trace.
const LOOK_EVERY: u64 = 10_000_000;
/// A search looks at all clients and trees. Between two searches, at least one event arrives for this number of them, so
/// that many clients do not make each event expensive.
const LOOKED_AT_PER_EVENT: usize = 256;

#[derive(Debug, Default)]
struct Tree {
    links: usize,
    episodes: FxHashMap<EpisodeId, Episode>,
}

/// The trees to which episodes may still be added.
#[derive(Debug, Default)]
pub(crate) struct EpisodeForest {
    trees: BTreeMap<EpisodeId, Tree>,
    held: usize,
    looked: u64,
    /// The number of events since the last search, and the number of roots that it had to keep.
    events: usize,
    live: usize,
}

impl EpisodeForest {
    /// Adds `link`: an event that an episode of a tree caused. Returns the link, or `None` if the tree is full.
    pub(crate) fn link(&mut self, link: CausalEdge) -> Option<CausalEdge> {
        let tree = self.trees.entry(link.root).or_default();
        (tree.links < MAX_EPISODES).then(|| {
            tree.links += 1;
            link.bounded()
        })
    }

    /// Adds a finished episode to its tree.
    pub(crate) fn add(&mut self, episode: Episode) {
        let root = episode.link.as_ref().map_or(episode.id, |link| link.root);
        let tree = self.trees.entry(root).or_default();
        tree.episodes.insert(episode.id, episode);
        self.held += 1;
    }

    /// True if the next search for complete trees is due at the event at `time`, in nanoseconds.
    pub(crate) fn is_due(&mut self, time: u64, clients: usize) -> bool {
        self.events += 1;
        let is_paid = self.events * LOOKED_AT_PER_EVENT >= clients + self.trees.len() + self.live;
        self.held > 0 && time.saturating_sub(self.looked) >= LOOK_EVERY && is_paid
            || self.held > MAX_HELD
    }

    /// Returns the episodes of the trees that are complete at `time`: all trees except those that begin with one of
    /// `live`.
    pub(crate) fn release(&mut self, time: u64, live: &HashSet<EpisodeId>) -> Vec<Episode> {
        self.looked = time;
        (self.events, self.live) = (0, live.len());
        let all = self.held > MAX_HELD;
        let complete = self.trees.keys().copied();
        let complete: Vec<EpisodeId> = complete
            .filter(|root| all || !live.contains(root))
            .collect();
        let mut episodes = Vec::new();
        for root in complete {
            if let Some(tree) = self.trees.remove(&root) {
                self.held = self.held.saturating_sub(tree.episodes.len());
                episodes.extend(assembled(tree.episodes));
            }
        }
        episodes.sort_by_key(|episode| (episode.start, episode.client));
        episodes
    }
}

/// The episodes of a tree, each with the episodes of other clients that it caused.
fn assembled(mut all: FxHashMap<EpisodeId, Episode>) -> Vec<Episode> {
    // Only the user causes a user action, even if a program has sent the event.
    let by_user = |id: &EpisodeId| all.get(id).is_some_and(|one| one.trigger == Trigger::Input);
    let alone = all.values().filter(|one| {
        let link = one.link.as_ref();
        link.is_some_and(|link| {
            !all.contains_key(&link.from) || by_user(&one.id) && !by_user(&link.root)
        })
    });
    let alone: Vec<EpisodeId> = alone.map(|one| one.id).collect();
    for id in alone {
        if let Some(episode) = all.get_mut(&id) {
            episode.link = None;
        }
    }
    let mut below: FxHashMap<EpisodeId, Vec<EpisodeId>> = FxHashMap::default();
    for episode in all.values() {
        if let Some(link) = &episode.link {
            below.entry(link.from).or_default().push(episode.id);
        }
    }
    let mut whole = FxHashMap::default();
    let ids: Vec<EpisodeId> = all.keys().copied().collect();
    for id in ids {
        if let Some(node) = Node::of(id, &all, &below, 0) {
            let path = path(&all, id, node.last);
            whole.insert(id, (node, path));
        }
    }
    let done = all.into_values().map(|mut episode| {
        if let Some((node, path)) = whole.remove(&episode.id) {
            let others = node.child.latency.saturating_sub(episode.latency());
            episode.parts.add(LatencyComponent::Others, others);
            episode.of_children = episode.latency().saturating_sub(node.child.exclusive);
            episode.children = node.child.children;
            episode.path = path;
        }
        settled(episode)
    });
    done.collect()
}

/// Marks an episode as settled, and drops its steps, which its path contains.
fn settled(mut episode: Episode) -> Episode {
    episode.steps = Default::default();
    episode.fed = Vec::new();
    episode.settled = true;
    episode
}

/// An episode with its descendants in the tree.
struct Node {
    child: Child,
    /// The episode that ends last, among the episode and its descendants.
    last: EpisodeId,
}

impl Node {
    fn of(
        id: EpisodeId,
        all: &FxHashMap<EpisodeId, Episode>,
        below: &FxHashMap<EpisodeId, Vec<EpisodeId>>,
        depth: usize,
    ) -> Option<Node> {
        let episode = all.get(&id)?;
        let (mut last, mut end) = (id, episode.end());
        let mut children = episode.children.clone();
        let mut elsewhere = IntervalUnion::default();
        let led_to = below.get(&id).into_iter().flatten();
        let led_to = led_to.filter(|_| depth < MAX_EPISODES);
        for node in led_to.filter_map(|id| Node::of(*id, all, below, depth + 1)) {
            let until = node.child.end();
            elsewhere.add(node.child.start.as_nanos(), until.as_nanos());
            if until > end {
                (last, end) = (node.last, until);
            }
            // Even a short child is kept: it is an episode and shows which client participated.
            children.push(node.child);
        }
        children.sort_by_key(|child| child.start);
        let waited = waited(episode, &elsewhere);
        let latency = end.since(episode.start).as_nanos();
        Some(Node {
            child: Child {
                client: Some(id.client),
                request: episode.asked(),
                landmark: episode.landmark.clone(),
                start: episode.start,
                latency: u64::try_from(latency).unwrap_or(u64::MAX),
                exclusive: episode.exclusive().saturating_sub(waited),
                children,
            },
            last,
        })
    }
}

/// Returns the nanoseconds in which an episode waited while other clients handled its effects (`elsewhere`).
fn waited(episode: &Episode, elsewhere: &IntervalUnion) -> u64 {
    let waits = episode.steps.list().iter();
    let waits = waits.filter(|step| {
        matches!(
            step.owner,
            LatencyComponent::OffCpu(Cause::Poll) | LatencyComponent::Awaited
        )
    });
    let waited = waits.map(|step| {
        let of_others = elsewhere.longest().into_iter().map(|stretch| {
            let (from, to) = (stretch.start, stretch.start + stretch.length);
            to.min(step.end).saturating_sub(from.max(step.start))
        });
        of_others.sum::<u64>()
    });
    waited.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{EpisodeForest, LOOK_EVERY, LOOKED_AT_PER_EVENT};

    /// The number of searches among 4096 events, each after the minimum time.
    fn searches(clients: usize) -> usize {
        let mut forest = EpisodeForest {
            held: 1,
            ..EpisodeForest::default()
        };
        let due = (1..=4096).filter(|event| {
            let time = event * LOOK_EVERY;
            let is_due = forest.is_due(time, clients);
            is_due.then(|| forest.release(time, &HashSet::new()));
            is_due
        });
        due.count()
    }

    #[test]
    fn many_clients_are_searched_less_often() {
        assert_eq!(searches(3), 4096);
        assert_eq!(searches(16 * LOOKED_AT_PER_EVENT), 4096 / 16);
    }
}
