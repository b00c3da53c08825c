//! Selects the clients whose episodes somebody waits for: those that show something or get device events. A
//! program that plays the user, or only asks the server questions, does neither.

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
    left_out: u64,
}

impl Audience {
    /// Takes the next event of the timeline. Hands out what was held of a client that is seen to have an audience.
    pub(crate) fn happened(
        &mut self,
        timeline_event: &TimelineEvent,
        on: &mut impl FnMut(Episode),
    ) {
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
            // It may have a window from before.
            TimelineEvent::Joined(client) => *client,
            _ => return,
        };
        if self.has.len() < MAX_CLIENTS && self.has.insert(client) {
            let (of_it, rest) = std::mem::take(&mut self.held)
                .into_iter()
                .partition(|episode| episode.client == client);
            self.held = rest;
            VecDeque::into_iter(of_it).for_each(on);
        }
    }

    /// Hands out an episode, or holds it until its client shows something. What such a client makes others
    /// do counts for itself.
    pub(crate) fn take(&mut self, mut episode: Episode, on: &mut impl FnMut(Episode)) {
        let has = |client| self.has.contains(&client) || self.has.len() >= MAX_CLIENTS;
        if has(episode.client) {
            episode.link.take_if(|link| !has(link.from.client));
            return on(episode);
        }
        self.held.push_back(episode);
        if self.held.len() > MAX_HELD {
            self.held.pop_front();
            self.left_out += 1;
        }
    }

    /// The trace has ended. Where no client has an audience, all count. Says how many episodes do not.
    pub(crate) fn finish(&mut self, on: &mut impl FnMut(Episode)) -> u64 {
        let held = std::mem::take(&mut self.held);
        if self.has.is_empty() {
            held.into_iter().for_each(on);
        } else {
            self.left_out += held.len() as u64;
        }
        self.left_out
    }
}
