//! Figures of results in their units.

use std::time::Duration;

use x11prof_cost_model::Micros;

/// Milliseconds rounded to a billionth, without the noise of binary fractions.
pub(crate) fn ms(time: Micros) -> f64 {
    (time.as_ms() * 1e9).round() / 1e9
}

/// Milliseconds.
pub(crate) fn duration_ms(duration: Duration) -> f64 {
    ms(Micros::from_nanos(duration.as_nanos() as f64))
}

/// Milliseconds.
pub(crate) fn nanos_ms(nanos: u64) -> f64 {
    duration_ms(Duration::from_nanos(nanos))
}

/// `part` of `whole` in percent; 0 if `whole` is 0.
pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}
