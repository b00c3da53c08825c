//! Queues the batches of clients whose replies are late. Other clients continue meanwhile, because one of them may
//! have grabbed the server and must release it.

use std::collections::{BTreeMap, VecDeque};

use super::patience::{PATIENCE, turn};
use super::performer::Player;
use crate::ReplayError;
use crate::script::Batch;

/// The queued batches by client index. The first batch of each client waits for replies.
#[derive(Default)]
pub(super) struct Waiting<'a>(BTreeMap<usize, VecDeque<&'a Batch>>);

impl<'a> Waiting<'a> {
    pub(super) fn has(&self, client: usize) -> bool {
        self.0.contains_key(&client)
    }

    /// Sends the batch. Queues it instead if earlier batches of its client are queued, or if its awaited replies do
    /// not arrive in time.
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

    /// Sends all queued batches, waiting for the replies that they need.
    pub(super) fn finish(mut self, player: &mut Player<'_>) -> Result<(), ReplayError> {
        loop {
            self.go_on(player)?;
            let Some(batch) = self.0.values().find_map(VecDeque::front).copied() else {
                return Ok(());
            };
            // The script is at its end, so no other client has anything left to send.
            player.replies(batch, PATIENCE)?;
        }
    }
}
