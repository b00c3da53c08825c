//! What a server has lost from its processor's caches: code by what has not run lately, pixels by
//! what has not been touched.

use std::hash::BuildHasher;

use x11prof_cost_model::{Cost, FastMap, Lapse, Micros, SleepPrices};
use x11prof_protocol::{Request, Symbol};
use x11prof_session::{Effect, Operation, Session};

use super::touched::Touched;

/// Operations told apart by when they ran last; beyond that all count as not having run.
const MOST_OPERATIONS: usize = 1 << 14;

/// What has run, and been touched, and when.
#[derive(Debug, Default)]
pub(super) struct Coldness {
    /// What went before the server's last wakeup.
    lapse: Lapse,
    /// For how long others had run on the server's processor by then.
    worked: Micros,
    /// For how long the server has slept so far while nobody else ran on its processor.
    idled: Micros,
    /// When, on the server's clock, each operation ran last, and `worked` by then: by the
    /// request's name and a hash of the attributes.
    ran: FastMap<(Symbol, u64), (Micros, Micros)>,
    touched: Touched,
}

impl Coldness {
    /// A batch of requests arrives, when others have run for `worked` in all; `slept` is for how
    /// long the server has slept, `None` where it is awake.
    pub(super) fn arrive(&mut self, worked: Micros, slept: Option<Micros>) {
        let lately = worked - std::mem::replace(&mut self.worked, worked);
        if let Some(slept) = slept {
            self.lapse = Lapse {
                slept,
                worked: lately,
            };
            let idle = (slept - lately).0.max(0.0);
            // The first batch finds a server that slept for nobody knows how long.
            if idle.is_finite() {
                self.idled += Micros(idle);
            }
        }
    }

    /// What went before the server's last wakeup.
    pub(super) fn lapse(&self) -> Lapse {
        self.lapse
    }

    /// What an operation costs beyond its price for what is cold of it, `at` the server's time, where its first use
    /// is so many usual ones.
    pub(super) fn cost(
        &mut self,
        sleep: &SleepPrices,
        session: &Session,
        request: &Request<'_>,
        operation: Option<&Operation>,
        at: (Micros, f64),
    ) -> Cost {
        if !sleep.is_known() {
            return Cost::default();
        }
        let code = self.code(sleep, request.name, operation, at);
        operation.map_or(code, |it| code + self.pixels(sleep, session, request, it))
    }

    /// For not having run for a while. One of other attributes is other code, and costs about as
    /// much as one of another name.
    fn code(
        &mut self,
        sleep: &SleepPrices,
        request: Symbol,
        operation: Option<&Operation>,
        (now, first_uses): (Micros, f64),
    ) -> Cost {
        let attributes = operation.map(|operation| &operation.attributes);
        let hash = self.ran.hasher().hash_one(attributes);
        if self.ran.len() >= MOST_OPERATIONS {
            self.ran.clear();
        }
        let before = self.ran.insert((request, hash), (now, self.worked));
        let lapse = before.map_or(Lapse::EVER, |(ran, worked)| Lapse {
            slept: now - ran,
            worked: self.worked - worked,
        });
        sleep.first(lapse, first_uses)
    }

    /// For pixels that were not touched since the server idled.
    fn pixels(
        &mut self,
        sleep: &SleepPrices,
        session: &Session,
        request: &Request<'_>,
        operation: &Operation,
    ) -> Cost {
        let Some(least) = sleep
            .warm_until()
            .filter(|_| operation.effect != Effect::Nothing)
        else {
            return Cost::default();
        };
        let touched = self
            .touched
            .touch(session, request, operation, self.idled, least);
        let [read, drawn] = touched.map(|it| sleep.pixel(it.idle).times(it.pixels));
        read + drawn
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, ServerParameters, TransportPrices};
    use x11prof_protocol::{ByteOrder, Request, SequenceNumber};
    use x11prof_session::Session;

    use super::Coldness;

    /// A first use of 4 µs.
    fn prices() -> TransportPrices {
        let text = "format = 1\nrequest = []\n[server]\nname = \"test\"\n[transport]\n\
            wakeup = { cpu_us = 6 }\nbyte_read = { cpu_us = 0 }\nreply = { cpu_us = 0 }\n\
            event = { cpu_us = 0 }\n\
            after_sleep = [{ asleep_us = 100, wakeup_us = 6, first_us = 4, connection_us = 20 }]\n";
        TransportPrices::new(&ServerParameters::from_toml(text).unwrap())
    }

    #[test]
    fn a_first_use_is_as_many_usual_ones_as_its_request_has() {
        let prices = prices();
        let request = Request {
            sequence: SequenceNumber(1),
            name: "WarpPointer".into(),
            major: 41,
            minor: 0,
            order: ByteOrder::Little,
            bytes: &[0; 24],
            wire_len: 24,
            header_len: 4,
            has_reply: false,
        };
        let mut coldness = Coldness::default();
        let mut cost = |at: f64| {
            let session = Session::new();
            let at = (Micros(at), 2.5);
            let cost = coldness.cost(prices.sleep(), &session, &request, None, at);
            cost.time.0
        };
        assert_eq!(cost(0.0), 10.0);
        // It has run 50 µs ago.
        assert_eq!(cost(50.0), 5.0);
        assert_eq!(cost(1050.0), 10.0);
    }
}
