//! The episodes that waited during another client's stall.

use super::report::{StallLine, StallsReport};
use crate::episodes::{EpisodeReport, EpisodesReport, HeldUpReport};

impl StallsReport {
    /// Stores in each episode of the report the longest stall that delayed it, if the delay was longer than a frame.
    pub fn name_in(&self, episodes: &mut EpisodesReport) {
        for episode in &mut episodes.episodes {
            let held_up = self
                .stalls
                .iter()
                .filter_map(|stall| held_up(episode, stall));
            let longest = held_up.max_by(|a, b| a.waited_ms.total_cmp(&b.waited_ms));
            episode.held_up = longest.filter(|one| one.waited_ms > self.frame_ms);
        }
    }
}

/// The time that an episode lost to a stall in which its client waited.
fn held_up(episode: &EpisodeReport, stall: &StallLine) -> Option<HeldUpReport> {
    let waiter = stall
        .waited
        .iter()
        .find(|one| one.connection == episode.client)?;
    let stall_ends = stall.since_ms + stall.held_ms;
    // A client waits from its first request on until the stall ends.
    let from = (stall_ends - waiter.waited_ms).max(episode.start_ms);
    let to = stall_ends.min(episode.start_ms + episode.latency_ms);
    (to > from).then(|| HeldUpReport {
        by: stall.client.clone(),
        how: stall.how.clone(),
        request: stall.request.clone(),
        waited_ms: to - from,
    })
}
