//! The extra cost of work after the server has slept. During a sleep, other programs and the processor's idle state
//! evict the server's code and data from the caches.

use crate::{AfterSleep, Clock, Cost, Micros, ServerParameters};

/// Costs that depend on the length of the server's sleep. Costs between the measured points are interpolated linearly
/// in the logarithm of the length, and costs beyond the last point are constant. A server that has not run yet has
/// slept infinitely long.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SleepCosts {
    points: Vec<AfterSleep>,
}

impl SleepCosts {
    /// The costs in `parameters`; no costs if they were not measured, or if `clock` is not the CPU clock.
    pub(crate) fn new(parameters: &ServerParameters, clock: Option<Clock>) -> SleepCosts {
        let costs = parameters
            .transport
            .as_ref()
            .filter(|_| clock == Some(Clock::Cpu));
        costs.map_or_else(SleepCosts::default, |costs| SleepCosts {
            points: costs.after_sleep.clone(),
        })
    }

    /// The cost of a wakeup after a sleep of the duration `slept`; `None` if wakeups were not measured.
    pub(crate) fn wakeup(&self, slept: Micros) -> Option<Cost> {
        self.after(slept, |point| point.wakeup_us)
    }

    /// The longest measured sleep after which all pixels are still in the caches; `None` if no measured sleep increases
    /// the cost of pixels.
    pub fn warm_until(&self) -> Option<Micros> {
        let cold = |point: &&AfterSleep| point.megapixel_us.is_some_and(|time| time.0 > 0.0);
        let first = self.points.iter().position(|point| cold(&point))?;
        let before = self.points.get(first.saturating_sub(1))?;
        Some(before.asleep_us)
    }

    /// The extra cost of drawing a pixel that was not accessed for the duration `idle`, in which the server was idle.
    pub fn pixel(&self, idle: Micros) -> Cost {
        let million = self.after(idle, |point| point.megapixel_us.unwrap_or_default());
        million.unwrap_or_default().times(1e-6)
    }

    /// The cost of connecting and disconnecting a client after a sleep of the duration `slept`, in addition to the
    /// wakeup.
    pub fn connection(&self, slept: Micros) -> Cost {
        let cost = self.after(slept, |point| point.connection_us);
        cost.unwrap_or_default()
    }

    fn after(&self, slept: Micros, of: impl Fn(&AfterSleep) -> Micros) -> Option<Cost> {
        let cost = |point: &AfterSleep| Cost::with_spread(of(point), point.spread.unwrap_or(0.0));
        let beyond = self.points.iter().position(|point| point.asleep_us > slept);
        let (before, after) = match beyond {
            Some(0) => return self.points.first().map(cost),
            Some(index) => (self.points.get(index - 1)?, self.points.get(index)?),
            None => return self.points.last().map(cost),
        };
        let start = before.asleep_us.0;
        let way = (slept.0 / start).ln() / (after.asleep_us.0 / start).ln();
        Some(cost(before).times(1.0 - way) + cost(after).times(way))
    }
}

#[cfg(test)]
mod tests {
    use super::SleepCosts;
    use crate::{Clock, Cost, Micros, ServerParameters};

    fn costs(clock: Clock) -> SleepCosts {
        let text = "format = 1\nrequest = []\n[server]\nname = \"test\"\n[transport]\n\
            wakeup = { cpu_us = 6 }\nbyte_read = { cpu_us = 0 }\nreply = { cpu_us = 0 }\n\
            event = { cpu_us = 0 }\nafter_sleep = [\n\
            { asleep_us = 100, wakeup_us = 6, connection_us = 20 },\n\
            { asleep_us = 10000, wakeup_us = 26, connection_us = 60, spread = 0.5 },\n]\n";
        SleepCosts::new(&ServerParameters::from_toml(text).unwrap(), Some(clock))
    }

    #[test]
    fn wakeup_cost_grows_with_the_log_of_sleep_time() {
        let costs = costs(Clock::Cpu);
        let wakeup = |asleep| costs.wakeup(Micros(asleep)).unwrap();
        assert_eq!(wakeup(0.0).time, Micros(6.0));
        assert_eq!(wakeup(100.0).time, Micros(6.0));
        assert!((wakeup(1000.0).time.0 - 16.0).abs() < 1e-9);
        assert_eq!(wakeup(f64::INFINITY).time, Micros(26.0));
        assert_eq!(wakeup(1e6).low, Micros(13.0));
        assert_eq!(costs.connection(Micros(10000.0)).time, Micros(60.0));
    }

    #[test]
    fn pixel_cost_grows_with_server_idle_time() {
        let mut costs = costs(Clock::Cpu);
        assert_eq!(
            (costs.warm_until(), costs.pixel(Micros(1e6))),
            (None, Cost::default())
        );
        for (point, time) in costs.points.iter_mut().zip([0.0, 250.0]) {
            point.megapixel_us = Some(Micros(time));
        }
        assert_eq!(costs.warm_until(), Some(Micros(100.0)));
        assert_eq!(costs.pixel(Micros(50.0)).time, Micros(0.0));
        assert_eq!(
            costs.pixel(Micros(f64::INFINITY)).times(1e6).time,
            Micros(250.0)
        );
        assert!((costs.pixel(Micros(1000.0)).time.0 - 125e-6).abs() < 1e-12);
    }

    #[test]
    fn wall_clock_has_no_after_sleep_costs() {
        let costs = costs(Clock::Wall);
        assert_eq!(costs.wakeup(Micros(1e6)), None);
        assert_eq!(costs.connection(Micros(1e6)), Cost::default());
    }
}
