//! Finished episodes added up, in bounded memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use x11prof_trace::{ConnectionId, Opened};

use super::EpisodeOptions;
use super::bursts::Bursts;
use super::episode::{Episode, Owner, Parts, Trigger};
use super::landmarks::Landmarks;
use super::long::Long;
use super::states::States;
use crate::statistics::distribution::Distribution;

/// Episodes kept one by one at most: the longest.
const MOST_KEPT: usize = 10_000;
/// Client names kept at most.
const MOST_NAMES: usize = 10_000;

/// Sums over the episodes of one trigger.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByTrigger {
    pub(crate) count: u64,
    pub(crate) perceptible: u64,
    pub(crate) parts: Parts,
    pub(crate) perceptible_parts: Parts,
    /// Threads that could run, times nanoseconds.
    pub(crate) runnable: u64,
    /// Nanoseconds in which that was counted.
    pub(crate) counted: u64,
}

/// What was found.
#[derive(Debug)]
pub struct Findings {
    pub(crate) options: EpisodeOptions,
    names: BTreeMap<ConnectionId, String>,
    /// The longest, by latency and number.
    kept: BTreeMap<(u64, Reverse<u64>), Episode>,
    number: u64,
    pub(crate) omitted: u64,
    pub(crate) latencies: Distribution,
    pub(crate) total: u64,
    pub(crate) under_3: u64,
    pub(crate) perceptible: u64,
    pub(crate) triggers: [ByTrigger; 3],
    pub(crate) landmarks: Landmarks,
    pub(crate) unscheduled: u64,
    pub(crate) bursts: Bursts,
    pub(crate) long: Long,
    pub(crate) states: States,
}

impl Findings {
    pub(crate) fn new(options: &EpisodeOptions) -> Findings {
        Findings {
            options: options.clone(),
            names: BTreeMap::new(),
            kept: BTreeMap::new(),
            number: 0,
            omitted: 0,
            latencies: Distribution::default(),
            total: 0,
            under_3: 0,
            perceptible: 0,
            triggers: Default::default(),
            landmarks: Landmarks::default(),
            unscheduled: 0,
            bursts: Bursts::new(options.frame()),
            long: Long::default(),
            states: States::default(),
        }
    }

    pub(crate) fn opened(&mut self, opened: &Opened) {
        if self.names.len() < MOST_NAMES {
            let name = match &opened.name {
                Some(name) => format!("{name} (client {})", opened.connection.0),
                None => format!("client {}", opened.connection.0),
            };
            self.names.insert(opened.connection, name);
        }
    }

    /// A client's name and number.
    pub(crate) fn client(&self, client: ConnectionId) -> String {
        let name = self.names.get(&client).cloned();
        name.unwrap_or_else(|| format!("client {}", client.0))
    }

    fn wanted(&self, episode: &Episode) -> bool {
        let client = self.options.client.as_ref().is_none_or(|wanted| {
            wanted.parse() == Ok(episode.client.0)
                || self.client(episode.client).contains(wanted.as_str())
        });
        let landmark = self.options.landmark.as_ref();
        client && landmark.is_none_or(|wanted| episode.landmark.as_str().contains(wanted.as_str()))
    }

    /// Whether a person perceives that it took time.
    pub(crate) fn is_perceptible(&self, episode: &Episode) -> bool {
        let threshold = self
            .options
            .thresholds
            .of(episode.trigger, episode.landmark.as_str());
        episode.latency() as f64 >= threshold * 1e6
    }

    pub(crate) fn add(&mut self, episode: &Episode) {
        if !self.wanted(episode) {
            return;
        }
        let episode = &episode.over(&self.options.net);
        let latency = episode.latency();
        let perceptible = self.is_perceptible(episode);
        self.number += 1;
        self.latencies.add(latency);
        self.total = self.total.saturating_add(latency);
        self.under_3 += u64::from(latency < 3_000_000);
        self.perceptible += u64::from(perceptible);
        self.unscheduled += u64::from(!episode.scheduled);
        let at = Trigger::ALL.iter().position(|one| *one == episode.trigger);
        if let Some(of) = at.and_then(|at| self.triggers.get_mut(at)) {
            of.count += 1;
            of.parts.merge(&episode.parts);
            if episode.scheduled {
                of.runnable = of.runnable.saturating_add(episode.runnable);
                let handled = episode.latency() - episode.parts.of(Owner::Waiting);
                of.counted = of.counted.saturating_add(handled);
            }
            if perceptible {
                of.perceptible += 1;
                of.perceptible_parts.merge(&episode.parts);
            }
        }
        self.landmarks.add(episode, perceptible);
        self.bursts.add(episode);
        self.long.add(episode.start.as_nanos(), latency);
        self.kept
            .insert((latency, Reverse(self.number)), episode.clone());
        if self.kept.len() > self.options.worst.unwrap_or(MOST_KEPT).min(MOST_KEPT) {
            self.kept.pop_first();
            self.omitted += 1;
        }
    }

    /// How many episodes there were.
    pub fn count(&self) -> u64 {
        self.number
    }

    /// The episodes kept: the longest first where only the worst are wanted, else in the order
    /// of time.
    pub fn episodes(&self) -> Vec<&Episode> {
        let mut episodes: Vec<&Episode> = self.kept.values().rev().collect();
        if self.options.worst.is_none() {
            episodes.sort_by_key(|episode| (episode.start, episode.client));
        }
        episodes
    }
}
