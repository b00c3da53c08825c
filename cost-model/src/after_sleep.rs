//! The cost of a sleep for the server afterwards: meanwhile other programs and the processor's own idling take its code
//! and data out of the caches.
//!
//! The effects of idling and of other programs add up: a program that computes for a millisecond before it draws leaves
//! the server colder than an idle sleep of equal length.

use crate::{AfterSleep, AfterWork, Clock, Cost, Micros, ServerParameters};

/// The sleep before a piece of the server's work.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PriorSleep {
    /// The time for which the server, or the part in question, had not run.
    pub slept: Micros,
    /// The part of that time in which others ran on the processor; none where that is not known.
    pub worked: Micros,
}

impl PriorSleep {
    /// An infinite sleep: the code has never run.
    pub const EVER: PriorSleep = PriorSleep {
        slept: Micros(f64::INFINITY),
        worked: Micros(f64::INFINITY),
    };

    /// A sleep in which nobody ran.
    pub fn idle(slept: Micros) -> PriorSleep {
        PriorSleep {
            slept,
            worked: Micros::ZERO,
        }
    }

    /// The part of the sleep in which no thread ran. The cost of others' work was measured beyond a short sleep, so a
    /// sleep filled with work is a short one followed by the work.
    fn without_work(self) -> Micros {
        if self.worked.0.is_finite() {
            Micros((self.slept - self.worked).0.max(0.0))
        } else {
            self.slept
        }
    }
}

/// Costs by how long the server slept and others ran, read off measured points: linear in the
/// logarithm of the time between them, the last one's beyond.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SleepPrices {
    points: Vec<AfterSleep>,
    work: Vec<AfterWork>,
}

impl SleepPrices {
    /// The prices in `parameters`; none if they were not measured, or if prices are not on the processor's clock.
    pub(crate) fn new(parameters: &ServerParameters, clock: Option<Clock>) -> SleepPrices {
        let costs = parameters
            .transport
            .as_ref()
            .filter(|_| clock == Some(Clock::Cpu));
        costs.map_or_else(SleepPrices::default, |costs| SleepPrices {
            points: costs.after_sleep.clone(),
            work: costs.after_work.clone(),
        })
    }

    /// False where nothing was measured: then a sleep costs nothing afterwards.
    pub fn is_known(&self) -> bool {
        !self.points.is_empty()
    }

    /// The cost of a wakeup after `prior_sleep`; `None` where wakeups were not measured.
    pub(crate) fn wakeup(&self, prior_sleep: PriorSleep) -> Option<Cost> {
        let slept = self.slept(prior_sleep.without_work(), |point| point.wakeup_us)?;
        Some(slept + self.worked(prior_sleep.worked, |point| point.wakeup_us))
    }

    /// A request's cost beyond its price if its name and attributes have not run meanwhile.
    pub fn first(&self, prior_sleep: PriorSleep) -> Cost {
        let Some(shortest) = self.points.first() else {
            return Cost::default();
        };
        // Code that has just run is warm, and gets cold from there on.
        let idle = prior_sleep.without_work();
        let warm = (idle.0 / shortest.asleep_us.0).clamp(0.0, 1.0);
        let idle = self.slept(idle, |point| point.first_us);
        idle.unwrap_or_default().times(warm)
            + self.worked(prior_sleep.worked, |point| point.first_us)
    }

    /// The longest measured sleep after which all pixels are still in the caches; `None` if no sleep makes pixels cost
    /// more.
    pub fn warm_until(&self) -> Option<Micros> {
        let cold = |point: &&AfterSleep| point.megapixel_us.is_some_and(|time| time.0 > 0.0);
        let first = self.points.iter().position(|point| cold(&point))?;
        let before = self.points.get(first.saturating_sub(1))?;
        Some(before.asleep_us)
    }

    /// The cost beyond its price of drawing a pixel that was not touched while the server was idle for this time.
    pub fn pixel(&self, idle: Micros) -> Cost {
        let million = self.slept(idle, |point| point.megapixel_us.unwrap_or_default());
        million.unwrap_or_default().times(1e-6)
    }

    /// A client's coming and going after that, beyond its wakeup.
    pub fn connection(&self, prior_sleep: PriorSleep) -> Cost {
        let idle = self.slept(prior_sleep.without_work(), |point| point.connection_us);
        idle.unwrap_or_default() + self.worked(prior_sleep.worked, |point| point.connection_us)
    }

    fn slept(&self, time: Micros, of: impl Fn(&AfterSleep) -> Micros) -> Option<Cost> {
        let cost = |point: &AfterSleep| Cost::with_spread(of(point), point.spread.unwrap_or(0.0));
        between(&self.points, time, |point| point.asleep_us, cost)
    }

    /// The cost after others worked for `time`. Before the first point the cost grows from nothing.
    fn worked(&self, time: Micros, of: impl Fn(&AfterWork) -> Micros) -> Cost {
        let cost = |point: &AfterWork| Cost::with_spread(of(point), point.spread.unwrap_or(0.0));
        let Some(shortest) = self.work.first().filter(|_| time.0 > 0.0) else {
            return Cost::default();
        };
        let grown = (time.0 / shortest.worked_us.0).clamp(0.0, 1.0);
        let cost = between(&self.work, time, |point| point.worked_us, cost);
        cost.unwrap_or_default().times(grown)
    }
}

/// The cost at `time` between `points` in ascending order of their times.
fn between<P>(
    points: &[P],
    time: Micros,
    at: impl Fn(&P) -> Micros,
    cost: impl Fn(&P) -> Cost,
) -> Option<Cost> {
    let beyond = points.iter().position(|point| at(point) > time);
    let (before, after) = match beyond {
        Some(0) => return points.first().map(cost),
        Some(index) => (points.get(index - 1)?, points.get(index)?),
        None => return points.last().map(cost),
    };
    let start = at(before).0;
    let way = (time.0 / start).ln() / (at(after).0 / start).ln();
    Some(cost(before).times(1.0 - way) + cost(after).times(way))
}

#[cfg(test)]
mod tests {
    use super::{PriorSleep, SleepPrices};
    use crate::{Clock, Cost, Micros, ServerParameters};

    fn prices(clock: Clock) -> SleepPrices {
        let text = "format = 1\nrequest = []\n[server]\nname = \"test\"\n[transport]\n\
            wakeup = { cpu_us = 6 }\nbyte_read = { cpu_us = 0 }\nreply = { cpu_us = 0 }\n\
            event = { cpu_us = 0 }\nafter_sleep = [\n\
            { asleep_us = 100, wakeup_us = 6, first_us = 1, connection_us = 20 },\n\
            { asleep_us = 10000, wakeup_us = 26, first_us = 5, connection_us = 60, spread = 0.5 },\n]\n\
            after_work = [\n\
            { worked_us = 100, wakeup_us = 2, first_us = 1, connection_us = 4 },\n\
            { worked_us = 1000, wakeup_us = 9, first_us = 3, connection_us = 30 },\n]\n";
        SleepPrices::new(&ServerParameters::from_toml(text).unwrap(), Some(clock))
    }

    #[test]
    fn costs_grow_with_the_logarithm_of_the_sleep() {
        let prices = prices(Clock::Cpu);
        let wakeup = |asleep| prices.wakeup(PriorSleep::idle(Micros(asleep))).unwrap();
        assert_eq!(wakeup(0.0).time, Micros(6.0));
        assert_eq!(wakeup(100.0).time, Micros(6.0));
        assert!((wakeup(1000.0).time.0 - 16.0).abs() < 1e-9);
        assert_eq!(wakeup(f64::INFINITY).time, Micros(26.0));
        assert_eq!(wakeup(1e6).low, Micros(13.0));
        assert_eq!(
            prices.connection(PriorSleep::idle(Micros(10000.0))).time,
            Micros(60.0)
        );
    }

    #[test]
    fn a_request_that_ran_just_now_is_warm() {
        let prices = prices(Clock::Cpu);
        assert_eq!(
            prices.first(PriorSleep::idle(Micros(0.0))).time,
            Micros(0.0)
        );
        assert_eq!(
            prices.first(PriorSleep::idle(Micros(50.0))).time,
            Micros(0.5)
        );
        assert_eq!(
            prices.first(PriorSleep::idle(Micros(f64::INFINITY))).time,
            Micros(5.0)
        );
    }

    #[test]
    fn the_work_of_others_comes_on_top() {
        let prices = prices(Clock::Cpu);
        let after = |slept: f64, worked: f64| PriorSleep {
            slept: Micros(slept),
            worked: Micros(worked),
        };
        let wakeup = |slept, worked| prices.wakeup(after(slept, worked)).unwrap().time.0;
        assert_eq!(wakeup(100.0, 50.0), 7.0);
        assert_eq!(wakeup(100.0, 100.0), 8.0);
        // The sleep beside the work counts.
        assert_eq!(wakeup(15000.0, 5000.0), 35.0);
        assert_eq!(prices.first(after(11000.0, 1000.0)).time, Micros(8.0));
        assert_eq!(prices.first(PriorSleep::EVER).time, Micros(8.0));
        assert_eq!(prices.connection(after(100.0, 25.0)).time, Micros(21.0));
    }

    #[test]
    fn pixels_leave_the_caches_while_the_server_idles() {
        let mut prices = prices(Clock::Cpu);
        assert_eq!(
            (prices.warm_until(), prices.pixel(Micros(1e6))),
            (None, Cost::default())
        );
        for (point, time) in prices.points.iter_mut().zip([0.0, 250.0]) {
            point.megapixel_us = Some(Micros(time));
        }
        assert_eq!(prices.warm_until(), Some(Micros(100.0)));
        assert_eq!(prices.pixel(Micros(50.0)).time, Micros(0.0));
        assert_eq!(
            prices.pixel(Micros(f64::INFINITY)).times(1e6).time,
            Micros(250.0)
        );
        assert!((prices.pixel(Micros(1000.0)).time.0 - 125e-6).abs() < 1e-12);
    }

    #[test]
    fn the_wall_has_no_caches() {
        let prices = prices(Clock::Wall);
        assert!(!prices.is_known());
        assert_eq!(prices.wakeup(PriorSleep::idle(Micros(1e6))), None);
        assert_eq!(
            prices.first(PriorSleep::idle(Micros(1e6))).time,
            Micros(0.0)
        );
    }
}
