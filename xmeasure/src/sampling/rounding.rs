//! Rounds the figures of a parameter file to their significant digits.

use x11prof_cost_model::{Measured, Micros};

use crate::sampling::statistics::{Estimate, RESIDUE};

/// Combines the estimates by the two clocks into a figure of the parameter file; `None` without estimates. The spread
/// is the spread of the CPU time, or of the wall-clock time if there is no CPU time.
pub(crate) fn measured(cpu: Option<Estimate>, wall: Option<Estimate>) -> Option<Measured> {
    let first = cpu.or(wall)?;
    let time = |estimate: Estimate| micros(estimate.centre.max(0.0), 5);
    Some(Measured {
        cpu_us: cpu.map(time),
        wall_us: wall.map(time),
        spread: first.spread().map(|spread| rounded(spread, 2)),
    })
}

/// A time in microseconds, rounded to `digits` significant digits.
pub(crate) fn micros(time: f64, digits: i32) -> Micros {
    Micros(if time < RESIDUE {
        0.0
    } else {
        rounded(time, digits)
    })
}

/// `number` rounded to `digits` significant digits, because more digits would be noise.
pub(crate) fn rounded(number: f64, digits: i32) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let unit = 10_f64.powi(digits - 1 - number.abs().log10().floor() as i32);
    (number * unit).round() / unit
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn rounding_keeps_significant_digits() {
        assert_eq!(rounded(7.225_909_717, 5), 7.2259);
        assert_eq!(rounded(0.000_075_409_92, 5), 0.000_075_41);
        assert_eq!(rounded(1234.5678, 2), 1200.0);
        assert_eq!(rounded(0.0, 5), 0.0);
    }
}
