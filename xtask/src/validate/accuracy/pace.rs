//! How long the rest of a run will take, from how long each workload has taken so far.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Runs of workloads on servers, on their way.
pub(super) struct Pace {
    start: Instant,
    /// What is still to come, by workload.
    to_come: BTreeMap<&'static str, u32>,
    /// What has been seen: how often, and how long in all.
    seen: BTreeMap<&'static str, (u32, Duration)>,
}

impl Pace {
    /// With these workloads to come, each as often as it is named.
    pub(super) fn new(all: impl IntoIterator<Item = &'static str>) -> Pace {
        let mut to_come = BTreeMap::new();
        for workload in all {
            *to_come.entry(workload).or_default() += 1;
        }
        Pace {
            start: Instant::now(),
            to_come,
            seen: BTreeMap::new(),
        }
    }

    /// One of `workload` took so long.
    pub(super) fn took(&mut self, workload: &'static str, time: Duration) {
        let (times, all) = self.seen.entry(workload).or_default();
        *times += 1;
        *all += time;
        if let Some(left) = self.to_come.get_mut(workload) {
            *left = left.saturating_sub(1);
        }
    }

    /// What is to come, at the mean of the same workload's runs so far, or of all where there was none.
    fn left(&self) -> Duration {
        let all = self.seen.values();
        let (times, time) = all.fold((0, Duration::ZERO), |(times, time), seen| {
            (times + seen.0, time + seen.1)
        });
        let mean = time.checked_div(times).unwrap_or_default();
        let each = |workload: &&str| {
            let seen = self.seen.get(workload);
            seen.and_then(|(times, time)| time.checked_div(*times))
        };
        let to_come = self.to_come.iter();
        to_come
            .map(|(workload, times)| each(workload).unwrap_or(mean) * *times)
            .sum()
    }

    /// `12 of 204 done in 3 min, about 41 min left`
    pub(super) fn shown(&self) -> String {
        let (done, left): (u32, u32) = (
            self.seen.values().map(|(times, _)| times).sum(),
            self.to_come.values().sum(),
        );
        let minutes = |time: Duration| (time.as_secs_f64() / 60.0).ceil();
        format!(
            "{done} of {} done in {} min, about {} min left",
            done + left,
            minutes(self.start.elapsed()),
            minutes(self.left())
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pace;

    #[test]
    fn what_is_to_come_takes_as_long_as_before() {
        let mut pace = Pace::new(["long", "long", "short", "short", "new"]);
        assert_eq!(pace.left(), Duration::ZERO);
        pace.took("long", Duration::from_secs(50));
        pace.took("short", Duration::from_secs(10));
        assert_eq!(pace.left(), Duration::from_secs(50 + 10 + 30));
        assert_eq!(pace.shown(), "2 of 5 done in 1 min, about 2 min left");
    }
}
