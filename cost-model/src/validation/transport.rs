//! Checks the costs that belong to no request: wakeups, replies, events.

use super::amounts::{is_amount, validate_measured};
use crate::{Clock, Micros, TransportCosts};

pub(super) fn validate_transport(transport: &TransportCosts) -> Result<(), String> {
    for (name, measured) in transport.parts() {
        validate_measured(measured).map_err(|message| format!("{name}: {message}"))?;
    }
    let sleeps = transport.after_sleep.iter().map(|sleep| {
        let pixels = sleep.megapixel_us.unwrap_or_default();
        let costs = [sleep.wakeup_us, sleep.connection_us, pixels];
        (sleep.asleep_us, costs, sleep.spread)
    });
    validate_after("after_sleep", sleeps)?;
    match transport.clock(Clock::Cpu) {
        Some(_) => Ok(()),
        None => Err("no clock has all of its times; give cpu_us, or wall_us, in every part".into()),
    }
}

/// Checks `points`: the length of a sleep, the costs after that sleep, and their spread. The lengths must ascend, and the
/// costs and spreads must not be negative.
fn validate_after<const N: usize>(
    name: &str,
    points: impl Iterator<Item = (Micros, [Micros; N], Option<f64>)>,
) -> Result<(), String> {
    let mut longest = 0.0;
    for (length, costs, spread) in points {
        let costs = costs.map(|time| time.0);
        if !costs.into_iter().chain(spread).all(is_amount) {
            return Err(format!(
                "{name}: a time or a spread is a number that is not negative"
            ));
        }
        if !length.0.is_finite() || length.0 <= longest {
            return Err(format!(
                "{name}: {} is not above {longest}; lengths of time are above 0 and ascend",
                length.0
            ));
        }
        longest = length.0;
    }
    Ok(())
}
