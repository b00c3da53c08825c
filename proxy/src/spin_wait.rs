//! How a relay waits for the next message of its two peers: it looks for a while before it sleeps.
//!
//! A thread that sleeps is woken some ten microseconds late, twice for each question that a client
//! asks and waits for. Looking costs a processor: one relay at a time does it, where there are two
//! processors, only as long as it pays, and it yields to whoever else wants to run there.

use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::socket::{Socket, await_any};

/// How long it looks: what most answers and most next questions take.
const LOOK: Duration = Duration::from_micros(100);

/// Whether there is a processor to spare.
static SPARE: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// One relay's waiting.
pub(crate) struct SpinWait<'a> {
    /// Somebody looks.
    taken: &'a AtomicBool,
    looks: bool,
    /// The last wait was short, or there was none yet.
    pays: bool,
    since: Option<Instant>,
}

impl<'a> SpinWait<'a> {
    /// One that has its place at `taken`, with the other relays.
    pub(crate) fn new(taken: &'a AtomicBool) -> SpinWait<'a> {
        SpinWait {
            taken,
            looks: false,
            pays: *SPARE,
            since: None,
        }
    }

    /// Something came.
    pub(crate) fn seen(&mut self) {
        self.since = None;
    }

    /// Nothing is there: returns at once while it is worth to look again, else once one of the
    /// sockets is as it is wanted.
    pub(crate) fn wait<'s>(
        &mut self,
        wanted: impl Iterator<Item = (&'s Socket, PollFlags)> + Clone,
    ) -> io::Result<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        // Who does not take what is sent is busy with it.
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
