//! Modelled times: the expected cost of an operation or a byte.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Serialize};

/// A modelled or measured duration in microseconds. Costs can be below a nanosecond (a byte read), so it is a real
/// number.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub f64);

impl Micros {
    /// Zero time.
    pub const ZERO: Micros = Micros(0.0);

    /// A time in milliseconds.
    pub fn from_ms(ms: f64) -> Micros {
        Micros(ms * 1e3)
    }

    /// The time in milliseconds.
    pub fn as_ms(self) -> f64 {
        self.0 / 1e3
    }

    /// A time in nanoseconds.
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

/// A cost with bounds from the calibration's spread and the substitutions: `low <= time <= high`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// The estimate.
    pub time: Micros,
    /// The lower bound.
    pub low: Micros,
    /// The upper bound.
    pub high: Micros,
}

impl Cost {
    /// A cost known exactly.
    pub fn exact(time: Micros) -> Cost {
        Cost {
            time,
            low: time,
            high: time,
        }
    }

    /// A cost with a relative spread: 0.03 for plus or minus 3 %.
    pub fn with_spread(time: Micros, spread: f64) -> Cost {
        Cost {
            time,
            low: time * (1.0 - spread).max(0.0),
            high: time * (1.0 + spread),
        }
    }

    /// The cost multiplied by `by`.
    pub fn times(self, by: f64) -> Cost {
        Cost {
            time: self.time * by,
            low: self.low * by,
            high: self.high * by,
        }
    }

    /// The cost minus `part`, which was added to it before.
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

/// The server's clock on which a cost was measured (docs/CONCEPTS.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The processor time of the server's process.
    Cpu,
    /// The wall.
    Wall,
}
