//! A count over time in bounded memory: its minimum and maximum in each of a few intervals.

use x11prof_trace::Timestamp;

/// The number of slots. If the time exceeds all slots, pairs of slots are merged and the width doubles.
const SLOTS: usize = 64;
/// The initial width of a slot in nanoseconds: a millisecond.
const NARROWEST: u64 = 1_000_000;

/// One interval of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The minimum of the count in the interval.
    pub(crate) least: u64,
    /// The maximum of the count in the interval.
    pub(crate) most: u64,
}

/// A count over time, as a list of intervals.
#[derive(Debug, Clone)]
pub(crate) struct History {
    start: u64,
    width: u64,
    slots: Vec<Slot>,
    now: u64,
}

impl History {
    /// Creates a history that begins at `start` with the count `value`.
    pub(crate) fn of(start: Timestamp, value: u64) -> History {
        History {
            start: start.as_nanos(),
            width: NARROWEST,
            slots: vec![Slot {
                least: value,
                most: value,
            }],
            now: value,
        }
    }

    /// Notes that the count is `value` from `time` on.
    pub(crate) fn set(&mut self, time: Timestamp, value: u64) {
        self.until(time);
        self.now = value;
        if let Some(slot) = self.slots.last_mut() {
            slot.least = slot.least.min(value);
            slot.most = slot.most.max(value);
        }
    }

    /// Notes that the count has not changed up to `time`.
    pub(crate) fn until(&mut self, time: Timestamp) {
        let since = time.as_nanos().saturating_sub(self.start);
        while since / self.width >= SLOTS as u64 {
            self.widen();
        }
        // Below SLOTS by now.
        let slot = (since / self.width) as usize;
        let still = Slot {
            least: self.now,
            most: self.now,
        };
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, still);
        }
    }

    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        self.slots = self
            .slots
            .chunks(2)
            .map(|two| Slot {
                least: two.iter().map(|slot| slot.least).min().unwrap_or(0),
                most: two.iter().map(|slot| slot.most).max().unwrap_or(0),
            })
            .collect();
    }

    /// The intervals, each with the time of its beginning.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (Timestamp, Slot)> {
        let begin = |n: usize| {
            self.start
                .saturating_add(self.width.saturating_mul(n as u64))
        };
        self.slots
            .iter()
            .enumerate()
            .map(move |(n, slot)| (Timestamp::from_nanos(begin(n)), *slot))
    }

    /// True if the minimum in each quarter of the time is larger than in the previous quarter, and smaller than at the
    /// end. The number of used resources rises and falls; the number of leaked resources only rises.
    pub(crate) fn grows(&self) -> bool {
        let count = self.slots.len();
        if count < 8 {
            return false;
        }
        // The first slot always starts at zero.
        let rest = &self.slots[1..];
        let edge = |quarter: usize| rest.len() * quarter / 4;
        let least = |quarter: usize| {
            let slots = &rest[edge(quarter)..edge(quarter + 1)];
            slots.iter().map(|slot| slot.least).min().unwrap_or(0)
        };
        let at_end = rest.last().map_or(0, |slot| slot.most);
        (0..3).all(|quarter| least(quarter) < least(quarter + 1)) && least(3) < at_end
    }
}

#[cfg(test)]
mod tests {
    use super::{History, SLOTS};
    use x11prof_trace::Timestamp;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn slots_hold_minimum_and_maximum() {
        let mut history = History::of(at(100), 0);
        history.set(at(100), 3);
        history.set(at(102), 1);
        let slots: Vec<_> = history.slots().map(|(t, s)| (t, s.least, s.most)).collect();
        assert_eq!(slots, [(at(100), 0, 3), (at(101), 3, 3), (at(102), 1, 3)]);
    }

    #[test]
    fn history_memory_is_bounded() {
        let mut history = History::of(at(0), 0);
        (0..100_000).for_each(|n| history.set(at(n), n % 7));
        assert!(history.slots.len() <= SLOTS);
        assert!(history.slots.iter().all(|slot| slot.most == 6));
        history.until(Timestamp::from_nanos(u64::MAX));
        assert!(history.slots.len() <= SLOTS);
    }

    #[test]
    fn growth_is_distinguished_from_fluctuation() {
        let [mut leak, mut saw, mut start, mut ended] = [(); 4].map(|()| History::of(at(0), 0));
        for n in 0..1000 {
            leak.set(at(n), n + n % 3);
            saw.set(at(n), n % 50);
            start.set(at(n), 20.min(n));
            ended.set(at(n), 700.min(n));
        }
        assert!(leak.grows());
        assert!(!saw.grows());
        assert!(!start.grows() && !ended.grows());
    }
}
