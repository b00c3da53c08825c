//! The time range that a pass has covered so far: from its first record to the latest time.

use x11prof_trace::Timestamp;

use crate::pipeline::Observation;

/// The span of time that a pass has covered.
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

    /// The time of the trace's first record.
    pub(crate) fn start(&self) -> Timestamp {
        self.start.unwrap_or_default()
    }

    /// The time of the latest record so far.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }
}
