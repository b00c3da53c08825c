//! Assigns overlapping spans to separate lanes, because slices of one track must nest.

use x11prof_trace::Timestamp;

/// The lanes of one client.
#[derive(Debug, Default)]
pub(in crate::export) struct Lanes {
    /// The time since which each lane is free; `None` while it is in use.
    free: Vec<Option<Timestamp>>,
}

impl Lanes {
    /// Occupies the first lane that is free at `time`, and returns its number.
    pub(in crate::export) fn take(&mut self, time: Timestamp) -> usize {
        let found = self
            .free
            .iter()
            .position(|free| free.is_some_and(|since| since <= time));
        let lane = found.unwrap_or_else(|| {
            self.free.push(None);
            self.free.len() - 1
        });
        self.free[lane] = None;
        lane
    }

    /// Marks the lane with this index as free from `time` on.
    pub(in crate::export) fn free(&mut self, lane: usize, time: Timestamp) {
        if let Some(free) = self.free.get_mut(lane) {
            *free = Some(time);
        }
    }
}
