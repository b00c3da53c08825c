//! The times, sizes and spreads of a file: numbers that can be added up.

use crate::{Measured, Micros};

pub(super) fn validate_measured(measured: &Measured) -> Result<(), String> {
    if measured.cpu_us.is_none() && measured.wall_us.is_none() {
        return Err("it has no time; give cpu_us, wall_us or both".into());
    }
    validate_times(measured.cpu_us, measured.wall_us, measured.spread)
}

pub(super) fn validate_times(
    cpu: Option<Micros>,
    wall: Option<Micros>,
    spread: Option<f64>,
) -> Result<(), String> {
    for (name, time) in [("cpu_us", cpu), ("wall_us", wall)] {
        if let Some(Micros(time)) = time
            && !is_amount(time)
        {
            return Err(format!(
                "{name} is {time}; a time is a number from 0 to 1e15"
            ));
        }
    }
    match spread {
        Some(spread) if !is_amount(spread) => Err(format!(
            "spread is {spread}; it is a number from 0 to 1e15, 0.03 for ± 3 %"
        )),
        _ => Ok(()),
    }
}

/// True if `number` is a valid size, spread or time in microseconds: not negative, and small enough that sums of many
/// numbers remain finite.
pub(super) fn is_amount(number: f64) -> bool {
    (0.0..=1e15).contains(&number)
}
