//! Polls for the next message of a relay's two peers before the relay sleeps.
//!
//! A sleeping thread wakes about ten microseconds late, twice in each round trip of a client. Polling keeps a processor
//! busy. So only one relay at a time polls, only with two or more processors and while polling is successful, and it
//! yields to other threads on its processor.

use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::sockets::socket::{Socket, await_any};

/// The maximum duration of polling. Most replies and most next requests arrive faster.
const LOOK: Duration = Duration::from_micros(100);

/// True if there is a processor to spare.
static SPARE: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// The waiting strategy of one relay: it polls or sleeps.
pub(crate) struct SpinWait<'a> {
    /// True while a relay polls.
    taken: &'a AtomicBool,
    looks: bool,
    /// True if the last wait was short, or if there was none yet.
    pays: bool,
    since: Option<Instant>,
}

impl<'a> SpinWait<'a> {
    /// Creates the strategy of a relay. All relays share `taken`, which is true while one of them polls.
    pub(crate) fn new(taken: &'a AtomicBool) -> SpinWait<'a> {
        SpinWait {
            taken,
            looks: false,
            pays: *SPARE,
            since: None,
        }
    }

    /// Notes that bytes have arrived.
    pub(crate) fn seen(&mut self) {
        self.since = None;
    }

    /// Waits after none of the sockets was ready. Returns at once while polling is worthwhile; otherwise returns when
    /// one of the sockets is ready.
    pub(crate) fn wait<'s>(
        &mut self,
        wanted: impl Iterator<Item = (&'s Socket, PollFlags)> + Clone,
    ) -> io::Result<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        // A receiver that does not accept its bytes is busy.
        let full = || wanted.clone().any(|(_, flags)| flags == PollFlags::OUT);
        if self.pays && since.elapsed() < LOOK && self.has_place() && !full() {
            thread::yield_now();
            return Ok(());
        }
        self.give_way();
        await_any(wanted, None)?;
        self.pays = *SPARE && since.elapsed() < 2 * LOOK;
        self.since = None;
        Ok(())
    }

    fn has_place(&mut self) -> bool {
        self.looks = self.looks || !self.taken.swap(true, Ordering::Relaxed);
        self.looks
    }

    fn give_way(&mut self) {
        if std::mem::take(&mut self.looks) {
            self.taken.store(false, Ordering::Relaxed);
        }
    }
}

impl Drop for SpinWait<'_> {
    fn drop(&mut self) {
        self.give_way();
    }
}
