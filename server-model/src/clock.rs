//! The server's clock: whether a batch of requests finds the server asleep depends on how long
//! that server, not the recorded one, took over the batches before (docs/CONCEPTS.md).

use x11prof_cost_model::Micros;

/// A time of the wall's clock: nanoseconds since an origin that all times have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// A time in nanoseconds since the origin.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `start`; zero if this time is earlier.
    pub(crate) fn since(self, start: Time) -> Micros {
        Micros::from_nanos(self.0.saturating_sub(start.0) as f64)
    }
}

/// Plays batches of requests on a server. The model's own times are relative to the first time it gets, so they keep
/// their digits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ServerClock {
    start: Option<Time>,
    /// The time at which the server will have done all that has arrived; `None` before the first batch.
    busy_until: Option<Micros>,
    /// The recorded time of the last write.
    wrote: Option<Micros>,
}

impl ServerClock {
    /// A time in the model's count.
    pub(crate) fn at(&mut self, time: Time) -> Micros {
        time.since(*self.start.get_or_insert(time))
    }

    /// The wall's time for a time of the model.
    pub(crate) fn time_of(&self, at: Micros) -> Time {
        let start = self.start.map_or(0, Time::as_nanos);
        Time(start.saturating_add((at.0.max(0.0) * 1e3) as u64))
    }

    /// A batch arrives. Returns the server's sleep if the batch wakes the server, infinite for the first batch; `None`
    /// if the server is still busy and reads the batch before it sleeps.
    pub(crate) fn arrive(&mut self, at: Micros) -> Option<Micros> {
        let asleep = match self.busy_until {
            Some(busy_until) if at < busy_until => return None,
            Some(busy_until) => {
                // A client's time to answer does not depend on the server. The recorder's own time is not part of the
                // sleep.
                let wrote = self.wrote.filter(|wrote| *wrote <= at);
                at - Micros(busy_until.0.max(wrote.unwrap_or(busy_until).0))
            }
            None => Micros(f64::INFINITY),
        };
        self.busy_until = Some(at);
        Some(asleep)
    }

    /// The recorded server wrote something at this time: it was not asleep yet.
    pub(crate) fn wrote(&mut self, at: Micros) {
        self.wrote = Some(at);
    }

    /// The server works for `time` on the requests that have arrived.
    pub(crate) fn serve(&mut self, time: Micros) {
        if let Some(busy_until) = &mut self.busy_until {
            *busy_until += time;
        }
    }

    /// The time at which the server will have done all that has arrived; `None` before the first batch.
    pub(crate) fn busy_until(&self) -> Option<Micros> {
        self.busy_until
    }

    /// The server works for `time` without a request, at `at` or after its earlier work.
    pub(crate) fn serve_at(&mut self, at: Micros, time: Micros) {
        let busy = self.busy_until.map_or(at.0, |busy| busy.0.max(at.0));
        self.busy_until = Some(Micros(busy) + time);
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::ServerClock;

    #[test]
    fn a_batch_wakes_a_server_that_is_done() {
        let mut clock = ServerClock::default();
        assert_eq!(clock.arrive(Micros(100.0)), Some(Micros(f64::INFINITY)));
        clock.serve(Micros(30.0));
        assert_eq!(clock.arrive(Micros(110.0)), None);
        clock.serve(Micros(30.0));
        assert_eq!(clock.busy_until(), Some(Micros(160.0)));
        assert_eq!(clock.arrive(Micros(159.0)), None);
        assert_eq!(clock.arrive(Micros(160.0)), Some(Micros(0.0)));
        assert_eq!(clock.arrive(Micros(200.0)), Some(Micros(40.0)));
        assert_eq!(clock.busy_until(), Some(Micros(200.0)));
    }

    #[test]
    fn a_server_falls_asleep_after_it_wrote() {
        let mut clock = ServerClock::default();
        clock.arrive(Micros(100.0));
        clock.serve(Micros(5.0));
        clock.wrote(Micros(140.0));
        assert_eq!(clock.arrive(Micros(150.0)), Some(Micros(10.0)));
        clock.serve(Micros(30.0));
        clock.wrote(Micros(170.0));
        assert_eq!(clock.arrive(Micros(175.0)), None);
        assert_eq!(clock.arrive(Micros(190.0)), Some(Micros(10.0)));
    }

    #[test]
    fn the_same_batches_wake_a_faster_server_more_often() {
        let wakeups = |cost: f64| {
            let mut clock = ServerClock::default();
            let batch = |at: u32| {
                let woke = clock.arrive(Micros(f64::from(at) * 10.0));
                clock.serve(Micros(cost));
                usize::from(woke.is_some())
            };
            (0..10).map(batch).sum::<usize>()
        };
        assert_eq!((wakeups(5.0), wakeups(15.0)), (10, 1));
    }
}
