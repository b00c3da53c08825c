//! Finds out whether replies come in steps: at the ticks of a timer somewhere on the way.

use x11prof_trace::RoundTrip;

/// The range of steps, in milliseconds: shorter ones cannot be distinguished from noise; for longer ones, pauses are
/// too short.
const SHORTEST: f64 = 4.0;
const LONGEST: f64 = 60.0;
/// The difference between one step length that is tried and the next.
const RESOLUTION: f64 = 0.05;
/// Round trips that it takes.
const FEWEST: usize = 20;
/// The smallest figure that counts as steps. Replies at random times have 0 with a standard deviation of 1/√(2n), for
/// 48 a tenth; this is seven of them, so that a test of a hundred step lengths finds none by chance.
const CLEAR: f64 = 0.7;

/// The step in milliseconds; `None` if there is none.
///
/// Requests were sent after pauses of random length. If a timer delays replies, the time between two of them is still
/// a multiple of its period; otherwise it is random.
pub(super) fn step(paced: &[RoundTrip]) -> Option<f64> {
    if paced.len() < FEWEST {
        return None;
    }
    let between: Vec<f64> = paced
        .windows(2)
        .map(|pair| pair[1].came_ns.saturating_sub(pair[0].came_ns) as f64 / 1e6)
        .collect();
    // The first circular moment of what is left of them (Mardia & Jupp 2000, section 2.3).
    let clear = |step: f64| {
        let turns = between
            .iter()
            .map(|ms| (std::f64::consts::TAU * ms / step).cos());
        turns.sum::<f64>() / between.len() as f64
    };
    // A step's half and third fit as well: the longest that fits is it.
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
    fn a_timers_period_is_found_and_nothing_else() {
        for period in [10_000_000, 16_667_000, 20_000_000, 40_000_000] {
            // It is up to 0.3 ms late.
            let found = paced(|sent| (sent / period + 1) * period + sent % 300_000);
            let step = step(&found).unwrap();
            assert!((step - period as f64 / 1e6).abs() < 0.2, "{step}");
        }
        assert_eq!(step(&paced(|sent| sent + 50_000)), None);
        assert_eq!(step(&paced(|sent| sent + 20_000_000)), None);
        assert_eq!(step(&paced(|sent| sent + sent % 40_000_000)), None);
    }
}
