//! Random pauses that have the distribution of the session's pauses.

use std::time::Duration;

/// Draws random pauses from the session's pauses. The same seed gives the same sequence.
#[derive(Debug, Clone)]
pub(crate) struct Human {
    pauses: Vec<Duration>,
    state: u64,
}

impl Human {
    pub(crate) fn new(pauses: Vec<Duration>, seed: u64) -> Human {
        Human {
            pauses,
            state: seed,
        }
    }

    /// Draws the next pause; zero if the session has no pauses.
    pub(crate) fn pause(&mut self) -> Duration {
        let count = self.pauses.len() as u64;
        let at = self.next().checked_rem(count);
        at.map_or(Duration::ZERO, |at| self.pauses[at as usize])
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Human;

    #[test]
    fn pauses_come_from_the_session_and_repeat_with_the_seed() {
        let pauses: Vec<_> = [5, 50, 500].map(Duration::from_millis).to_vec();
        let draw = |seed| {
            let mut human = Human::new(pauses.clone(), seed);
            (0..20).map(|_| human.pause()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).iter().all(|pause| pauses.contains(pause)));
        assert_eq!(Human::new(Vec::new(), 1).pause(), Duration::ZERO);
    }
}
