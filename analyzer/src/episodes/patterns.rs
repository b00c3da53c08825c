//! Patterns: episodes whose trees of intervals have the same shape (the thesis, chapter 4), added up in bounded
//! memory.

use std::collections::HashMap;

use x11prof_trace::{ConnectionId, Timestamp};

use super::episode::{Episode, Parts, Trigger};
use super::location::Location;
use super::tree::Tree;
use crate::statistics::distribution::Distribution;

/// Patterns told apart at most; those after them are one.
const MAX_PATTERNS: usize = 500;
/// Locations told apart in a pattern; what is elsewhere counts with its like.
const MAX_LOCATIONS: usize = 64;

/// Which episodes of a pattern are perceptible (LagAlyzer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurrence {
    Always,
    Sometimes,
    /// One of them is.
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

/// The episodes of one pattern; times in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// From 1, in the order in which they were first seen; 0 of those that are too many.
    pub(crate) number: u64,
    /// `None` of those that are too many.
    pub(crate) tree: Option<Tree>,
    pub(crate) trigger: Trigger,
    pub(crate) latencies: Distribution,
    pub(crate) total: u64,
    /// Without the children.
    pub(crate) exclusive: u64,
    pub(crate) perceptible: u64,
    /// The latencies of those together.
    pub(crate) perceptible_total: u64,
    pub(crate) parts: Parts,
    locations: HashMap<Location, u64>,
    /// The longest: its latency, its client, its beginning.
    pub(crate) longest: (u64, ConnectionId, Timestamp),
}

impl Pattern {
    fn new(number: u64, tree: Option<Tree>, first: &Episode) -> Pattern {
        Pattern {
            number,
            tree,
            trigger: first.trigger,
            latencies: Distribution::default(),
            total: 0,
            exclusive: 0,
            perceptible: 0,
            perceptible_total: 0,
            parts: Parts::default(),
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
            let full = self.locations.len() >= MAX_LOCATIONS;
            let location = match location {
                known if !full || self.locations.contains_key(&known) => known,
                other => other.like(),
            };
            let sum = self.locations.entry(location).or_default();
            *sum = sum.saturating_add(nanos);
        }
    }

    pub(crate) fn occurrence(&self) -> Occurrence {
        Occurrence::of(self.perceptible, self.latencies.number())
    }

    /// Where its time was spent, the most first.
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

/// All patterns.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    numbers: HashMap<Tree, usize>,
    list: Vec<Pattern>,
    others: Option<Box<Pattern>>,
}

impl Patterns {
    /// Adds an episode to its pattern, whose number it says.
    pub(crate) fn add(&mut self, episode: &Episode, perceptible: bool) -> Option<u64> {
        let at = self.numbers.get(&episode.tree).copied();
        let pattern = match at {
            Some(at) => self.list.get_mut(at)?,
            None if self.list.len() < MAX_PATTERNS => {
                let tree = episode.tree.clone();
                self.numbers.insert(tree.clone(), self.list.len());
                let number = self.list.len() as u64 + 1;
                self.list.push(Pattern::new(number, Some(tree), episode));
                self.list.last_mut()?
            }
            None => {
                let new = || Box::new(Pattern::new(0, None, episode));
                self.others.get_or_insert_with(new)
            }
        };
        pattern.add(episode, perceptible);
        Some(pattern.number).filter(|number| *number > 0)
    }

    /// The patterns: those with the most perceptible time first, then those with the most time.
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
    fn slow_always_sometimes_once_never() {
        let names = [(0, 9), (1, 9), (2, 9), (9, 9), (1, 1)]
            .map(|(slow, all)| Occurrence::of(slow, all).name());
        assert_eq!(names, ["never", "once", "sometimes", "always", "once"]);
    }
}
