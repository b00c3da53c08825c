//! Wakeup: the cost of waking the server, by the length of its sleep, and by the time that others ran on its processor.

pub(crate) mod shared_processor;

use x11prof_cost_model::{Micros, PriorSleep};

use crate::cache::Elapsed;
use crate::clock::{ServerClock, Time};
use shared_processor::SharedProcessor;

/// The times of wakeups, and the sleeps before them.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    pub(crate) processor: SharedProcessor,
    /// The sleep before the last wakeup.
    prior_sleep: PriorSleep,
    /// The time for which others had run on the server's processor when the last batch came.
    worked: Micros,
    /// The time for which the server has slept so far while nobody else ran on its processor.
    idled: Micros,
}

impl Wakeups {
    /// A batch of requests arrives at `time`. Its client got its last answer at `answered`, if it waited for one. True
    /// if the batch wakes the server.
    pub(crate) fn arrive(
        &mut self,
        clock: &mut ServerClock,
        time: Time,
        answered: Option<Time>,
    ) -> bool {
        let at = clock.at(time);
        let client = answered.and_then(|since| self.processor.span(since, time));
        let worked = self.processor.worked(time);
        let lately = worked - std::mem::replace(&mut self.worked, worked);
        let Some(slept) = clock.arrive(at) else {
            return false;
        };
        // If the server waited for this client alone, it slept for as long as the client took. The recorder's own time,
        // there and back, is not part of the sleep.
        let slept = client.map_or(slept, |client| Micros(slept.0.min(client.0)));
        self.prior_sleep = PriorSleep {
            slept,
            worked: lately,
        };
        let idle = (slept - lately).0.max(0.0);
        // The server's sleep before the first batch is unknown.
        if idle.is_finite() {
            self.idled += Micros(idle);
        }
        true
    }

    /// The sleep before the server's last wakeup.
    pub(crate) fn prior_sleep(&self) -> PriorSleep {
        self.prior_sleep
    }

    /// The server's age at `now`.
    pub(crate) fn elapsed(&self, now: Micros) -> Elapsed {
        Elapsed {
            now,
            worked: self.worked,
            idled: self.idled,
        }
    }
}
