//! What a sleep costs the server afterwards: while it waits, other programs and the processor's
//! own idling take its code and data out of the caches.

use crate::{AfterSleep, Clock, Cost, Micros, ServerParameters};

/// Costs by how long the server slept, read off measured points: linear in the logarithm of the
/// time between them, the last one's beyond.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SleepPrices {
    points: Vec<AfterSleep>,
}

impl SleepPrices {
    /// Those of `parameters`; none where they were not measured, or prices are not on the
    /// processor's clock.
    pub(crate) fn new(parameters: &ServerParameters, clock: Option<Clock>) -> SleepPrices {
        let costs = parameters
            .transport
            .as_ref()
            .filter(|_| clock == Some(Clock::Cpu));
        SleepPrices {
            points: costs.map_or_else(Vec::new, |costs| costs.after_sleep.clone()),
        }
    }

    /// False where nothing was measured: then a sleep costs nothing afterwards.
    pub fn is_known(&self) -> bool {
        !self.points.is_empty()
    }

    /// One wakeup after that long a sleep; `None` where that was not measured.
    pub(crate) fn wakeup(&self, asleep: Micros) -> Option<Cost> {
        self.at(asleep, |point| point.wakeup_us)
    }

    /// What a request costs beyond its price when none of its name has run for `gap`.
    pub fn first(&self, gap: Micros) -> Cost {
        let Some(shortest) = self.points.first() else {
            return Cost::default();
        };
        // Code that has just run is warm, and gets cold from there on.
        let warm = (gap.0 / shortest.asleep_us.0).clamp(0.0, 1.0);
        let cost = self.at(gap, |point| point.first_us).unwrap_or_default();
        cost.times(warm)
    }

    /// A client's coming and going after that long a sleep, beyond its wakeup.
    pub fn connection(&self, asleep: Micros) -> Cost {
        self.at(asleep, |point| point.connection_us)
            .unwrap_or_default()
    }

    fn at(&self, time: Micros, of: impl Fn(&AfterSleep) -> Micros) -> Option<Cost> {
        let cost = |point: &AfterSleep| Cost::with_spread(of(point), point.spread.unwrap_or(0.0));
        let beyond = self.points.iter().position(|it| it.asleep_us > time);
        let (before, after) = match beyond {
            Some(0) => return self.points.first().map(cost),
            Some(index) => (self.points.get(index - 1)?, self.points.get(index)?),
            None => return self.points.last().map(cost),
        };
        let way =
            (time.0 / before.asleep_us.0).ln() / (after.asleep_us.0 / before.asleep_us.0).ln();
        Some(cost(before).times(1.0 - way) + cost(after).times(way))
    }
}

#[cfg(test)]
mod tests {
    use super::SleepPrices;
    use crate::{Clock, Micros, ServerParameters};

    fn prices(clock: Clock) -> SleepPrices {
        let text = "format = 1\nrequest = []\n[server]\nname = \"test\"\n[transport]\n\
            wakeup = { cpu_us = 6 }\nbyte_read = { cpu_us = 0 }\nreply = { cpu_us = 0 }\n\
            event = { cpu_us = 0 }\nafter_sleep = [\n\
            { asleep_us = 100, wakeup_us = 6, first_us = 1, connection_us = 20 },\n\
            { asleep_us = 10000, wakeup_us = 26, first_us = 5, connection_us = 60, spread = 0.5 },\n]\n";
        SleepPrices::new(&ServerParameters::from_toml(text).unwrap(), Some(clock))
    }

    #[test]
    fn costs_grow_with_the_logarithm_of_the_sleep() {
        let prices = prices(Clock::Cpu);
        let wakeup = |asleep| prices.wakeup(Micros(asleep)).unwrap();
        assert_eq!(wakeup(0.0).time, Micros(6.0));
        assert_eq!(wakeup(100.0).time, Micros(6.0));
        assert!((wakeup(1000.0).time.0 - 16.0).abs() < 1e-9);
        assert_eq!(wakeup(f64::INFINITY).time, Micros(26.0));
        assert_eq!(wakeup(1e6).low, Micros(13.0));
        assert_eq!(prices.connection(Micros(10000.0)).time, Micros(60.0));
    }

    #[test]
    fn what_ran_just_now_is_warm() {
        let prices = prices(Clock::Cpu);
        assert_eq!(prices.first(Micros(0.0)).time, Micros(0.0));
        assert_eq!(prices.first(Micros(50.0)).time, Micros(0.5));
        assert_eq!(prices.first(Micros(f64::INFINITY)).time, Micros(5.0));
    }

    #[test]
    fn the_wall_has_no_caches() {
        let prices = prices(Clock::Wall);
        assert!(!prices.is_known());
        assert_eq!(prices.wakeup(Micros(1e6)), None);
        assert_eq!(prices.first(Micros(1e6)).time, Micros(0.0));
    }
}
