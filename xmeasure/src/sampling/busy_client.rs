//! A client that works before it sends, as programs do between two batches. If the sender only waited, the server's
//! data would stay in the caches.

use std::time::{Duration, Instant};

/// The size of the accessed memory in words of four bytes: 4 MiB, which is more than a second-level cache.
const WORDS: usize = 1 << 20;
/// The number of words in a cache line.
const LINE: usize = 16;
/// The number of cache lines between two clock readings.
const STRIDE: usize = 64;

/// The memory that the client works on between batches.
pub(crate) struct BusyClient {
    memory: Vec<u32>,
    at: usize,
}

impl BusyClient {
    pub(crate) fn new() -> BusyClient {
        BusyClient {
            memory: vec![1; WORDS],
            at: 0,
        }
    }

    /// Keeps the processor busy for `time`.
    pub(crate) fn work(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time {
            for _ in 0..STRIDE {
                self.at = (self.at + LINE) % WORDS;
                if let Some(word) = self.memory.get_mut(self.at) {
                    *word = word.wrapping_mul(3);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::BusyClient;

    #[test]
    fn busy_client_runs_for_the_set_time_and_touches_memory() {
        let mut busy = BusyClient::new();
        let time = Duration::from_millis(5);
        let start = Instant::now();
        busy.work(time);
        assert!(start.elapsed() >= time);
        assert!(busy.memory.iter().any(|word| *word != 1));
    }
}
