//! Shares of the server's measured time, and the sources of server times.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use x11prof_cost_model::Micros;

/// The source of a server time. The most precise source is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeSource {
    /// The handler times of the recorded server, and the kernel's clock for the rest of its time.
    Timed,
    /// The CPU time of the recorded server by the kernel's clock, attributed by costs.
    #[serde(rename = "attributed")]
    Attributed,
    /// The time measured on the recorded server, extrapolated to another server by the ratio of two costs.
    #[serde(rename = "extrapolated")]
    Extrapolated,
    /// The estimated costs alone.
    Modelled,
}

impl TimeSource {
    /// True if the total time was measured on the recorded server.
    pub fn is_measured(self) -> bool {
        matches!(self, TimeSource::Timed | TimeSource::Attributed)
    }
}

/// A share of the server's CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Share {
    /// The time on a processor by the context switches, in microseconds.
    pub(crate) time: Micros,
    /// The number of intervals on a processor, possibly fractional.
    pub(crate) stretches: f64,
}

impl Share {
    /// The share minus `time`, but not below zero.
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

/// The rate from shares to the kernel's CPU clock. The kernel reports a context switch some microseconds after the
/// thread's clock starts. Clock time beyond the context switches is spread evenly over the intervals on a processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// The factor on a share's time. It is below 1 if the context switches show more time than the clock, for example
    /// after lost context switches.
    pub(crate) scale: f64,
    /// The clock's time beyond the context switches, in microseconds for each interval on a processor.
    pub(crate) each: Micros,
    /// True if the server timed its requests, so that their times have no bounds.
    pub(crate) timed: bool,
}

impl Rate {
    /// The rate that leaves the times of the context switches unchanged.
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

    /// The kernel's CPU time of a share, in microseconds.
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
