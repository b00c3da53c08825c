//! Bursts: consecutive short episodes without a pause, such as the frames of an animation or a drag (the thesis,
//! chapter 10, names them as a limitation).

use rustc_hash::FxHashMap;
use x11prof_trace::{ConnectionId, Timestamp};

use super::episode::Episode;
use crate::text::label::Label;

/// A burst with fewer episodes than this is not reported.
const FEWEST: u64 = 5;
/// A pause of more than this many frames ends a burst.
const PAUSE: u64 = 2;
/// Maximum number of bursts kept, and of clients tracked. Further ones are not recorded.
const MAX_BURSTS: usize = 1000;

/// A burst of one client. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Burst {
    pub(crate) client: ConnectionId,
    pub(crate) landmark: Label,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) frames: u64,
    /// The number of episodes that took longer than a frame of the screen.
    pub(crate) over: u64,
    /// The number of episodes that ended more than one and a half frames after the previous episode.
    pub(crate) late: u64,
    pub(crate) longest: u64,
    pub(crate) total: u64,
}

/// Finds the bursts of each client.
#[derive(Debug, Default)]
pub(crate) struct Bursts {
    budget: u64,
    open: FxHashMap<ConnectionId, Burst>,
    found: Vec<Burst>,
}

impl Bursts {
    pub(crate) fn new(budget: u64) -> Bursts {
        Bursts {
            budget,
            ..Bursts::default()
        }
    }

    /// Adds a finished episode. The episodes of one client arrive in time order.
    pub(crate) fn add(&mut self, episode: &Episode) {
        let (latency, end) = (episode.latency(), episode.end());
        let goes_on = self.open.get_mut(&episode.client).filter(|burst| {
            let pause = episode.start.since(burst.end).as_nanos();
            burst.landmark == episode.landmark && pause <= u128::from(PAUSE * self.budget)
        });
        if let Some(burst) = goes_on {
            let interval = end.since(burst.end).as_nanos();
            burst.late += u64::from(interval > u128::from(self.budget + self.budget / 2));
            burst.end = burst.end.max(end);
            burst.frames += 1;
            burst.over += u64::from(latency > self.budget);
            burst.longest = burst.longest.max(latency);
            burst.total = burst.total.saturating_add(latency);
            return;
        }
        if self.open.len() >= MAX_BURSTS && !self.open.contains_key(&episode.client) {
            return;
        }
        let burst = Burst {
            client: episode.client,
            landmark: episode.landmark.clone(),
            start: episode.start,
            end,
            frames: 1,
            over: u64::from(latency > self.budget),
            late: 0,
            longest: latency,
            total: latency,
        };
        if let Some(over) = self.open.insert(episode.client, burst) {
            self.found(over);
        }
    }

    fn found(&mut self, burst: Burst) {
        if burst.frames >= FEWEST && self.found.len() < MAX_BURSTS {
            self.found.push(burst);
        }
    }

    /// The bursts in time order.
    pub(crate) fn list(&self) -> Vec<&Burst> {
        let open = self.open.values().filter(|burst| burst.frames >= FEWEST);
        let mut list: Vec<&Burst> = self.found.iter().chain(open).collect();
        list.sort_by_key(|burst| (burst.start, burst.client));
        list
    }
}
