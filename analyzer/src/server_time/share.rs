//! Amounts of the server's measured time, and what they stand on.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use x11prof_cost_model::Micros;

/// The source of a server time, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The recorded server's own handlers, and the kernel's clock for the rest.
    Timed,
    /// The kernel's clock of the recorded server, divided by costs.
    #[serde(rename = "attributed")]
    Measured,
    /// Measured on the recorded server, rescaled to another one by the ratio of two costs.
    #[serde(rename = "extrapolated")]
    Carried,
    /// Costs alone.
    Modelled,
}

impl Basis {
    /// True if the total is the recorded server's own.
    pub fn is_measured(self) -> bool {
        matches!(self, Basis::Timed | Basis::Measured)
    }
}

/// A share of the server's runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Share {
    /// Time on a processor by the context switches.
    pub(crate) time: Micros,
    /// The number of runs, in whole and parts.
    pub(crate) stretches: f64,
}

impl Share {
    /// The share without a part of its time, which cannot be longer.
    pub(crate) fn less(self, time: Micros) -> Share {
        Share {
            time: Micros((self.time - time).0.max(0.0)),
            ..self
        }
    }

    pub(crate) fn part(self, part: f64) -> Share {
        Share {
            time: self.time * part,
            stretches: self.stretches * part,
        }
    }
}

impl Add for Share {
    type Output = Share;

    fn add(self, other: Share) -> Share {
        Share {
            time: self.time + other.time,
            stretches: self.stretches + other.stretches,
        }
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Share) {
        *self = *self + other;
    }
}

/// The rate from shares to the kernel's clock. The kernel tells a switch some microseconds after the clock of the
/// thread begins. The clock's time beyond the switches belongs to the stretches, to each the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Factor on a share's time: below 1 where the switches have more time than the clock, as they do where
    /// some switches were lost.
    pub(crate) scale: f64,
    /// The clock's time beyond the switches, for each run.
    pub(crate) each: Micros,
    /// True if the server timed its requests: their times have no bounds.
    pub(crate) timed: bool,
}

impl Rate {
    /// The switches as they are.
    pub(crate) const PLAIN: Rate = Rate {
        scale: 1.0,
        each: Micros::ZERO,
        timed: false,
    };

    /// The rate at which shares add up to `clock`.
    pub(crate) fn of(clock: Micros, told: Share) -> Rate {
        let beyond = clock - told.time;
        if beyond.0 < 0.0 {
            Rate {
                scale: clock.0 / told.time.0,
                ..Rate::PLAIN
            }
        } else if told.stretches > 0.0 {
            Rate {
                each: beyond * (1.0 / told.stretches),
                ..Rate::PLAIN
            }
        } else {
            Rate::PLAIN
        }
    }

    /// The kernel's time of a share.
    pub(crate) fn time(self, share: Share) -> Micros {
        share.time * self.scale + self.each * share.stretches
    }
}

#[cfg(test)]
mod tests {
    use x11prof_cost_model::Micros;

    use super::{Rate, Share};

    #[test]
    fn the_clocks_time_beyond_the_switches_belongs_to_the_stretches() {
        let told = Share {
            time: Micros(100.0),
            stretches: 10.0,
        };
        let rate = Rate::of(Micros(140.0), told);
        assert_eq!(rate.each, Micros(4.0));
        assert_eq!(rate.time(told), Micros(140.0));
        assert_eq!(rate.time(told.part(0.1)), Micros(14.0));
    }

    #[test]
    fn switches_that_tell_more_than_the_clock_are_scaled() {
        let told = Share {
            time: Micros(100.0),
            stretches: 10.0,
        };
        let rate = Rate::of(Micros(50.0), told);
        assert_eq!((rate.scale, rate.each), (0.5, Micros(0.0)));
        assert_eq!(rate.time(told), Micros(50.0));
    }
}
