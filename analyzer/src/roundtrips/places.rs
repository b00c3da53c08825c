//! The phases of round trips in the session: start-up, a user action, or none.

use std::collections::{BTreeMap, HashMap, VecDeque};

use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::round_trip::{Kind, RoundTrip, Waited};
use crate::episodes::Episode;
use crate::text::label::Label;

/// Maximum number of phases and requests counted separately; further round trips have no phase.
const COUNTED: usize = 1 << 13;
/// Maximum number of round trips that wait for the end of their episode, for each client and in total. Further ones
/// have no phase.
const WAITING: usize = 1 << 13;
const WAITING_IN_ALL: usize = 1 << 16;

/// The phase of round trips that belong to no action.
const NONE: &str = "outside episodes";

/// The round trips by phase and request.
#[derive(Debug, Default)]
pub(super) struct Places {
    counted: BTreeMap<(Label, Kind), Waited>,
    waiting: HashMap<ConnectionId, VecDeque<RoundTrip>>,
    held: usize,
}

impl Places {
    /// Adds a round trip, which waits until its phase is known.
    pub(super) fn add(&mut self, single: &RoundTrip) {
        if single.starting {
            return self.count(Label::new("start-up"), single);
        }
        let waiting = self.waiting.entry(single.client).or_default();
        waiting.push_back(*single);
        self.held += 1;
        if waiting.len() > WAITING || self.held > WAITING_IN_ALL {
            self.held -= 1;
            if let Some(first) = waiting.pop_front() {
                self.count(Label::new(NONE), &first);
            }
        }
    }

    /// Assigns the waiting round trips of a finished episode to its landmark. The episodes of a client arrive in order.
    pub(super) fn episode(&mut self, episode: &Episode) {
        let (start, end) = (episode.start.as_nanos(), episode.end().as_nanos());
        while let Some(waiting) = self.waiting.get_mut(&episode.client)
            && let Some(first) = waiting.pop_front_if(|first| first.requested_at <= end)
        {
            self.held -= 1;
            let place = match first.requested_at >= start {
                true => episode.landmark.clone(),
                false => Label::new(NONE),
            };
            self.count(place, &first);
        }
    }

    fn count(&mut self, place: Label, single: &RoundTrip) {
        let key = (place, single.kind);
        let key = match self.counted.len() < COUNTED || self.counted.contains_key(&key) {
            true => key,
            false => (Label::new(NONE), (Symbol::new("(other)"), false)),
        };
        self.counted.entry(key).or_default().add(single.waited);
    }

    /// The number and the wait of the round trips, by phase and request. Round trips that still wait belong to no
    /// action.
    pub(super) fn finish(mut self) -> BTreeMap<(Label, Kind), Waited> {
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            waiting
                .iter()
                .for_each(|single| self.count(Label::new(NONE), single));
        }
        self.counted
    }
}
