//! Selects the clients whose episodes matter to a user: those that show a window or receive device events. A program
//! that only injects input or queries the server does neither.

use std::collections::{HashSet, VecDeque};

use x11prof_trace::ConnectionId;

use super::episode::{Episode, Trigger};
use super::timeline_event::TimelineEvent;

/// Maximum number of tracked clients. Further clients count as visible.
const MAX_CLIENTS: usize = 10_000;
/// Maximum number of held episodes.
const MAX_HELD: usize = 4096;

/// The clients that are visible to the user, and the held episodes of all other clients.
#[derive(Debug, Default)]
pub(crate) struct VisibleClients {
    has: HashSet<ConnectionId>,
    /// Episodes of clients that may still show something.
    held: VecDeque<Episode>,
    /// Episodes of visible clients, until the caller removes them.
    pub(crate) ready: Vec<Episode>,
    left_out: u64,
}

impl VisibleClients {
    /// Processes the next timeline event. If it shows that a client is visible, the client's held episodes become
    /// ready.
    pub(crate) fn happened(&mut self, timeline_event: &TimelineEvent) {
        let client = match timeline_event {
            TimelineEvent::Sent(client, sent) if sent.shows => *client,
            TimelineEvent::Delivered(client, delivery) => {
                let by_user = |event: &super::timeline_event::Arrival| {
                    event.stimulus.trigger == Trigger::Input
                };
                if !delivery.events.iter().any(by_user) {
                    return;
                }
                *client
            }
            // The client may have a window from before the recording.
            TimelineEvent::Joined(client) => *client,
            _ => return,
        };
        if self.has.len() < MAX_CLIENTS && self.has.insert(client) {
            let (of_it, rest) = std::mem::take(&mut self.held)
                .into_iter()
                .partition(|episode| episode.client == client);
            self.held = rest;
            self.ready.extend(VecDeque::into_iter(of_it));
        }
    }

    /// Adds an episode, and holds it until its client is visible. Effects of a client that never becomes visible count
    /// as separate episodes.
    pub(crate) fn take(&mut self, mut episode: Episode) {
        let has = |client| self.has.contains(&client) || self.has.len() >= MAX_CLIENTS;
        if has(episode.client) {
            episode.link.take_if(|link| !has(link.from.client));
            return self.ready.push(episode);
        }
        self.held.push_back(episode);
        if self.held.len() > MAX_HELD {
            self.held.pop_front();
            self.left_out += 1;
        }
    }

    /// Ends the trace. If no client is visible, all episodes count. Returns the number of episodes that were left out.
    pub(crate) fn finish(&mut self) -> u64 {
        let held = std::mem::take(&mut self.held);
        if self.has.is_empty() {
            self.ready.extend(held);
        } else {
            self.left_out += held.len() as u64;
        }
        self.left_out
    }
}
