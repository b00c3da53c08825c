//! The server's clock: whether a batch of requests finds the server asleep depends on how long
//! that server, not the recorded one, took over the batches before (DESIGN, section 4).

use crate::Micros;

/// Plays batches of requests on a server. Times are relative to any one origin; near the start
/// of the trace they keep their digits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServerClock {
    /// When the server will have done all that has arrived; `None` before the first batch.
    busy_until: Option<Micros>,
}

impl ServerClock {
    /// A server that sleeps.
    pub fn new() -> ServerClock {
        ServerClock::default()
    }

    /// A batch arrives: true where it wakes the server, false where the server is still busy and
    /// will read it without sleeping in between.
    pub fn arrive(&mut self, at: Micros) -> bool {
        let asleep = self.busy_until.is_none_or(|busy_until| at >= busy_until);
        if asleep {
            self.busy_until = Some(at);
        }
        asleep
    }

    /// The server works for `time` on what has arrived.
    pub fn serve(&mut self, time: Micros) {
        if let Some(busy_until) = &mut self.busy_until {
            *busy_until += time;
        }
    }

    /// When the server will have done all that has arrived; `None` before the first batch.
    pub fn busy_until(&self) -> Option<Micros> {
        self.busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::ServerClock;
    use crate::Micros;

    #[test]
    fn a_batch_wakes_a_server_that_is_done() {
        let mut clock = ServerClock::new();
        assert!(clock.arrive(Micros(100.0)));
        clock.serve(Micros(30.0));
        assert!(!clock.arrive(Micros(110.0)));
        clock.serve(Micros(30.0));
        assert_eq!(clock.busy_until(), Some(Micros(160.0)));
        assert!(!clock.arrive(Micros(159.0)));
        assert!(clock.arrive(Micros(160.0)));
        assert_eq!(clock.busy_until(), Some(Micros(160.0)));
    }

    #[test]
    fn the_same_batches_wake_a_faster_server_more_often() {
        let wakeups = |cost: f64| {
            let mut clock = ServerClock::new();
            let batch = |at: u32| {
                let woke = clock.arrive(Micros(f64::from(at) * 10.0));
                clock.serve(Micros(cost));
                usize::from(woke)
            };
            (0..10).map(batch).sum::<usize>()
        };
        assert_eq!((wakeups(5.0), wakeups(15.0)), (10, 1));
    }
}
