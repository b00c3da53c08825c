//! The stimuli that wait for their client. Several events that a user perceives as one are one stimulus.

use std::collections::VecDeque;

use super::cross_client::causal_edge::CausalEdge;
use super::episode::Trigger;
use super::stimulus::{Shape, Stimulus};
use super::timeline_event::EpisodeLabel;
use super::user::tag::Tags;

/// Maximum number of waiting stimuli; further stimuli are handled with the last one.
const MAX_STIMULI: usize = 1024;

/// Events within this interval count as simultaneous, because the relay may have read them separately, unless the
/// client has already begun to handle the first one. In nanoseconds.
const TOGETHER: u64 = 1_000_000;

/// A stimulus that its client has not begun to handle. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct WaitingStimulus {
    pub(crate) stimulus: Stimulus,
    pub(crate) about: EpisodeLabel,
    /// The time at which the stimulus occurred, in nanoseconds; `delivered` is the time at which the client received
    /// it.
    pub(crate) start: u64,
    pub(crate) delivered: u64,
    /// The number of events that the stimulus represents.
    pub(crate) events: u64,
    /// The request of another client that caused the stimulus; `None` if no client caused it.
    pub(crate) link: Option<CausalEdge>,
    /// The user-defined events that the stimulus starts and ends.
    pub(crate) tags: Tags,
}

impl WaitingStimulus {
    /// Returns true if the previous stimulus `last` is part of this one.
    fn is_after(&self, last: &WaitingStimulus) -> bool {
        let trigger = last.stimulus.trigger;
        if self.stimulus.trigger == Trigger::Input {
            // A device or keyboard change, or Shift pressed for this key.
            let for_it = self.stimulus.shape == Shape::Press && !self.stimulus.modifier;
            return trigger != Trigger::Input || for_it && last.is_modifier();
        }
        // No client waits for the last stimulus, but a client waits for this one, which arrived together with it.
        let idle = trigger == Trigger::Asynchronous || last.stimulus.is_crossing();
        let together = self.delivered.saturating_sub(last.delivered) <= TOGETHER;
        together && idle && !last.is_awaited() && self.is_awaited()
    }

    /// True if the stimulus is a press that may have a separate response: of no modifier, and not repeated.
    pub(crate) fn is_press(&self) -> bool {
        self.stimulus.shape == Shape::Press && !self.stimulus.modifier && !self.stimulus.repeated
    }

    fn is_modifier(&self) -> bool {
        self.stimulus.modifier && self.stimulus.shape == Shape::Press
    }

    /// Returns true if another client waits until the stimulus is handled.
    fn is_awaited(&self) -> bool {
        self.link.is_some_and(|link| link.is_awaited())
    }
}

/// The stimuli that a client has read together.
#[derive(Debug, Default)]
pub(crate) struct ReadStimuli {
    pub(crate) events: u64,
    /// The requests of other clients that caused the stimuli.
    pub(crate) links: Vec<CausalEdge>,
    /// The tags of all stimuli except `inputs`, which have their own tags.
    pub(crate) tags: Tags,
    /// The user's input among the stimuli: the first input, and all presses.
    pub(crate) inputs: Vec<WaitingStimulus>,
}

/// The waiting stimuli of one client, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Queue(VecDeque<WaitingStimulus>);

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the user caused one of the waiting stimuli.
    pub(crate) fn has_input(&self) -> bool {
        let mut all = self.0.iter();
        all.any(|one| one.stimulus.trigger == Trigger::Input)
    }

    /// True if one of the waiting stimuli is a press that may have a separate response.
    pub(crate) fn has_press(&self) -> bool {
        self.0.iter().any(WaitingStimulus::is_press)
    }

    /// True if another client waits for the handling of one of the stimuli.
    pub(crate) fn has_awaited(&self) -> bool {
        self.0.iter().any(WaitingStimulus::is_awaited)
    }

    /// Removes and returns the stimulus to handle next. A stimulus that another client waits for may precede the first
    /// one.
    pub(crate) fn next(&mut self) -> Option<WaitingStimulus> {
        let first = self.0.front()?;
        // A stimulus that requires drawing may be between the two.
        let awaited = self.0.iter().position(|one| one.is_after(first));
        match awaited.filter(|_| first.stimulus.trigger != Trigger::Input) {
            Some(at) => {
                let before = self.0.pop_front()?.events;
                let mut awaited = self.0.remove(at - 1)?;
                awaited.events += before;
                Some(awaited)
            }
            None => self.0.pop_front(),
        }
    }

    /// Puts a stimulus that the client has not responded to back to the front of the queue.
    pub(crate) fn put_back(&mut self, stimulus: WaitingStimulus) {
        self.0.push_front(stimulus);
    }

    /// Drops all stimuli except the last one.
    pub(crate) fn keep_last(&mut self) {
        let before = self.0.len().saturating_sub(1);
        self.0.drain(..before);
    }

    /// The requests of other clients that caused the waiting stimuli.
    pub(crate) fn links(&self) -> impl Iterator<Item = &CausalEdge> {
        self.0.iter().filter_map(|one| one.link.as_ref())
    }

    /// Removes and returns the stimuli that were delivered by `time` (nanoseconds).
    pub(crate) fn delivered_by(&mut self, time: u64) -> ReadStimuli {
        let mut read = ReadStimuli::default();
        while let Some(first) = self.0.pop_front_if(|first| first.delivered <= time) {
            read.events += first.events;
            read.links.extend(first.link);
            if first.stimulus.trigger != Trigger::Input {
                read.tags.add(&first.tags);
                continue;
            }
            if let Some(modifier) = read.inputs.pop_if(|before| before.is_modifier()) {
                read.tags.add(&modifier.tags);
            }
            if read.inputs.is_empty() || first.is_press() {
                read.inputs.push(first);
            } else {
                read.tags.add(&first.tags);
            }
        }
        read
    }

    /// True if the queue contains the press of the key or button that `stimulus` releases.
    pub(crate) fn holds_press_of(&self, stimulus: &Stimulus) -> bool {
        self.0.iter().any(|one| stimulus.releases(&one.stimulus))
    }

    /// Removes the releases at the front of the queue, and returns the number of events that they represent.
    pub(crate) fn take_releases(&mut self) -> u64 {
        let mut events = 0;
        while let Some(first) = self.0.front()
            && first.stimulus.shape == Shape::Release
        {
            events += first.events;
            self.0.pop_front();
        }
        events
    }

    /// Merges `stimulus` into the last waiting stimulus, or into the press that it releases, if a user perceives both
    /// as one action. Returns false if they are separate.
    pub(crate) fn takes(
        &mut self,
        stimulus: &Stimulus,
        link: Option<CausalEdge>,
        tags: &Tags,
    ) -> bool {
        let full = self.0.len() >= MAX_STIMULI;
        let press = self
            .0
            .iter()
            .rposition(|one| stimulus.releases(&one.stimulus));
        let at = press.or_else(|| self.0.len().checked_sub(1));
        let other = at.and_then(|at| self.0.get_mut(at));
        let same = other.filter(|other| stimulus.continues(&other.stimulus) || full);
        same.map(|other| {
            other.events += 1;
            other.link = other.link.or(link);
            other.tags.add(tags);
        })
        .is_some()
    }

    /// Merges `stimulus` into a waiting stimulus that it repeats, and adopts its label if it is more specific. Returns
    /// false if `stimulus` repeats no waiting stimulus.
    pub(crate) fn knows(&mut self, stimulus: &Stimulus, about: &EpisodeLabel, tags: &Tags) -> bool {
        let mut all = self.0.iter_mut();
        let Some(known) = all.find(|one| stimulus.repeats(&one.stimulus)) else {
            return false;
        };
        known.events += 1;
        known.tags.add(tags);
        if known.stimulus.is_raw() && stimulus.trigger == Trigger::Input {
            (known.stimulus, known.about) = (*stimulus, about.clone());
        }
        true
    }

    /// Adds a stimulus to the end of the queue. It replaces waiting stimuli that are only a part of it.
    pub(crate) fn add(&mut self, mut waiting: WaitingStimulus) {
        if waiting.is_press() {
            // The pointer had to move for the click: both are one action.
            let before = self.0.len();
            self.0.retain(|one| !one.stimulus.is_crossing());
            waiting.events += (before - self.0.len()) as u64;
        }
        while self.0.back().is_some_and(|last| waiting.is_after(last))
            && let Some(last) = self.0.pop_back()
        {
            waiting.events += last.events;
        }
        self.0.push_back(waiting);
    }
}
