//! The landmark profile: episodes summed by landmark.

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;

use super::episode::{Episode, LatencyBreakdown, LatencyComponent, Trigger};
use crate::statistics::distribution::Distribution;
use crate::text::label::Label;

/// Maximum number of landmarks; further landmarks count as one.
const MAX_LANDMARKS: usize = 2000;

/// The name of the sum of all landmarks beyond the limit.
const OTHERS: &str = "(others)";

/// The sums over the episodes of one landmark. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Landmark {
    pub(crate) group: Symbol,
    pub(crate) latencies: Distribution,
    pub(crate) total: u64,
    /// The sums of INP's three phases: input delay, processing, presentation delay.
    pub(crate) phases: [u64; 3],
    pub(crate) perceptible: u64,
    pub(crate) parts: LatencyBreakdown,
    /// The minimum, the sum and the maximum of the exclusive latencies (without the latencies of children).
    pub(crate) exclusive: (u64, u64, u64),
}

/// All landmarks, or all groups of landmarks, by kind of stimulus and name. One name may occur with several kinds: the
/// pointer may enter a window because the user moves it, or because the window opens under it.
#[derive(Debug, Default)]
pub(crate) struct Landmarks(FxHashMap<(Trigger, Label), Landmark>);

/// INP's three phases of an episode, in nanoseconds: input delay, processing with the effects on other clients,
/// presentation delay. They add up to the latency.
pub(crate) fn phases(episode: &Episode) -> [u64; 3] {
    let delay = episode.parts.of(LatencyComponent::Waiting);
    let presentation = episode.presentation;
    let rest = episode
        .latency()
        .saturating_sub(delay.saturating_add(presentation));
    [delay, rest, presentation]
}

impl Landmarks {
    /// Adds an episode to the landmark or group called `name`; `perceptible` is true if its latency is over its
    /// threshold.
    pub(crate) fn add(&mut self, name: &Label, episode: &Episode, perceptible: bool) {
        let mut key = (episode.trigger, name.clone());
        let full = self.0.len() >= MAX_LANDMARKS && !self.0.contains_key(&key);
        if full {
            key.1 = Label::new(OTHERS);
        }
        let landmark = self.0.entry(key).or_insert_with(|| Landmark {
            group: if full {
                Symbol::new(OTHERS)
            } else {
                episode.group
            },
            latencies: Distribution::default(),
            total: 0,
            phases: [0; 3],
            perceptible: 0,
            parts: LatencyBreakdown::default(),
            exclusive: (u64::MAX, 0, 0),
        });
        let latency = episode.latency();
        landmark.latencies.add(latency);
        landmark.total = landmark.total.saturating_add(latency);
        for (sum, phase) in landmark.phases.iter_mut().zip(phases(episode)) {
            *sum = sum.saturating_add(phase);
        }
        let (own, (least, sum, most)) = (episode.exclusive(), &mut landmark.exclusive);
        (*least, *most) = ((*least).min(own), (*most).max(own));
        *sum = sum.saturating_add(own);
        landmark.perceptible += u64::from(perceptible);
        landmark.parts.merge(&episode.parts);
    }

    /// The landmark of this name that the user triggers; `None` if there is no such landmark.
    pub(crate) fn of_user(&self, name: Label) -> Option<&Landmark> {
        self.0.get(&(Trigger::Input, name))
    }

    /// The landmarks with their kinds and names, the most time first.
    pub(crate) fn list(&self) -> Vec<(&(Trigger, Label), &Landmark)> {
        let mut list: Vec<_> = self.0.iter().collect();
        list.sort_by(|(a, one), (b, other)| other.total.cmp(&one.total).then_with(|| a.cmp(b)));
        list
    }
}
