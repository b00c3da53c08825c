//! The costs of messages in the server, in addition to their operations (docs/CONCEPTS.md).

use crate::{Clock, Cost, Micros, ServerParameters, SleepCosts, TransportCosts};

/// The transport costs of a server. Some parameter files, such as those of the Xprof paper's servers, have no transport
/// costs: all costs are zero and `is_known` is false.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransportEstimates {
    clock: Option<Clock>,
    wakeup: Cost,
    byte_read: Cost,
    reply: Cost,
    byte_written: Cost,
    event: Cost,
    sleep: SleepCosts,
}

impl TransportEstimates {
    /// Creates the costs from CPU times if the file has them, otherwise from wall-clock times.
    pub fn new(parameters: &ServerParameters) -> TransportEstimates {
        TransportEstimates::with_clock(parameters, Clock::Cpu)
    }

    /// Creates the costs from times by `clock` if the file has them, otherwise by the other clock.
    pub fn with_clock(parameters: &ServerParameters, clock: Clock) -> TransportEstimates {
        let costs = parameters.transport.as_ref();
        let of = |costs: &TransportCosts| {
            let clock = costs.clock(clock)?;
            let TransportCosts {
                wakeup,
                byte_read,
                reply,
                byte_written,
                event,
                after_sleep: _,
            } = costs;
            Some(TransportEstimates {
                clock: Some(clock),
                wakeup: wakeup.cost(clock)?,
                byte_read: byte_read.cost(clock)?,
                reply: reply.cost(clock)?,
                byte_written: byte_written
                    .as_ref()
                    .and_then(|measured| measured.cost(clock))
                    .unwrap_or_default(),
                event: event.cost(clock)?,
                sleep: SleepCosts::new(parameters, Some(clock)),
            })
        };
        costs.and_then(of).unwrap_or_default()
    }

    /// True if the file has transport costs.
    pub fn is_known(&self) -> bool {
        self.clock.is_some()
    }

    /// The cost of a wakeup after a sleep of the duration `slept`.
    pub fn wakeup(&self, slept: Micros) -> Cost {
        self.sleep.wakeup(slept).unwrap_or(self.wakeup)
    }

    /// The costs after a sleep of the server, in addition to the wakeup.
    pub fn sleep(&self) -> &SleepCosts {
        &self.sleep
    }

    /// The cost of reading one byte of requests.
    pub fn byte_read(&self) -> Cost {
        self.byte_read
    }

    /// The cost of making one reply of `bytes` bytes, including its header.
    pub fn reply(&self, bytes: u64) -> Cost {
        self.reply + self.byte_written.times(bytes as f64)
    }

    /// The cost of making one event.
    pub fn event(&self) -> Cost {
        self.event
    }
}

#[cfg(test)]
mod tests {
    use super::TransportEstimates;
    use crate::{Clock, Cost, Micros, ServerParameters};

    fn parameters(transport: &str) -> ServerParameters {
        let text = format!("format = 1\nrequest = []\n[server]\nname = \"test\"\n{transport}");
        ServerParameters::from_toml(&text).unwrap()
    }

    #[test]
    fn transport_costs_share_one_clock() {
        let parameters = parameters(
            "[transport]\nwakeup = { cpu_us = 6, wall_us = 13 }\nbyte_read = { cpu_us = 0.5, wall_us = 1 }\n\
             reply = { cpu_us = 2, wall_us = 3 }\nbyte_written = { cpu_us = 0.25 }\n\
             event = { cpu_us = 4 }\n",
        );
        let costs = TransportEstimates::new(&parameters);
        assert!(costs.is_known());
        assert_eq!(costs.wakeup(Micros::ZERO), Cost::exact(Micros(6.0)));
        assert_eq!(costs.byte_read().times(10.0).time, Micros(5.0));
        assert_eq!(costs.reply(32), Cost::exact(Micros(10.0)));
        assert_eq!(costs.event(), Cost::exact(Micros(4.0)));
        let wall = TransportEstimates::with_clock(&parameters, Clock::Wall);
        assert_eq!(wall, costs); // the event has no wall time, so the wall is not whole
    }

    #[test]
    fn file_without_transport_has_no_transport_costs() {
        let costs = TransportEstimates::new(&parameters(""));
        assert!(!costs.is_known());
        assert_eq!(
            (costs.wakeup(Micros::ZERO), costs.reply(1000)),
            (Cost::default(), Cost::default())
        );
    }
}
