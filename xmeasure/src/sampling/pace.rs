//! The processor's present speed. If its core is shared (with another thread, or on a virtual machine with another
//! guest), the same work takes up to twice as long, and the kernel charges all of it. So a short piece of constant work
//! is timed again and again: a look.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use x11prof_cost_model::{Micros, Pace};

use crate::sampling::rounding::rounded;
use crate::server::process::Pinned;

/// The power of the mean of a few looks that a batch's time depends on, until its own readings give one: the middle of
/// a calibration's loads. A few looks are uncertain, so the power is less than that of many (docs/CALIBRATION.md,
/// "Pace").
pub(crate) const OF_FEW_LOOKS: f64 = 0.8;
/// The power of many looks, over a second or more, that the time of a server's work depends on.
pub(crate) const OF_MANY_LOOKS: f64 = 1.15;
/// Words of memory that the work reads: half of a first-level cache.
const WORDS: usize = 4096;
/// The steps of a look: about two microseconds.
const STEPS: usize = 2048;
/// Looks that are kept; beyond them every second is left out, again and again.
const LOOKS_LIMIT: usize = 1 << 16;
/// The share of looks that are as fast as the fastest of them: an undisturbed processor's.
const UNDISTURBED: f64 = 0.05;

/// The constant work, and its times.
pub(crate) struct Looks {
    memory: Vec<u32>,
    took: Vec<f64>,
    /// One look in `stride` is kept.
    stride: usize,
    looked: usize,
}

impl Looks {
    pub(crate) fn new() -> Looks {
        let words = 0..WORDS as u32;
        Looks {
            memory: words.map(|word| word.wrapping_mul(2_654_435_761)).collect(),
            took: Vec::new(),
            stride: 1,
            looked: 0,
        }
    }

    /// Does the work twice, the first time to have it in the caches; returns the second time.
    pub(crate) fn look(&mut self) -> Duration {
        self.work();
        let before = thread_time();
        self.work();
        let took = thread_time().saturating_sub(before);
        self.keep(took);
        took
    }

    fn keep(&mut self, took: Duration) {
        self.looked += 1;
        if !self.looked.is_multiple_of(self.stride) {
            return;
        }
        self.took.push(took.as_secs_f64() * 1e6);
        if self.took.len() >= LOOKS_LIMIT {
            let mut every_second = false;
            self.took.retain(|_| {
                every_second = !every_second;
                every_second
            });
            self.stride *= 2;
        }
    }

    /// Reads and branches that depend on them, as a server's work is made of.
    fn work(&self) {
        let (mut sum, mut mixed, mut odd) = (1_u64, 2_u64, 3_u64);
        let at = |index: usize| u64::from(self.memory.get(index % WORDS).copied().unwrap_or(0));
        for step in 0..STEPS {
            sum = sum.wrapping_add(at(step * 7));
            mixed ^= at(step * 13 + 5);
            if at(step) >> 30 == 1 {
                odd = odd.wrapping_add(sum);
            } else {
                odd ^= mixed;
            }
        }
        black_box((sum, mixed, odd));
    }

    /// The fastest and the mean; `None` without looks.
    pub(crate) fn pace(&self) -> Option<Pace> {
        let mut sorted = self.took.clone();
        sorted.sort_by(f64::total_cmp);
        let fastest = *sorted.get((sorted.len() as f64 * UNDISTURBED) as usize)?;
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Some(Pace {
            fastest_us: Micros(rounded(fastest, 5)),
            mean_us: Micros(rounded(mean, 5)),
            at_us: None,
        })
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or_default(),
        time.tv_nsec.try_into().unwrap_or_default(),
    )
}

/// Looks at a processor while something else runs there.
pub(crate) struct PaceWatch {
    shared: Arc<PaceWatchState>,
    /// `None` once the thread has been joined.
    thread: Option<JoinHandle<Looks>>,
}

/// The state shared by the looking thread and its owner.
#[derive(Default)]
struct PaceWatchState {
    stop: AtomicBool,
    looks: AtomicU64,
    nanoseconds: AtomicU64,
}

/// The number of looks up to a moment, and their time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looked {
    looks: u64,
    nanoseconds: u64,
}

impl Looked {
    /// The mean duration of a look between `before` and now, in microseconds; `None` without one.
    pub(crate) fn since(self, before: Looked) -> Option<f64> {
        let looks = self.looks.saturating_sub(before.looks);
        let nanoseconds = self.nanoseconds.saturating_sub(before.nanoseconds);
        (looks > 0).then(|| nanoseconds as f64 / looks as f64 / 1e3)
    }
}

impl PaceWatch {
    /// Looks at processor `cpu` at this interval, each time for some five microseconds.
    pub(crate) fn start(cpu: usize, interval: Duration) -> PaceWatch {
        let shared = Arc::new(PaceWatchState::default());
        let told = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut looks = Looks::new();
            if Pinned::move_sender(cpu).is_ok() {
                while !told.stop.load(Ordering::Relaxed) {
                    let took = u64::try_from(looks.look().as_nanos()).unwrap_or_default();
                    told.nanoseconds.fetch_add(took, Ordering::Relaxed);
                    told.looks.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(interval);
                }
            }
            looks
        });
        PaceWatch {
            shared,
            thread: Some(thread),
        }
    }

    /// The looks so far.
    pub(crate) fn so_far(&self) -> Looked {
        Looked {
            looks: self.shared.looks.load(Ordering::Relaxed),
            nanoseconds: self.shared.nanoseconds.load(Ordering::Relaxed),
        }
    }

    /// Stops looking, and returns the pace; `None` if the processor cannot be had.
    pub(crate) fn finish(mut self) -> Option<Pace> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()?.pace()
    }
}

impl Drop for PaceWatch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{LOOKS_LIMIT, Looks};

    #[test]
    fn a_pace_is_of_the_fastest_and_of_all() {
        let mut looks = Looks::new();
        assert!(looks.pace().is_none());
        looks.look();
        assert!(looks.took[0] > 0.0);
        looks.took = [vec![10.0; 50], vec![20.0; 50]].concat();
        let pace = looks.pace().unwrap();
        assert_eq!((pace.fastest_us.0, pace.mean_us.0), (10.0, 15.0));
    }

    #[test]
    fn many_looks_are_thinned_out() {
        let mut looks = Looks::new();
        looks.took = vec![10.0; LOOKS_LIMIT - 1];
        looks.look();
        assert_eq!((looks.took.len(), looks.stride), (LOOKS_LIMIT / 2, 2));
        looks.look();
        looks.look();
        assert_eq!(looks.took.len(), LOOKS_LIMIT / 2 + 1);
    }
}
