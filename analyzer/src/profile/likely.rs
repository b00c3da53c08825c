//! How far from the estimate a server's real time is likely to be.
//!
//! A calibration's own spread says how well it measured what it measured, and nothing of what the
//! model leaves out: what caches and branch predictors know by then, fonts read for the first
//! time, what an image's pixels cost that were just made. That was looked at by comparing
//! (docs/METHOD.md, "How near the estimates come so far").

use x11prof_cost_model::{Cost, Micros};

/// Truth over estimate at the least and at the most, over half of the programs of `cargo xtask
/// validate accuracy`, drawn by lot, on four servers, rounded outwards. It goes by no part of the
/// estimate that was looked at: not by the share of requests in it, nor of waking up.
const LEAST: f64 = 0.8;
const MOST: f64 = 1.5;

/// Between which times of a server nine truths in ten lay where it is estimated so; never
/// narrower than what the calibration's own spread allows.
pub(crate) fn likely(estimate: Cost) -> (Micros, Micros) {
    (
        Micros((estimate.time.0 * LEAST).min(estimate.low.0)),
        Micros((estimate.time.0 * MOST).max(estimate.high.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::likely;
    use x11prof_cost_model::{Cost, Micros};

    #[test]
    fn no_narrower_than_the_spread() {
        let known = Cost::exact(Micros(100.0));
        assert_eq!(likely(known), (Micros(80.0), Micros(150.0)));
        let vague = Cost {
            low: Micros(10.0),
            high: Micros(190.0),
            ..known
        };
        assert_eq!(likely(vague), (Micros(10.0), Micros(190.0)));
    }
}
