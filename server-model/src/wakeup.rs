//! The term "wakeup" of the model: the server's sleeps, whose lengths determine the costs of wakeups.

use x11prof_cost_model::Micros;

use crate::clock::{ServerClock, Time};

/// The sleeps of the server.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    /// The length of the last sleep.
    slept: Micros,
    /// The time for which the server has slept so far.
    idled: Micros,
}

impl Wakeups {
    /// Processes the arrival of a batch of requests at `time`. Returns true if the batch wakes the server.
    pub(crate) fn arrive(&mut self, clock: &mut ServerClock, time: Time) -> bool {
        let at = clock.at(time);
        let Some(slept) = clock.arrive(at) else {
            return false;
        };
        self.slept = slept;
        // The server's sleep before the first batch is unknown.
        if slept.0.is_finite() {
            self.idled += slept;
        }
        true
    }

    /// The length of the sleep that ended with the last wakeup, in microseconds; infinite for the first wakeup.
    pub(crate) fn slept(&self) -> Micros {
        self.slept
    }

    /// The total time for which the server has slept so far, in microseconds; without the sleep before the first batch.
    pub(crate) fn idled(&self) -> Micros {
        self.idled
    }
}
