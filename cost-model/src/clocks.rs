//! Chooses one of the two clocks of a parameter file for a cost: the requested clock if all related figures have it,
//! otherwise the other clock.

use crate::{Clock, Cost, Measured, Micros, Point, RequestCosts, TransportCosts};

impl Clock {
    /// Returns `Wall` for `Cpu`, and `Cpu` for `Wall`.
    pub fn other(self) -> Clock {
        match self {
            Clock::Cpu => Clock::Wall,
            Clock::Wall => Clock::Cpu,
        }
    }
}

impl Measured {
    /// The time on `clock`; `None` if it was not measured.
    pub fn time(&self, clock: Clock) -> Option<Micros> {
        match clock {
            Clock::Cpu => self.cpu_us,
            Clock::Wall => self.wall_us,
        }
    }

    /// The time on `clock` with its spread; `None` if it was not measured. An unknown spread counts as zero.
    pub fn cost(&self, clock: Clock) -> Option<Cost> {
        Some(Cost::with_spread(
            self.time(clock)?,
            self.spread.unwrap_or(0.0),
        ))
    }
}

impl Point {
    /// The time of one request on `clock`; `None` if it was not measured. The wall-clock time may be known as a rate in
    /// requests per second (Xprof, equation 8).
    pub fn time(&self, clock: Clock) -> Option<Micros> {
        match clock {
            Clock::Cpu => self.cpu_us,
            Clock::Wall => self
                .wall_us
                .or(self.per_second.map(|rate| Micros(1e6 / rate))),
        }
    }

    /// The time on `clock` with its spread; `None` if it was not measured. An unknown spread counts as zero.
    pub fn cost(&self, clock: Clock) -> Option<Cost> {
        Some(Cost::with_spread(
            self.time(clock)?,
            self.spread.unwrap_or(0.0),
        ))
    }
}

impl RequestCosts {
    /// The clock for the costs of this entry: `preferred` if every point and the fixed part have it, otherwise the
    /// other clock; `None` if neither is complete.
    pub fn clock(&self, preferred: Clock) -> Option<Clock> {
        [preferred, preferred.other()].into_iter().find(|clock| {
            self.points.iter().all(|point| point.time(*clock).is_some())
                && self.fixed.iter().all(|fixed| fixed.time(*clock).is_some())
        })
    }
}

impl TransportCosts {
    /// The clock for the transport costs: `preferred` if all parts have it, otherwise the other clock; `None` if
    /// neither is complete.
    pub fn clock(&self, preferred: Clock) -> Option<Clock> {
        [preferred, preferred.other()]
            .into_iter()
            .find(|clock| self.parts().all(|(_, part)| part.time(*clock).is_some()))
    }

    /// The transport costs that the file has, with their names in the file.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'static str, &Measured)> {
        [
            ("wakeup", Some(&self.wakeup)),
            ("byte_read", Some(&self.byte_read)),
            ("reply", Some(&self.reply)),
            ("byte_written", self.byte_written.as_ref()),
            ("event", Some(&self.event)),
        ]
        .into_iter()
        .filter_map(|(name, part)| Some((name, part?)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Clock, Cost, Micros, Point, RequestCosts};

    #[test]
    fn rates_are_wall_clock_times() {
        let point = Point {
            size: 1.0,
            per_second: Some(8.0),
            ..Point::default()
        };
        assert_eq!(point.time(Clock::Wall), Some(Micros(125_000.0)));
        assert_eq!(point.time(Clock::Cpu), None);
        assert_eq!(
            point.cost(Clock::Wall),
            Some(Cost::exact(Micros(125_000.0)))
        );
    }

    #[test]
    fn other_clock_is_used_only_if_all_points_have_it() {
        let both = Point {
            size: 1.0,
            cpu_us: Some(Micros(1.0)),
            wall_us: Some(Micros(2.0)),
            ..Point::default()
        };
        let wall = Point {
            size: 2.0,
            wall_us: Some(Micros(3.0)),
            ..Point::default()
        };
        let mut entry = RequestCosts {
            points: vec![both],
            ..RequestCosts::default()
        };
        assert_eq!(entry.clock(Clock::Cpu), Some(Clock::Cpu));
        entry.points.push(wall);
        assert_eq!(entry.clock(Clock::Cpu), Some(Clock::Wall));
        entry.points[0].wall_us = None;
        assert_eq!(entry.clock(Clock::Cpu), None);
    }
}
