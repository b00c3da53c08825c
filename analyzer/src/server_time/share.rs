//! Amounts of the server's measured time, and their time sources.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use x11prof_cost_model::Micros;

/// The source of a server time, the most precise first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    /// The recorded server's own handler times, and the kernel's clock for the rest.
    Timed,
    /// The kernel's clock of the recorded server, attributed by costs.
    #[serde(rename = "attributed")]
    Attributed,
    /// Measured on the recorded server, and extrapolated to another server by the ratio of two costs.
    #[serde(rename = "extrapolated")]
    Extrapolated,
    /// Costs alone.
    Modelled,
}

impl TimeSource {
    /// True if the total was measured on the recorded server.
    pub fn is_measured(self) -> bool {
        matches!(self, TimeSource::Timed | TimeSource::Attributed)
    }
}

/// A share of the server's runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Share {
    /// Time on a processor by the context switches.
    pub(crate) time: Micros,
    /// The number of runs, possibly fractional.
    pub(crate) stretches: f64,
}

impl Share {
    /// The share minus a part of its time; not below zero.
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

/// The rate from shares to the kernel's clock. The kernel reports a switch some microseconds after the thread's clock
/// starts. Clock time beyond the switches is spread evenly over the stretches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Factor on a share's time. It is below 1 if the switches show more time than the clock, for example after lost
    /// switches.
    pub(crate) scale: f64,
    /// The clock's time beyond the switches, for each run.
    pub(crate) each: Micros,
    /// True if the server timed its requests, so that their times have no bounds.
    pub(crate) timed: bool,
}

impl Rate {
    /// The unscaled switches.
    pub(crate) const PLAIN: Rate = Rate {
        scale: 1.0,
        each: Micros::ZERO,
        timed: false,
    };

    /// The rate at which shares add up to `clock`.
    pub(crate) fn of(clock: Micros, reported: Share) -> Rate {
        let beyond = clock - reported.time;
        if beyond.0 < 0.0 {
            Rate {
                scale: clock.0 / reported.time.0,
                ..Rate::PLAIN
            }
        } else if reported.stretches > 0.0 {
            Rate {
                each: beyond * (1.0 / reported.stretches),
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
    fn clock_time_beyond_switches_is_attributed_per_stretch() {
        let reported = Share {
            time: Micros(100.0),
            stretches: 10.0,
        };
        let rate = Rate::of(Micros(140.0), reported);
        assert_eq!(rate.each, Micros(4.0));
        assert_eq!(rate.time(reported), Micros(140.0));
        assert_eq!(rate.time(reported.part(0.1)), Micros(14.0));
    }

    #[test]
    fn switches_beyond_the_clock_are_scaled_down() {
        let reported = Share {
            time: Micros(100.0),
            stretches: 10.0,
        };
        let rate = Rate::of(Micros(50.0), reported);
        assert_eq!((rate.scale, rate.each), (0.5, Micros(0.0)));
        assert_eq!(rate.time(reported), Micros(50.0));
    }
}
