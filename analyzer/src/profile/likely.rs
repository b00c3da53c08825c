//! How far from the estimate a server's real time is likely to be.
//!
//! A calibration's own spread says how well it measured what it measured, and nothing of what the
//! model leaves out: what caches and branch predictors know by then, fonts read for the first
//! time, what an image's pixels cost that were just made. That was looked at by comparing
//! (docs/METHOD.md, "How near the estimates come so far"): half of the programs of `cargo xtask
//! validate accuracy`, drawn by lot, gave the factors below, and the other half is counted.

use x11prof_cost_model::{Cost, Micros};

/// Between which factors of an estimate the truth was.
struct Factors {
    least: f64,
    most: f64,
}

/// Of the time that requests take.
const REQUESTS: Factors = Factors {
    least: 0.75,
    most: 1.35,
};
/// Of waking up, first uses, reading and answering.
const TRANSPORT: Factors = Factors {
    least: 0.75,
    most: 2.2,
};

/// The time of the server that nine truths in ten were within, where requests and their transport
/// are estimated so: never narrower than what the calibration's own spread allows.
pub(crate) fn likely(requests: Cost, transport: Cost) -> (Micros, Micros) {
    let bounds = |factors: &Factors, cost: Cost| {
        (
            Micros((cost.time.0 * factors.least).min(cost.low.0)),
            Micros((cost.time.0 * factors.most).max(cost.high.0)),
        )
    };
    let (least, most) = bounds(&REQUESTS, requests);
    let (least_too, most_too) = bounds(&TRANSPORT, transport);
    (least + least_too, most + most_too)
}

#[cfg(test)]
mod tests {
    use super::{REQUESTS, TRANSPORT, likely};
    use x11prof_cost_model::{Cost, Micros};

    #[test]
    fn each_part_has_its_factors_and_no_less_than_its_spread() {
        let known = Cost::exact(Micros(100.0));
        let (least, most) = likely(known, known);
        let close = |one: Micros, other: f64| (one.0 - other).abs() < 1e-9;
        assert!(close(least, 100.0 * (REQUESTS.least + TRANSPORT.least)));
        assert!(close(most, 100.0 * (REQUESTS.most + TRANSPORT.most)));
        let vague = Cost::with_spread(Micros(100.0), 0.9);
        let (least, most) = likely(vague, Cost::default());
        assert!(close(least, 10.0) && close(most, 190.0));
    }
}
