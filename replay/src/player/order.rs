//! Keeps the order of a recorded session. Before it sends a client's batch, the player waits for replies, for events,
//! and for the handling of other clients' requests.

use std::time::{Duration, Instant};

use x11prof_protocol::{ByteOrder, Symbol};

use super::patience::{EVENT_PATIENCE, turn};
use super::performer::Player;
use crate::ReplayError;
use crate::script::{Batch, EventKey};

/// After this many waits without events of a kind, the player no longer waits for events of that kind.
const MISSES: u32 = 3;
/// After this many waits without events of any kind, the player no longer waits for events.
const ALL_MISSES: u32 = 40;
/// The opcode of GetInputFocus.
const GET_INPUT_FOCUS: u8 = 43;

impl Player<'_> {
    /// Waits for the replies that the recorded client had received before it sent the batch. Returns false if they do
    /// not arrive within `patience`.
    pub(super) fn replies(
        &mut self,
        batch: &Batch,
        patience: Duration,
    ) -> Result<bool, ReplayError> {
        self.wait(batch.client, patience, |one| {
            !one.is_unanswered(batch.after_reply)
        })
    }

    /// True if the display must still reply to a request before the batch can be sent.
    pub(super) fn is_unanswered(&self, batch: &Batch) -> bool {
        let connection = self.clients[batch.client].as_ref();
        connection.is_some_and(|one| one.is_unanswered(batch.after_reply))
    }

    /// Waits for the events that the recorded client had received before it sent the batch.
    pub(super) fn wait_for_events(&mut self, batch: &Batch) -> Result<(), ReplayError> {
        let mut awaited = Vec::with_capacity(batch.after_events.len());
        for event in &batch.after_events {
            let key = EventKey {
                id: self.ids.known(event.key.id).unwrap_or(event.key.id),
                extension: self.major_here(event.key.extension).unwrap_or(0),
                ..event.key
            };
            if let Some(connection) = &mut self.clients[batch.client] {
                connection.await_event(key, event.time);
                awaited.push((key, event.name));
            }
        }
        self.events(batch.client, awaited)
    }

    fn events(
        &mut self,
        client: usize,
        mut awaited: Vec<(EventKey, Symbol)>,
    ) -> Result<(), ReplayError> {
        let mut until = Instant::now() + EVENT_PATIENCE;
        let mut has_asked = false;
        let all_misses: u32 = self.unreliable.values().sum();
        awaited.retain(|(key, _)| {
            let misses = self.unreliable.get(&(key.extension, key.code));
            all_misses < ALL_MISSES && misses.is_none_or(|misses| *misses < MISSES)
        });
        loop {
            let Some(connection) = &self.clients[client] else {
                return Ok(());
            };
            awaited.retain(|(key, _)| {
                let of = connection.arrivals.get(key);
                of.is_some_and(|of| of.came < of.awaited)
            });
            if awaited.is_empty() || connection.is_over {
                return Ok(());
            }
            if Instant::now() >= until {
                if std::mem::replace(&mut has_asked, true) {
                    break;
                }
                // A display on a busy machine may be late. The server sends pending events to the client before the reply.
                self.settle(None)?;
                self.ask(client)?;
                until = Instant::now();
                continue;
            }
            self.pump(until);
        }
        awaited.sort_unstable_by_key(|(key, _)| (key.extension, key.code, key.id));
        awaited.dedup_by_key(|(key, _)| *key);
        for (key, name) in awaited {
            let connection = self.clients[client].as_mut();
            if let Some(of) = connection.and_then(|one| one.arrivals.get_mut(&key)) {
                let missed = of.awaited - of.came;
                of.awaited = of.came;
                *self
                    .unreliable
                    .entry((key.extension, key.code))
                    .or_default() += 1;
                let missed_events = &mut self.played.missed_events;
                *missed_events.entry(name.as_str().to_owned()).or_default() += missed;
            }
        }
        Ok(())
    }

    /// Waits until the display has handled all requests of these clients (indexes; `None` for all clients), so that
    /// it handles later requests of other clients after them. The player adds a round trip for each client whose last
    /// request may not be handled yet.
    pub(super) fn settle(&mut self, clients: Option<&[usize]>) -> Result<(), ReplayError> {
        let all: Vec<usize> = (0..self.clients.len()).collect();
        for client in clients.unwrap_or(&all) {
            let Some(connection) = &self.clients[*client] else {
                continue;
            };
            if connection.handled < connection.sent && !connection.is_over {
                self.ask(*client)?;
            }
        }
        Ok(())
    }

    /// Sends GetInputFocus on a client's connection, and waits for the reply.
    fn ask(&mut self, client: usize) -> Result<(), ReplayError> {
        let request = match self.script.clients[client].order {
            ByteOrder::Little => [GET_INPUT_FOCUS, 0, 1, 0],
            ByteOrder::Big => [GET_INPUT_FOCUS, 0, 0, 1],
        };
        let Some(connection) = &mut self.clients[client] else {
            return Ok(());
        };
        connection.note(0, 1, [0].into_iter());
        let asked = connection.sent;
        self.write(client, &request, None)?;
        self.played.added_round_trips += 1;
        let limit = turn(self.grabbed.is_some());
        self.wait(client, limit, |one| one.handled >= asked)?;
        Ok(())
    }

    /// The display's major opcode of the extension that has the major opcode `recorded` in the recording; `None` if
    /// the display lacks the extension or the recording does not name it.
    pub(super) fn major_here(&self, recorded: u8) -> Option<u8> {
        let name = self.script.extensions.by_major(recorded)?.name;
        Some(self.extensions.by_name(name.as_str())?.major)
    }
}
