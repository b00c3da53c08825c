//! The modelled server's clock. A batch of requests finds the server asleep if the modelled server has completed the
//! earlier batches. The modelled duration of the earlier work counts, not the recorded duration (docs/CONCEPTS.md).

use x11prof_cost_model::Micros;

/// A wall-clock time in nanoseconds since a fixed origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// Creates a time from nanoseconds since the origin.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// Returns the time as nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The microseconds from `start` to this time; zero if this time is earlier.
    pub(crate) fn since(self, start: Time) -> Micros {
        Micros::from_nanos(self.0.saturating_sub(start.0) as f64)
    }
}

/// Simulates the periods in which a server is busy and in which it sleeps. The clock's own times are microseconds since
/// the first time that it receives, which preserves their precision.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ServerClock {
    start: Option<Time>,
    /// The time at which the server will have completed the work that has arrived; `None` before the first batch.
    busy_until: Option<Micros>,
    /// The recorded time of the last write.
    wrote: Option<Micros>,
}

impl ServerClock {
    /// Converts a wall-clock time to microseconds since the first time that the clock received.
    pub(crate) fn at(&mut self, time: Time) -> Micros {
        time.since(*self.start.get_or_insert(time))
    }

    /// Converts a time of the model to a wall-clock time.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn time_of(&self, at: Micros) -> Time {
        let start = self.start.map_or(0, Time::as_nanos);
        Time(start.saturating_add((at.0.max(0.0) * 1e3) as u64))
    }

    /// Processes the arrival of a batch at `at`, in the clock's microseconds. Returns the length of the sleep that the
    /// batch ends, which is infinite for the first batch. `None` if the server is still busy, and therefore reads the
    /// batch before it sleeps.
    pub(crate) fn arrive(&mut self, at: Micros) -> Option<Micros> {
        let asleep = match self.busy_until {
            Some(busy_until) if at < busy_until => return None,
            Some(busy_until) => {
                // If the modelled server is faster than the recorded server, the sleep begins at the recorded server's
                // last write, because the response time of a client does not depend on the server.
                let wrote = self.wrote.filter(|wrote| *wrote <= at);
                at - Micros(busy_until.0.max(wrote.unwrap_or(busy_until).0))
            }
            None => Micros(f64::INFINITY),
        };
        self.busy_until = Some(at);
        Some(asleep)
    }

    /// Stores the time `at`, in the clock's microseconds, at which the recorded server wrote a message and was
    /// therefore awake.
    pub(crate) fn wrote(&mut self, at: Micros) {
        self.wrote = Some(at);
    }

    /// Adds `time` microseconds of work for the requests that have arrived.
    pub(crate) fn serve(&mut self, time: Micros) {
        if let Some(busy_until) = &mut self.busy_until {
            *busy_until += time;
        }
    }

    /// The time at which the server will have completed the work that has arrived; `None` before the first batch.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn busy_until(&self) -> Option<Micros> {
        self.busy_until
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::ServerClock;

    #[test]
    fn batch_wakes_only_an_idle_server() {
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
    fn server_sleeps_after_writing() {
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
    fn equal_batches_wake_a_faster_server_more_often() {
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
