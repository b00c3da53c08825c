//! For how long an X server serves a client before it looks for others, and for what else there is to
//! do: slices of its scheduler (dix/dispatch.c, SmartScheduleClient). They end at ticks of a clock on the
//! wall that begins with the first client that has requests, and goes on until none has.

use x11prof_cost_model::Micros;
use x11prof_session::ClientId;

/// The server serves a client that it has served alone for so long by longer slices, of so many ticks.
const LONG: Micros = Micros(1e6);
const MOST: u32 = 3;

/// The slices of one server, on a clock that goes on while it works or waits for its host.
#[derive(Debug)]
pub(crate) struct TimeSlices {
    /// How far ticks are apart; none where that is not known.
    tick: Option<Micros>,
    /// How many of them a slice has.
    ticks: u32,
    /// When the slice began: a tick, or the end of a rest.
    since: Micros,
    /// Who was served last, and for how long without others until the slice began.
    served: Option<ClientId>,
    alone: Micros,
}

impl TimeSlices {
    pub(crate) fn new(tick: Option<Micros>) -> TimeSlices {
        TimeSlices {
            tick: tick.filter(|tick| tick.0 > 0.0),
            ticks: 1,
            since: Micros::ZERO,
            served: None,
            alone: Micros::ZERO,
        }
    }

    /// A client has requests; `also`, while the server is at work for one.
    pub(crate) fn comes(&mut self, client: ClientId, also: bool) {
        if self.served.replace(client) != Some(client) {
            self.alone = Micros::ZERO;
            if also {
                self.ticks = 1;
            }
        }
    }

    /// The server did nothing until `now`, having been at work until `busy`.
    pub(crate) fn rests(&mut self, busy: Micros, now: Micros) {
        self.alone += Micros((busy - self.since).0.max(0.0));
        self.since = now;
        self.grow();
    }

    /// Whether the slice is over by `now`.
    pub(crate) fn over(&self, now: Micros) -> bool {
        let slice = self.tick.map(|tick| tick * f64::from(self.ticks));
        slice.is_some_and(|slice| now.0 - self.since.0 >= slice.0)
    }

    /// The next one begins, at the last tick before `now`.
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
        if self.alone > LONG && self.ticks < MOST {
            self.ticks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;
    use x11prof_session::ClientId;

    use super::TimeSlices;

    #[test]
    fn slices_end_at_ticks() {
        let mut slices = TimeSlices::new(Some(Micros(5000.0)));
        slices.rests(Micros::ZERO, Micros(1000.0));
        assert!(!slices.over(Micros(5999.0)));
        assert!(slices.over(Micros(6200.0)));
        // What is done between them goes on beyond the next tick.
        slices.next(Micros(11_500.0));
        assert!(!slices.over(Micros(15_999.0)));
        assert!(slices.over(Micros(16_000.0)));
        assert!(!TimeSlices::new(None).over(Micros(1e9)));
    }

    #[test]
    fn who_is_alone_for_long_has_longer_ones() {
        let (one, other) = (ClientId(1), ClientId(2));
        let mut slices = TimeSlices::new(Some(Micros(5000.0)));
        slices.comes(one, false);
        let mut now = Micros::ZERO;
        let mut length = |slices: &mut TimeSlices| {
            let begin = now;
            while !slices.over(now) {
                now += Micros(1000.0);
            }
            slices.next(now);
            now - begin
        };
        for _ in 0..200 {
            assert_eq!(length(&mut slices), Micros(5000.0));
        }
        length(&mut slices);
        assert_eq!(length(&mut slices), Micros(10_000.0));
        assert_eq!(length(&mut slices), Micros(15_000.0));
        // Another one that comes while nobody is served changes nothing.
        slices.comes(other, false);
        assert_eq!(length(&mut slices), Micros(15_000.0));
        slices.comes(one, true);
        assert_eq!(length(&mut slices), Micros(5000.0));
    }
}
