//! When the server ran, and how long it went on after a client's last request.

use std::collections::VecDeque;

use x11prof_trace::{Switch, SwitchKind};

use super::cause::ServerCause;
use super::episode::{Episode, Owner};

/// Stretches kept to look back at.
const KEPT: usize = 256;
/// A server that sleeps when something is sent wakes within this, or was not woken by it.
const WAKES_WITHIN: u64 = 10_000_000;
/// A server that stops this soon after something was sent may not have got it yet.
const ON_THE_WAY: u64 = 100_000;
/// Episodes that wait for the server at most.
const MAX_WAITING: usize = 4096;

/// The server's processor, and episodes whose last drawing it may be busy with.
#[derive(Debug, Default)]
pub(crate) struct ServerActivity {
    pub(crate) pid: Option<u32>,
    /// Stretches of work: from waking until waiting again.
    stretches: VecDeque<(u64, u64)>,
    running_since: Option<u64>,
    waiting: VecDeque<(Episode, u64)>,
    switches: bool,
}

impl ServerActivity {
    /// A switch of the server.
    pub(crate) fn switch(&mut self, switch: &Switch) {
        self.switches = true;
        let time = switch.time.as_nanos();
        match switch.kind {
            SwitchKind::In => {
                self.running_since.get_or_insert(time);
            }
            SwitchKind::Blocked => {
                if let Some(since) = self.running_since.take() {
                    if self.stretches.len() == KEPT {
                        self.stretches.pop_front();
                    }
                    self.stretches.push_back((since, time));
                }
            }
            // It goes on with what it does when it runs again.
            SwitchKind::Preempted => {}
        }
    }

    /// Takes an episode whose client ended it at `end`.
    pub(crate) fn finish(&mut self, episode: Episode, end: u64) {
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((episode, end));
    }

    /// Hands out the episodes that the server is done with at `now`.
    pub(crate) fn settle(&mut self, now: u64, on: &mut impl FnMut(Episode)) {
        let waiting = std::mem::take(&mut self.waiting);
        for (mut episode, end) in waiting {
            match self.tail(end, now) {
                Some(tail) => {
                    if episode.requests > 0 {
                        episode.parts.add(Owner::Server(ServerCause::Drawing), tail);
                    }
                    on(episode);
                }
                None => self.waiting.push_back((episode, end)),
            }
        }
    }

    /// How long the server worked on what was sent at `sent`; `None` where it still may.
    fn tail(&self, sent: u64, now: u64) -> Option<u64> {
        if !self.switches {
            return Some(0);
        }
        let mut all = self.stretches.iter().copied();
        let open = self.running_since.map(|since| (since, u64::MAX));
        let mut after = all.by_ref().chain(open).filter(|(_, end)| *end >= sent);
        let first = after.next();
        let stretch = match first {
            Some((since, end)) if since <= sent && end - sent < ON_THE_WAY => match after.next() {
                Some(next) if next.0 - sent < 10 * ON_THE_WAY => Some(next),
                _ if now - sent < 10 * ON_THE_WAY => return None,
                _ => Some((since, end)),
            },
            other => other,
        };
        match stretch {
            Some((since, _)) if since > sent.saturating_add(WAKES_WITHIN) => Some(0),
            Some((_, u64::MAX)) => (now == u64::MAX).then_some(0),
            Some((_, end)) => Some(end - sent),
            None if now < sent.saturating_add(WAKES_WITHIN) => None,
            None => Some(0),
        }
    }
}
