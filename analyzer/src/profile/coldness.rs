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
    /// The pixels that are put from memory shared with the client by the batch that woke the server on
    /// that client's processor, and the request that puts them; `None` behind any other batch.
    written: Option<(f64, Option<Symbol>)>,
}

/// What puts pixels that its client has written where the server reads them.
const PUT: &str = "MIT-SHM:PutImage";

impl Coldness {
    /// A batch of requests arrives, when others have run for `worked` in all; `slept` is for how
    /// long the server has slept, `None` where it is awake.
    pub(super) fn arrive(&mut self, worked: Micros, slept: Option<Micros>) {
        let lately = worked - std::mem::replace(&mut self.worked, worked);
        let ran = slept.is_some() && lately.0 > 0.0;
        self.written = ran.then_some((0.0, None));
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

    /// The batch is over: what its images cost beyond their prices because their client has just
    /// written them, and what puts them. A recording does not show that it has, but programs seldom
    /// put again what is there.
    pub(super) fn written(&mut self, sleep: &SleepPrices) -> Option<(Cost, Symbol)> {
        let (pixels, request) = self.written.take()?;
        Some((sleep.written(pixels, self.lapse), request?))
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
        if let (Some(written), Some(operation)) = (&mut self.written, operation)
            && request.name.as_str() == PUT
        {
            let pixels = written.0 + operation.items.iter().sum::<f64>();
            *written = (pixels, Some(request.name));
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
        let [read, drawn] = touched.map(|it| sleep.pixel(it.idle, it.close).times(it.pixels));
        read + drawn
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::{Micros, ServerParameters, TransportPrices};
    use x11prof_protocol::{ByteOrder, Request, SequenceNumber};
    use x11prof_session::{Operation, Session};

    use super::{Coldness, PUT};

    /// A first use of 4 µs, 10 for each million pixels that were just written.
    fn prices() -> TransportPrices {
        let text = "format = 1\nrequest = []\n[server]\nname = \"test\"\n[transport]\n\
            wakeup = { cpu_us = 6 }\nbyte_read = { cpu_us = 0 }\nreply = { cpu_us = 0 }\n\
            event = { cpu_us = 0 }\n\
            after_sleep = [{ asleep_us = 100, wakeup_us = 6, first_us = 4, connection_us = 20 }]\n\
            after_writing = [{ pixels = 1000000, more_us = 10 }]\n";
        TransportPrices::new(&ServerParameters::from_toml(text).unwrap())
    }

    /// Two images of half a million pixels in one batch, and what they cost as just written.
    fn put(coldness: &mut Coldness) -> Option<f64> {
        let prices = prices();
        let request = Request {
            sequence: SequenceNumber(1),
            name: PUT.into(),
            major: 130,
            minor: 3,
            order: ByteOrder::Little,
            bytes: &[0; 40],
            wire_len: 40,
            header_len: 4,
            has_reply: false,
        };
        let mut operation = Operation::new(PUT.into());
        operation.items = vec![500_000.0];
        for _ in 0..2 {
            let session = Session::new();
            coldness.cost(
                prices.sleep(),
                &session,
                &request,
                Some(&operation),
                (Micros(0.0), 1.0),
            );
        }
        let (cost, _) = coldness.written(prices.sleep())?;
        Some(cost.time.0)
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

    #[test]
    fn images_were_just_written_where_their_client_ran_and_the_server_slept() {
        let mut coldness = Coldness::default();
        coldness.arrive(Micros(50.0), Some(Micros(50.0)));
        assert_eq!(put(&mut coldness), Some(10.0));
        // The batch is over.
        assert_eq!(put(&mut coldness), None);
        coldness.arrive(Micros(100.0), None);
        assert_eq!(put(&mut coldness), None);
        // On another processor.
        coldness.arrive(Micros(100.0), Some(Micros(50.0)));
        assert_eq!(put(&mut coldness), None);
        coldness.arrive(Micros(150.0), Some(Micros(50.0)));
        assert!(coldness.written(prices().sleep()).is_none());
    }
}
