//! An X server's scheduler: for how long the server serves a client before it looks for other clients and other
//! work (dix/dispatch.c, SmartScheduleClient). A time slice ends at a tick of the wall's clock. The ticks start with
//! the first client that has requests and stop when none has.

use x11prof_cost_model::Micros;
use x11prof_session::ClientId;

/// A client that has been served alone for this long gets longer scheduler.
const ALONE: Micros = Micros(1e6);
/// Ticks of the longest slice.
const MAX_TICKS: u32 = 3;

/// The scheduler of one server. Its clock goes on while the server works or waits for its host.
#[derive(Debug)]
pub(crate) struct SmartScheduler {
    /// The time between two ticks; `None` where it is not known.
    tick: Option<Micros>,
    /// How many ticks a slice has.
    ticks: u32,
    /// When the slice began: at a tick, or when the server was idle no longer.
    since: Micros,
    /// Who is served, and for how long without others until the slice began.
    served: Option<ClientId>,
    alone: Micros,
}

impl SmartScheduler {
    pub(crate) fn new(tick: Option<Micros>) -> SmartScheduler {
        SmartScheduler {
            tick: tick.filter(|tick| tick.0 > 0.0),
            ticks: 1,
            since: Micros::ZERO,
            served: None,
            alone: Micros::ZERO,
        }
    }

    /// A client has requests; `busy`, while the server serves another.
    pub(crate) fn client_comes(&mut self, client: ClientId, busy: bool) {
        if self.served.replace(client) != Some(client) {
            self.alone = Micros::ZERO;
            if busy {
                self.ticks = 1;
            }
        }
    }

    /// The server was busy until `busy`, and idle from then until `now`.
    pub(crate) fn idle(&mut self, busy: Micros, now: Micros) {
        self.alone += Micros((busy - self.since).0.max(0.0));
        self.since = now;
        self.grow();
    }

    /// Whether the slice is over by `now`.
    pub(crate) fn is_over(&self, now: Micros) -> bool {
        let slice = self.tick.map(|tick| tick * f64::from(self.ticks));
        slice.is_some_and(|slice| now.0 - self.since.0 >= slice.0)
    }

    /// The next slice begins, at the last tick before `now`.
    pub(crate) fn next(&mut self, now: Micros) {
        let Some(tick) = self.tick else {
            return;
        };
        let gone = tick * ((now - self.since).0 / tick.0).floor().max(0.0);
        self.since += gone;
        self.alone += gone;
        self.grow();
    }

    fn grow(&mut self) {
        if self.alone > ALONE && self.ticks < MAX_TICKS {
            self.ticks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_session::ClientId;

    use super::SmartScheduler;

    #[test]
    fn slices_end_at_ticks() {
        let mut scheduler = SmartScheduler::new(Some(Micros(5000.0)));
        scheduler.idle(Micros::ZERO, Micros(1000.0));
        assert!(!scheduler.is_over(Micros(5999.0)));
        assert!(scheduler.is_over(Micros(6200.0)));
        // What is done between them goes on beyond the next tick.
        scheduler.next(Micros(11_500.0));
        assert!(!scheduler.is_over(Micros(15_999.0)));
        assert!(scheduler.is_over(Micros(16_000.0)));
        assert!(!SmartScheduler::new(None).is_over(Micros(1e9)));
    }

    #[test]
    fn a_client_that_is_alone_for_long_gets_longer_slices() {
        let (one, other) = (ClientId(1), ClientId(2));
        let mut scheduler = SmartScheduler::new(Some(Micros(5000.0)));
        scheduler.client_comes(one, false);
        let mut now = Micros::ZERO;
        let mut length = |scheduler: &mut SmartScheduler| {
            let begin = now;
            while !scheduler.is_over(now) {
                now += Micros(1000.0);
            }
            scheduler.next(now);
            now - begin
        };
        for _ in 0..200 {
            assert_eq!(length(&mut scheduler), Micros(5000.0));
        }
        length(&mut scheduler);
        assert_eq!(length(&mut scheduler), Micros(10_000.0));
        assert_eq!(length(&mut scheduler), Micros(15_000.0));
        // Another client that comes while nobody is served changes nothing.
        scheduler.client_comes(other, false);
        assert_eq!(length(&mut scheduler), Micros(15_000.0));
        scheduler.client_comes(one, true);
        assert_eq!(length(&mut scheduler), Micros(5000.0));
    }
}
