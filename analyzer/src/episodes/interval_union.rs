//! The total time covered by intervals, which may overlap.

use std::collections::BTreeMap;

/// Maximum number of separate intervals that may still grow. Beyond it, the earliest interval is settled: it no longer
/// changes.
const MAX_OPEN: usize = 4096;
/// Maximum number of intervals kept individually: the longest.
const MAX_STRETCHES: usize = 1000;

/// An interval of time between two times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    pub(crate) length: u64,
    pub(crate) start: u64,
}

/// A union of time intervals.
#[derive(Debug, Default)]
pub(crate) struct IntervalUnion {
    /// The intervals that may still grow, with their beginnings and ends in nanoseconds. They do not touch each other.
    open: BTreeMap<u64, u64>,
    total: u64,
    settled: Vec<Interval>,
    /// Intervals before this time (nanoseconds) are settled: time that is added later does not change them.
    until: u64,
}

impl IntervalUnion {
    /// Adds the time from `start` to `end` (nanoseconds). Returns an interval that can no longer grow, if any.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> Option<Interval> {
        let (mut start, mut end) = (start.max(self.until), end);
        if start >= end {
            return None;
        }
        while let Some((&from, &to)) = self.open.range(..=end).next_back()
            && to >= start
        {
            (start, end) = (start.min(from), end.max(to));
            self.open.remove(&from);
            self.total -= to - from;
        }
        self.open.insert(start, end);
        self.total += end - start;
        if self.open.len() > MAX_OPEN
            && let Some((start, end)) = self.open.pop_first()
        {
            self.until = end;
            let length = end - start;
            let interval = Interval { length, start };
            self.settled.push(interval);
            if self.settled.len() > 2 * MAX_STRETCHES {
                self.settled.sort_unstable_by(|a, b| b.cmp(a));
                self.settled.truncate(MAX_STRETCHES);
            }
            return Some(interval);
        }
        None
    }

    /// Removes all time after `time` (nanoseconds) from the union.
    pub(crate) fn end_at(&mut self, time: u64) {
        for (start, end) in self.open.split_off(&time) {
            self.total -= end - start;
        }
        if let Some(mut last) = self.open.last_entry()
            && *last.get() > time
        {
            self.total -= *last.get() - time;
            last.insert(time);
        }
    }

    /// The intervals that can still grow.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = Interval> {
        self.open.iter().map(|(&start, &end)| Interval {
            length: end - start,
            start,
        })
    }

    /// The total length of the union in nanoseconds.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The longest intervals of the union, in the order of time.
    pub(crate) fn longest(&self) -> Vec<Interval> {
        let settled = self.settled.iter().copied();
        let mut all: Vec<Interval> = settled.chain(self.unsettled()).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.truncate(MAX_STRETCHES);
        all.sort_unstable_by_key(|interval| interval.start);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{IntervalUnion, MAX_OPEN};

    #[test]
    fn overlapping_intervals_count_once() {
        let mut covered = IntervalUnion::default();
        for (start, end) in [
            (10, 20),
            (40, 50),
            (15, 22),
            (5, 12),
            (22, 24),
            (60, 60),
            (0, 70),
        ] {
            covered.add(start, end);
            let sum: u64 = covered.longest().iter().map(|one| one.length).sum();
            assert_eq!(covered.total(), sum);
        }
        assert_eq!(covered.total(), 70);
        covered.end_at(25);
        let left: Vec<_> = covered.longest();
        assert_eq!((covered.total(), left.len(), left[0].length), (25, 1, 25));
    }

    #[test]
    fn total_is_exact_with_many_intervals() {
        let mut covered = IntervalUnion::default();
        let many = 3 * MAX_OPEN as u64;
        (0..many).for_each(|n| {
            covered.add(10 * n, 10 * n + 4);
        });
        assert_eq!((covered.total(), covered.longest().len()), (4 * many, 1000));
    }
}
