//! Cache: code and pixels that have left the caches of the server's processor. Code leaves if it has not run lately,
//! pixels if they have not been read or written lately.

mod pixels;

use std::hash::BuildHasher;

use rustc_hash::FxHashMap;
use x11prof_cost_model::{Cost, Micros, PriorSleep, SleepPrices};
use x11prof_protocol::{Request, Symbol};
use x11prof_session::{Effect, Operation, Session};

use pixels::UsedPixels;

/// The most operations that are remembered. Beyond the limit all count as not having run.
const OPERATIONS_LIMIT: usize = 1 << 14;

/// The server's age, by all that empties its caches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Elapsed {
    /// The server's clock.
    pub(crate) now: Micros,
    /// The time for which others have run on the server's processor.
    pub(crate) worked: Micros,
    /// The time for which the server has slept while nobody else ran on its processor.
    pub(crate) idled: Micros,
}

/// The code that has run, the pixels that were used, and the times.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    /// The time of each operation's last run, and the time for which others had worked by then: by the request's name
    /// and a hash of the attributes.
    last_run: FxHashMap<(Symbol, u64), (Micros, Micros)>,
    pixels: UsedPixels,
}

impl Caches {
    /// A request's cost beyond its price because its code and pixels are cold.
    pub(crate) fn cost(
        &mut self,
        prices: &SleepPrices,
        session: &Session,
        request: &Request<'_>,
        operation: Option<&Operation>,
        elapsed: Elapsed,
    ) -> Cost {
        if !prices.is_known() {
            return Cost::default();
        }
        let code = self.code(prices, request.name, operation, elapsed);
        operation.map_or(code, |operation| {
            code + self.pixels(prices, session, request, operation, elapsed)
        })
    }

    /// The cost of code that has not run for a while. The same request with other attributes is other code, and costs
    /// about as much as another request.
    fn code(
        &mut self,
        prices: &SleepPrices,
        request: Symbol,
        operation: Option<&Operation>,
        elapsed: Elapsed,
    ) -> Cost {
        let Elapsed { now, worked, .. } = elapsed;
        let attributes = operation.map(|operation| &operation.attributes);
        let hash = self.last_run.hasher().hash_one(attributes);
        if self.last_run.len() >= OPERATIONS_LIMIT {
            self.last_run.clear();
        }
        let before = self.last_run.insert((request, hash), (now, worked));
        let prior_sleep = before.map_or(PriorSleep::EVER, |(then, worked_then)| PriorSleep {
            slept: now - then,
            worked: worked - worked_then,
        });
        prices.first(prior_sleep)
    }

    /// The cost of pixels that were not used since the server was idle.
    fn pixels(
        &mut self,
        prices: &SleepPrices,
        session: &Session,
        request: &Request<'_>,
        operation: &Operation,
        elapsed: Elapsed,
    ) -> Cost {
        let draws = operation.effect != Effect::Nothing;
        let Some(least) = prices.warm_until().filter(|_| draws) else {
            return Cost::default();
        };
        let Some(access) = session.pixel_access(request, operation) else {
            return Cost::default();
        };
        let cold = self.pixels.access(access, elapsed.idled, least);
        let [read, drawn] = cold.map(|cold| prices.pixel(cold.idle).times(cold.pixels));
        read + drawn
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, ServerParameters, TransportPrices};
    use x11prof_protocol::{ByteOrder, Request, SequenceNumber};
    use x11prof_session::Session;

    use super::{Caches, Elapsed};

    /// A first use of 4 µs.
    fn prices() -> TransportPrices {
        let text = "format = 1\nrequest = []\n[server]\nname = \"test\"\n[transport]\n\
            wakeup = { cpu_us = 6 }\nbyte_read = { cpu_us = 0 }\nreply = { cpu_us = 0 }\n\
            event = { cpu_us = 0 }\n\
            after_sleep = [{ asleep_us = 100, wakeup_us = 6, first_us = 4, connection_us = 20 }]\n";
        TransportPrices::new(&ServerParameters::from_toml(text).unwrap())
    }

    #[test]
    fn code_that_has_not_run_lately_costs_more() {
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
        let mut caches = Caches::default();
        let mut cost = |at: f64| {
            let elapsed = Elapsed {
                now: Micros(at),
                ..Elapsed::default()
            };
            let session = Session::new();
            let cost = caches.cost(prices.sleep(), &session, &request, None, elapsed);
            cost.time.0
        };
        assert_eq!(cost(0.0), 4.0);
        // The code ran 50 µs ago.
        assert_eq!(cost(50.0), 2.0);
        assert_eq!(cost(1050.0), 4.0);
    }
}
