//! The span of a pass so far: its first record, and the latest time in it.

use x11prof_trace::Timestamp;

use crate::pipeline::Observation;

/// The time that a pass covers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Elapsed {
    start: Option<Timestamp>,
    now: Timestamp,
}

impl Elapsed {
    pub(crate) fn observe(&mut self, observation: &Observation<'_>) {
        let time = match observation {
            Observation::Message(seen) => seen.time,
            Observation::Control(time, _) => {
                self.start.get_or_insert(*time);
                *time
            }
            _ => return,
        };
        self.now = self.now.max(time);
    }

    /// The trace's first record.
    pub(crate) fn start(&self) -> Timestamp {
        self.start.unwrap_or_default()
    }

    /// The time of the latest record.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }
}
