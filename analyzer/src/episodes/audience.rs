//! Selects the clients whose episodes matter to a user: those that show something or receive device events. A program
//! that injects input, or only queries the server, does neither.

use std::collections::{HashSet, VecDeque};

use x11prof_trace::ConnectionId;

use super::episode::{Episode, Trigger};
use super::timeline_event::TimelineEvent;

/// Clients kept at most.
const MAX_CLIENTS: usize = 10_000;
/// Episodes held at most.
const MAX_HELD: usize = 4096;

/// The clients with an audience, and the episodes of others so far.
#[derive(Debug, Default)]
pub(crate) struct Audience {
    has: HashSet<ConnectionId>,
    /// Episodes of clients that may still show something.
    held: VecDeque<Episode>,
    /// Episodes that count, until the caller takes them.
    pub(crate) ready: Vec<Episode>,
    left_out: u64,
}

impl Audience {
    /// Takes the next event of the timeline. If it shows that a client has an audience, the client's held
    /// episodes count.
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
            // It may have a window from before the recording.
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

    /// Takes an episode, and holds it until its client shows something. The effects of a client that never shows
    /// anything count as separate episodes.
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

    /// The trace has ended. If no client has an audience, all episodes count. Returns the number of episodes
    /// that do not count.
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
