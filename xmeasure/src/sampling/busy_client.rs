//! A client that works before it sends: it runs much code over some megabytes of memory, as programs do between two
//! batches. A sender that only waits leaves the server's code and data in the caches.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The memory that is gone over, in words of four bytes: 4 MiB, more than a second-level cache.
const WORDS: usize = 1 << 20;
/// Steps between two looks at the clock.
const STRIDE: usize = 16;
const ROWS: usize = 64;
const COLUMNS: usize = 32;

/// A step of the work: a few words here and there, and branches that depend on them.
type Step = fn(&mut [u32], u64) -> u64;

/// Work to do between batches.
pub(crate) struct BusyClient {
    memory: Vec<u32>,
    value: u64,
    at: usize,
}

impl BusyClient {
    pub(crate) fn new() -> BusyClient {
        let mut value = 1_u64;
        let mut word = || {
            value = value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (value >> 32) as u32
        };
        BusyClient {
            memory: (0..WORDS).map(|_| word()).collect(),
            value: 1,
            at: 0,
        }
    }

    /// Works for that long.
    pub(crate) fn work(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            for _ in 0..STRIDE {
                // Not one after the other, and none twice before all others.
                self.at = (self.at * 5 + 1) % (ROWS * COLUMNS);
                let row = STEPS.get(self.at / COLUMNS);
                if let Some(step) = row.and_then(|row| row.get(self.at % COLUMNS)) {
                    self.value = step(black_box(&mut self.memory), self.value);
                }
            }
        }
    }
}

/// Much the same for every row and column, and yet other code for each.
#[inline(never)]
fn step<const ROW: u32, const COLUMN: u32>(memory: &mut [u32], mut value: u64) -> u64 {
    let number = ROW * 32 + COLUMN;
    let mut place = value.wrapping_mul(2_654_435_761 + u64::from(number)) >> 16;
    for turn in 0..4 {
        let Some(word) = memory.get_mut(place as usize % WORDS) else {
            return value;
        };
        let read = *word;
        value = match read >> 28 {
            0..4 => value.wrapping_add(u64::from(read ^ number)),
            4..8 => value
                .wrapping_mul(u64::from(number | 1))
                .rotate_left(COLUMN),
            8..12 => value ^ (u64::from(read) << (ROW % 32)),
            _ => value.wrapping_sub(u64::from(read / (number + 3 + turn))),
        };
        *word = read.rotate_left(7) ^ value as u32;
        place = place.wrapping_add(value % 65_536);
    }
    value.wrapping_add(u64::from(number))
}

/// The steps of one row.
struct Row<const ROW: u32>;

macro_rules! row {
    ($($column:literal)*) => {
        impl<const ROW: u32> Row<ROW> {
            const STEPS: [Step; COLUMNS] = [$(step::<ROW, $column>),*];
        }
    };
}

macro_rules! rows {
    ($($row:literal)*) => {
        /// The steps: more code than a processor keeps close at hand.
        static STEPS: [[Step; COLUMNS]; ROWS] = [$(Row::<$row>::STEPS),*];
    };
}

row! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
}

rows! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
    35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::BusyClient;

    #[test]
    fn busy_client_works_for_its_time_over_all_its_memory() {
        let mut busy = BusyClient::new();
        let before = busy.memory.clone();
        let time = Duration::from_millis(5);
        // Others may have the processor: one turn may be a few steps only.
        let is_enough = (0..1000).any(|_| {
            let start = Instant::now();
            busy.work(time);
            assert!(start.elapsed() >= time);
            let changed = before.iter().zip(&busy.memory).filter(|(a, b)| a != b);
            changed.count() > 1000
        });
        assert!(is_enough);
    }
}
