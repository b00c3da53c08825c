//! Queues the batches of clients with late replies. Other clients continue meanwhile, because one of them may have
//! grabbed the server.

use std::collections::{BTreeMap, VecDeque};

use super::patience::{PATIENCE, turn};
use super::performer::Player;
use crate::ReplayError;
use crate::script::Batch;

/// Batches that wait for replies to their client, by index of the client.
#[derive(Default)]
pub(super) struct Waiting<'a>(BTreeMap<usize, VecDeque<&'a Batch>>);

impl<'a> Waiting<'a> {
    pub(super) fn has(&self, client: usize) -> bool {
        self.0.contains_key(&client)
    }

    /// Sends the batch, or queues it if earlier batches of its client wait or its awaited replies are late.
    pub(super) fn send(
        &mut self,
        player: &mut Player<'_>,
        batch: &'a Batch,
    ) -> Result<(), ReplayError> {
        if let Some(kept) = self.0.get_mut(&batch.client) {
            kept.push_back(batch);
        } else if player.replies(batch, turn(player.grabbed.is_some()))? {
            player.send(batch)?;
        } else {
            self.0.insert(batch.client, [batch].into());
        }
        Ok(())
    }

    /// Sends the queued batches whose awaited replies have arrived.
    pub(super) fn go_on(&mut self, player: &mut Player<'_>) -> Result<(), ReplayError> {
        for kept in self.0.values_mut() {
            while let Some(batch) = kept.front()
                && !player.is_unanswered(batch)
            {
                player.send(batch)?;
                kept.pop_front();
            }
        }
        self.0.retain(|_, kept| !kept.is_empty());
        Ok(())
    }

    /// Sends all queued batches, and waits for their replies.
    pub(super) fn finish(mut self, player: &mut Player<'_>) -> Result<(), ReplayError> {
        loop {
            self.go_on(player)?;
            let Some(batch) = self.0.values().find_map(VecDeque::front).copied() else {
                return Ok(());
            };
            // No other client has anything left to send.
            player.replies(batch, PATIENCE)?;
        }
    }
}
