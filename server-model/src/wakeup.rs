//! Wakeup: waking the server, by how long it slept, and how long others ran on its processor.

pub(crate) mod shared_processor;

use x11prof_cost_model::{Micros, PriorSleep};

use crate::cache::Elapsed;
use crate::clock::{ServerClock, Time};
use shared_processor::SharedProcessor;

/// When a server was woken, and after what.
#[derive(Debug, Default)]
pub(crate) struct Wakeups {
    pub(crate) processor: SharedProcessor,
    /// What went before the last wakeup.
    prior_sleep: PriorSleep,
    /// For how long others had run on the server's processor when the last batch came.
    worked: Micros,
    /// For how long the server has slept so far while nobody else ran on its processor.
    idled: Micros,
    /// When the last batch came that woke it.
    woken: Option<Micros>,
}

impl Wakeups {
    /// A batch of requests arrives at `time`. Its client got its last answer at `answered`, if it waited for one.
    /// Gives whether the batch wakes the server.
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
        // Where the server waited for this client alone, it slept for as long as the client took. The recorder's
        // own time, there and back, is not part of the sleep.
        let slept = client.map_or(slept, |client| Micros(slept.0.min(client.0)));
        self.prior_sleep = PriorSleep {
            slept,
            worked: lately,
        };
        let idle = (slept - lately).0.max(0.0);
        // How long the server had slept before the first batch is not known.
        if idle.is_finite() {
            self.idled += Micros(idle);
        }
        self.woken = Some(at);
        true
    }

    /// What went before the server's last wakeup.
    pub(crate) fn prior_sleep(&self) -> PriorSleep {
        self.prior_sleep
    }

    /// For how long the server, busy until `busy`, has been awake.
    pub(crate) fn awake(&self, busy: Micros) -> Micros {
        self.woken.map_or(Micros::ZERO, |woken| busy - woken)
    }

    /// How far the server has come by `now`.
    pub(crate) fn elapsed(&self, now: Micros) -> Elapsed {
        Elapsed {
            now,
            worked: self.worked,
            idled: self.idled,
        }
    }
}
