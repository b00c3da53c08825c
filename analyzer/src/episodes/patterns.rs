//! Patterns: episodes whose interval trees have the same shape (the thesis, chapter 4), summed in bounded memory. If
//! only one landmark of a group is slow, such as one key among all typed keys, it has a separate pattern.

use std::collections::{HashMap, HashSet};

use x11prof_protocol::Symbol;
use x11prof_trace::{ConnectionId, Timestamp};

use super::episode::{Episode, LatencyBreakdown, Trigger};
use super::location::Location;
use super::tree::Tree;
use crate::statistics::distribution::Distribution;
use crate::text::label::Label;

/// Maximum number of patterns with a landmark. Beyond it, up to 500 further trees have one pattern for all landmarks.
/// All other episodes count as one pattern.
const MAX_OF_LANDMARKS: usize = 2000;
const MAX_PATTERNS: usize = MAX_OF_LANDMARKS + 500;
/// Maximum number of locations kept in a pattern; the time of further locations is added to a location of the same
/// kind.
const MAX_LOCATIONS: usize = 64;

/// How many of a pattern's episodes are perceptible (LagAlyzer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurrence {
    Always,
    Sometimes,
    /// Exactly one episode is perceptible.
    Once,
    Never,
}

impl Occurrence {
    fn of(perceptible: u64, count: u64) -> Occurrence {
        match perceptible {
            0 => Occurrence::Never,
            1 => Occurrence::Once,
            all if all == count => Occurrence::Always,
            _ => Occurrence::Sometimes,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Occurrence::Always => "always",
            Occurrence::Sometimes => "sometimes",
            Occurrence::Once => "once",
            Occurrence::Never => "never",
        }
    }
}

/// The sums over the episodes of one pattern. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// The number of the pattern from 1, in the order in which patterns first occur; 0 for the sum of patterns over the
    /// limit.
    pub(crate) number: u64,
    /// The tree of the pattern; `None` for the sum of patterns over the limit.
    pub(crate) tree: Option<Tree>,
    /// The landmark of all episodes of the pattern; `None` if they have several.
    pub(crate) landmark: Option<Label>,
    pub(crate) trigger: Trigger,
    pub(crate) latencies: Distribution,
    pub(crate) total: u64,
    /// The sum of the exclusive latencies (without the latencies of children), in nanoseconds.
    pub(crate) exclusive: u64,
    pub(crate) perceptible: u64,
    /// The total latency of the perceptible episodes, in nanoseconds.
    pub(crate) perceptible_total: u64,
    pub(crate) parts: LatencyBreakdown,
    locations: HashMap<Location, u64>,
    /// The longest episode: its latency in nanoseconds, its client and its beginning.
    pub(crate) longest: (u64, ConnectionId, Timestamp),
}

impl Pattern {
    fn new(number: u64, (tree, landmark): Shaped, first: &Episode) -> Pattern {
        Pattern {
            number,
            tree,
            landmark,
            trigger: first.trigger,
            latencies: Distribution::default(),
            total: 0,
            exclusive: 0,
            perceptible: 0,
            perceptible_total: 0,
            parts: LatencyBreakdown::default(),
            locations: HashMap::new(),
            longest: (0, first.client, first.start),
        }
    }

    fn add(&mut self, episode: &Episode, perceptible: bool) {
        let latency = episode.latency();
        if latency > self.longest.0 {
            self.longest = (latency, episode.client, episode.start);
        }
        self.latencies.add(latency);
        self.total = self.total.saturating_add(latency);
        self.exclusive = self.exclusive.saturating_add(episode.exclusive());
        if perceptible {
            self.perceptible += 1;
            self.perceptible_total = self.perceptible_total.saturating_add(latency);
        }
        self.parts.merge(&episode.parts);
        for (location, nanos) in Location::of(episode) {
            self.spent(location, nanos);
        }
    }

    fn spent(&mut self, location: Location, nanos: u64) {
        let full = self.locations.len() >= MAX_LOCATIONS;
        let location = match location {
            known if !full || self.locations.contains_key(&known) => known,
            other => other.like(),
        };
        let sum = self.locations.entry(location).or_default();
        *sum = sum.saturating_add(nanos);
    }

    /// Adds the episodes of another pattern. The tree with the most perceptible time is kept.
    fn merge(&mut self, other: Pattern, most: &mut u64) {
        if other.perceptible_total > *most {
            *most = other.perceptible_total;
            self.tree = other.tree;
        }
        if other.longest.0 > self.longest.0 {
            self.longest = other.longest;
        }
        if other.landmark != self.landmark {
            self.landmark = None;
        }
        self.latencies.merge(&other.latencies);
        self.total = self.total.saturating_add(other.total);
        self.exclusive = self.exclusive.saturating_add(other.exclusive);
        self.perceptible += other.perceptible;
        let perceptible = self.perceptible_total;
        self.perceptible_total = perceptible.saturating_add(other.perceptible_total);
        self.parts.merge(&other.parts);
        for (location, nanos) in other.locations {
            self.spent(location, nanos);
        }
    }

    pub(crate) fn occurrence(&self) -> Occurrence {
        Occurrence::of(self.perceptible, self.latencies.number())
    }

    /// The locations of the pattern's time, each with nanoseconds, the most time first.
    pub(crate) fn locations(&self) -> Vec<(Location, u64)> {
        let mut list: Vec<_> = self
            .locations
            .iter()
            .map(|(at, sum)| (at.clone(), *sum))
            .collect();
        list.sort_by(|(a, one), (b, other)| other.cmp(one).then(a.cmp(b)));
        list
    }
}

/// A tree, with the landmark of its episodes.
type Shaped = (Option<Tree>, Option<Label>);

/// All patterns. Until `Patterns::settle`, each landmark has separate patterns.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    numbers: HashMap<Shaped, usize>,
    list: Vec<Pattern>,
    others: Option<Box<Pattern>>,
}

impl Patterns {
    /// Adds an episode to its pattern. Returns the number of the pattern; `None` if there are too many patterns.
    pub(crate) fn add(&mut self, episode: &Episode, perceptible: bool) -> Option<u64> {
        let mut shaped = (Some(episode.tree.clone()), Some(episode.landmark.clone()));
        if self.list.len() >= MAX_OF_LANDMARKS && !self.numbers.contains_key(&shaped) {
            shaped.1 = None;
        }
        let at = self.numbers.get(&shaped).copied();
        let pattern = match at {
            Some(at) => self.list.get_mut(at)?,
            None if self.list.len() < MAX_PATTERNS => {
                self.numbers.insert(shaped.clone(), self.list.len());
                let number = self.list.len() as u64 + 1;
                self.list.push(Pattern::new(number, shaped, episode));
                self.list.last_mut()?
            }
            None => {
                let new = || Box::new(Pattern::new(0, (None, None), episode));
                self.others.get_or_insert_with(new)
            }
        };
        pattern.add(episode, perceptible);
        Some(pattern.number).filter(|number| *number > 0)
    }

    /// Merges patterns with the same tree, and all patterns of a landmark that is slow alone. Returns the new number of
    /// each pattern, by its old number. Called at the end of the trace.
    pub(crate) fn settle(&mut self) -> HashMap<u64, u64> {
        let alone = self.slow_alone();
        self.numbers.clear();
        let (mut places, mut numbers) = (HashMap::new(), HashMap::new());
        for mut one in std::mem::take(&mut self.list) {
            let group = one.tree.as_ref().map(|tree| tree.about);
            let of_group = one.landmark.clone().map(|landmark| (group, landmark));
            let key = match of_group.filter(|of| alone.contains(of)) {
                Some(of_group) => (None, Some(of_group)),
                None => (one.tree.clone(), None),
            };
            let next = self.list.len();
            let (at, most) = places.entry(key).or_insert((next, one.perceptible_total));
            numbers.insert(one.number, *at as u64 + 1);
            match self.list.get_mut(*at) {
                Some(known) => known.merge(one, most),
                None => {
                    one.number = *at as u64 + 1;
                    self.list.push(one);
                }
            }
        }
        numbers
    }

    /// Returns the landmarks, with their groups, that are slow more than once and in most of their episodes, while the
    /// other landmarks of the group are mostly fast.
    fn slow_alone(&self) -> HashSet<(Option<Symbol>, Label)> {
        let mut groups: HashMap<_, HashMap<_, (u64, u64)>> = HashMap::new();
        for of in &self.list {
            let group = of.tree.as_ref().map(|tree| tree.about);
            let landmarks = groups.entry(group).or_default();
            let (slow, all) = landmarks.entry(of.landmark.clone()).or_default();
            *slow += of.perceptible;
            *all += of.latencies.number();
        }
        let mut alone = HashSet::new();
        for (group, landmarks) in groups {
            let is_slow = |(slow, all): (u64, u64)| slow > 1 && slow > all / 2;
            let (slow, others): (Vec<_>, Vec<_>) = landmarks
                .into_iter()
                .partition(|(name, counts)| name.is_some() && is_slow(*counts));
            let sums = others.iter().map(|(_, counts)| *counts);
            let (of_others, all) = sums.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            if all > 0 && of_others <= all / 2 {
                let names = slow.into_iter().filter_map(|(name, _)| name);
                alone.extend(names.map(|name| (group, name)));
            }
        }
        alone
    }

    /// The patterns, sorted by perceptible time in descending order, then by time.
    pub(crate) fn list(&self) -> Vec<&Pattern> {
        let mut list: Vec<&Pattern> = self.list.iter().chain(self.others.as_deref()).collect();
        list.sort_by_key(|of| {
            let time = (of.perceptible_total, of.total);
            (std::cmp::Reverse(time), of.number)
        });
        list
    }
}

#[cfg(test)]
mod tests {
    use super::Occurrence;

    #[test]
    fn occurrence_is_never_once_sometimes_or_always() {
        let names = [(0, 9), (1, 9), (2, 9), (9, 9), (1, 1)]
            .map(|(slow, all)| Occurrence::of(slow, all).name());
        assert_eq!(names, ["never", "once", "sometimes", "always", "once"]);
    }
}
