//! The long episodes of a trace: the time between them (the latency-benchmark paper's Table 2), and the share of each
//! class of duration in the total latency.

use crate::statistics::distribution::Distribution;

/// Thresholds of Table 2 in addition to the user's threshold, in milliseconds: values around the perceptible 100 ms.
pub(crate) const THRESHOLDS: [f64; 4] = [50.0, 100.0, 150.0, 200.0];
/// The lower bounds of the classes of durations, in milliseconds.
pub(crate) const EDGES: [f64; 7] = [0.0, 3.0, 10.0, 50.0, 100.0, 200.0, 1000.0];

/// Maximum number of long episodes kept. Further ones do not count in the times between episodes.
const MAX_STARTS: usize = 1 << 16;

/// The long episodes, and the sums over all episodes by class of duration.
#[derive(Debug, Default)]
pub(crate) struct LongEpisodes {
    /// The beginning and latency (nanoseconds) of each episode that is perceptible or above the lowest threshold; true
    /// if it is perceptible.
    long: Vec<(u64, u64, bool)>,
    /// For each class of duration, the number of episodes and their total latency in nanoseconds.
    pub(crate) classes: [(u64, u64); EDGES.len()],
}

impl LongEpisodes {
    /// Adds an episode that began at `start` and took `latency`, in nanoseconds. `long` is true if it is over the
    /// general threshold, `perceptible` if it is over its own threshold.
    pub(crate) fn add(&mut self, start: u64, latency: u64, long: bool, perceptible: bool) {
        let ms = latency as f64 / 1e6;
        if (long || perceptible || ms > THRESHOLDS[0]) && self.long.len() < MAX_STARTS {
            self.long.push((start, latency, perceptible));
        }
        let class = EDGES.iter().rposition(|edge| ms >= *edge).unwrap_or(0);
        let (count, total) = &mut self.classes[class];
        *count += 1;
        *total = total.saturating_add(latency);
    }

    /// The number of episodes longer than `above_ms` (or than their own threshold if `above_ms` is `None`), and the
    /// nanoseconds between their beginnings. Sorts the episodes by beginning, because they arrive by end.
    pub(crate) fn apart(&self, above_ms: Option<f64>) -> (u64, Distribution) {
        let above = self.long.iter().filter(|(_, nanos, perceptible)| {
            above_ms.map_or(*perceptible, |above| *nanos as f64 / 1e6 > above)
        });
        let mut starts: Vec<u64> = above.map(|(start, ..)| *start).collect();
        starts.sort_unstable();
        let mut apart = Distribution::default();
        for two in starts.windows(2) {
            apart.add(two[1] - two[0]);
        }
        (starts.len() as u64, apart)
    }
}

#[cfg(test)]
mod tests {
    use super::LongEpisodes;

    #[test]
    fn long_episode_spacing_is_between_starts() {
        const MS: u64 = 1_000_000;
        let mut long = LongEpisodes::default();
        // The first takes longer than until the end of the second, and is complete after it.
        for (start, latency) in [(20, 60), (0, 500), (300, 70), (400, 10)] {
            long.add(
                start * MS,
                latency * MS,
                false,
                latency == 60 || latency == 10,
            );
        }
        let (count, apart) = long.apart(Some(50.0));
        assert_eq!((count, apart.mean()), (3, Some(150e6)));
        assert_eq!(long.apart(Some(65.0)).1.mean(), Some(300e6));
        let (count, apart) = long.apart(None);
        assert_eq!((count, apart.mean()), (2, Some(380e6)));
    }
}
