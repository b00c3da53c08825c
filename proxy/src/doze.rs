//! A thread's rest between looks, which ends early when there is something to see.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// The rest of one thread, shared with those who may end it.
#[derive(Debug, Default)]
pub(crate) struct Doze {
    dozing: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Doze {
    /// Rests until `stir`, for `longest` at most; true where it was stirred. To be called by one
    /// thread only.
    pub(crate) fn rest(&self, longest: Duration) -> bool {
        self.thread.get_or_init(thread::current);
        self.dozing.store(true, Ordering::Release);
        thread::park_timeout(longest);
        !self.dozing.swap(false, Ordering::Relaxed)
    }

    /// Ends the rest. Where there is none it costs one look: a stir that falls between that look
    /// and a rest that begins is lost.
    pub(crate) fn stir(&self) {
        if self.dozing.load(Ordering::Relaxed)
            && self.dozing.swap(false, Ordering::Acquire)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn a_rest_ends_when_it_is_stirred() {
        let doze = Arc::new(Doze::default());
        let resting = Arc::clone(&doze);
        let thread = thread::spawn(move || {
            let start = Instant::now();
            assert!(resting.rest(Duration::from_secs(60)));
            start.elapsed()
        });
        while !thread.is_finished() {
            doze.stir();
            thread::yield_now();
        }
        assert!(thread.join().unwrap() < Duration::from_secs(30));
    }

    #[test]
    fn nobody_rests_for_longer_than_asked() {
        let doze = Doze::default();
        doze.stir();
        assert!(!doze.rest(Duration::from_millis(1)));
        assert!(!doze.dozing.load(Ordering::Relaxed));
    }
}
