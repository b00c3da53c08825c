//! Estimated times: the cost of an operation or of a byte.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Serialize};

/// An estimated or measured duration in microseconds. The duration is a real number, because costs can be below a
/// nanosecond (such as the cost of reading a byte).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub f64);

impl Micros {
    /// A duration of zero.
    pub const ZERO: Micros = Micros(0.0);

    /// Creates a duration from milliseconds.
    pub fn from_ms(ms: f64) -> Micros {
        Micros(ms * 1e3)
    }

    /// Converts the duration to milliseconds.
    pub fn as_ms(self) -> f64 {
        self.0 / 1e3
    }

    /// Creates a duration from nanoseconds.
    pub fn from_nanos(nanos: f64) -> Micros {
        Micros(nanos / 1e3)
    }
}

impl Add for Micros {
    type Output = Micros;
    fn add(self, other: Micros) -> Micros {
        Micros(self.0 + other.0)
    }
}
impl Sub for Micros {
    type Output = Micros;
    fn sub(self, other: Micros) -> Micros {
        Micros(self.0 - other.0)
    }
}
impl Mul<f64> for Micros {
    type Output = Micros;
    fn mul(self, by: f64) -> Micros {
        Micros(self.0 * by)
    }
}
impl AddAssign for Micros {
    fn add_assign(&mut self, other: Micros) {
        self.0 += other.0;
    }
}
impl Sum for Micros {
    fn sum<I: Iterator<Item = Micros>>(all: I) -> Micros {
        all.fold(Micros::ZERO, Add::add)
    }
}

/// An estimated cost with bounds, which follow from the calibration's spread and from substitutions: `low <= time <=
/// high`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// The estimated cost, as a duration.
    pub time: Micros,
    /// The lower bound of the time.
    pub low: Micros,
    /// The upper bound of the time.
    pub high: Micros,
}

impl Cost {
    /// A cost whose bounds are equal to the time.
    pub fn exact(time: Micros) -> Cost {
        Cost {
            time,
            low: time,
            high: time,
        }
    }

    /// A cost whose bounds are the time plus and minus a relative spread, such as 0.03 for 3 %.
    pub fn with_spread(time: Micros, spread: f64) -> Cost {
        Cost {
            time,
            low: time * (1.0 - spread).max(0.0),
            high: time * (1.0 + spread),
        }
    }

    /// The cost with bounds that are at least `error` from the time, such as 0.3 for 30 %.
    pub fn at_least(self, error: f64) -> Cost {
        let least = Cost::with_spread(self.time, error);
        Cost {
            time: self.time,
            low: Micros(self.low.0.min(least.low.0)),
            high: Micros(self.high.0.max(least.high.0)),
        }
    }

    /// The cost multiplied by the factor `by`.
    pub fn times(self, by: f64) -> Cost {
        Cost {
            time: self.time * by,
            low: self.low * by,
            high: self.high * by,
        }
    }

    /// The cost minus `part`, which was added to this cost before.
    pub fn without(self, part: Cost) -> Cost {
        Cost {
            time: self.time - part.time,
            low: self.low - part.low,
            high: self.high - part.high,
        }
    }
}

impl Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost {
            time: self.time + other.time,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}
impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

/// The clock by which a server's cost was measured (docs/CONCEPTS.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The CPU time of the server's process.
    Cpu,
    /// The wall-clock time.
    Wall,
}
