//! Detects whether replies arrive in steps, at the ticks of a timer on the link.

use x11prof_trace::RoundTrip;

/// The range of tested step lengths, in milliseconds. Shorter steps cannot be distinguished from noise. For longer
/// steps, the pauses between the measurements are too short.
const SHORTEST: f64 = 4.0;
const LONGEST: f64 = 60.0;
/// The increment between tested step lengths, in milliseconds.
const RESOLUTION: f64 = 0.05;
/// With fewer round trips than this, no steps are reported.
const FEWEST: usize = 20;
/// The smallest value of the test statistic (0 to 1) that counts as steps. For replies at random times the value is 0
/// with a standard deviation of 1/√(2n), a tenth for 48 replies. The limit is seven standard deviations, so a test of a
/// hundred step lengths finds no steps by chance.
const CLEAR: f64 = 0.7;

/// Returns the step in milliseconds; `None` if replies do not arrive in steps.
///
/// `paced` contains round trips after pauses of random length. If a timer delays replies, the time between two replies
/// is still a multiple of the timer's period; otherwise it is random.
pub(super) fn step(paced: &[RoundTrip]) -> Option<f64> {
    if paced.len() < FEWEST {
        return None;
    }
    let between: Vec<f64> = paced
        .windows(2)
        .map(|pair| pair[1].came_ns.saturating_sub(pair[0].came_ns) as f64 / 1e6)
        .collect();
    // The first circular moment of the remainders (Mardia & Jupp 2000, section 2.3).
    let clear = |step: f64| {
        let turns = between
            .iter()
            .map(|ms| (std::f64::consts::TAU * ms / step).cos());
        turns.sum::<f64>() / between.len() as f64
    };
    // A half or a third of a step fits as well, so the longest fitting step is the result.
    let count = ((LONGEST - SHORTEST) / RESOLUTION) as usize;
    let steps = (0..=count).rev().map(|n| SHORTEST + n as f64 * RESOLUTION);
    let longest = steps.clone().find(|step| clear(*step) >= CLEAR)?;
    let near = steps.filter(|step| (0.8 * longest..=longest).contains(step));
    near.max_by(|a, b| clear(*a).total_cmp(&clear(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(mut come: impl FnMut(u64) -> u64) -> Vec<RoundTrip> {
        let (mut now, mut random) = (1_000_000_u64, 12_345_u64);
        let mut trip = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let sent_ns = now + (random >> 33) % 45_000_000;
            now = come(sent_ns);
            RoundTrip {
                sent_ns,
                came_ns: now,
            }
        };
        (0..48).map(|_| trip()).collect()
    }

    #[test]
    fn only_a_timer_period_is_detected() {
        for period in [10_000_000, 16_667_000, 20_000_000, 40_000_000] {
            // The timer is up to 0.3 ms late.
            let found = paced(|sent| (sent / period + 1) * period + sent % 300_000);
            let step = step(&found).unwrap();
            assert!((step - period as f64 / 1e6).abs() < 0.2, "{step}");
        }
        assert_eq!(step(&paced(|sent| sent + 50_000)), None);
        assert_eq!(step(&paced(|sent| sent + 20_000_000)), None);
        assert_eq!(step(&paced(|sent| sent + sent % 40_000_000)), None);
    }
}
