//! The queue from the relay to the recorder's thread.
//!
//! The relay pushes shared buffers and goes on; it waits only where the queue holds more bytes
//! than it may. The recorder is woken when much has come, and looks by itself often enough
//! that a message costs no wakeup of its own.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use x11prof_trace::{ConnectionId, Control, Direction, Switch, Timestamp};

/// How many bytes the queue holds by default.
pub const DEFAULT_QUEUE_BYTES: usize = 256 << 20;
/// The recorder is woken when this many bytes wait, while they are still in the caches.
const WAKE_AT: usize = 1 << 20;
/// What an entry costs beside its bytes.
const ENTRY_COST: usize = 128;

/// What the recorder is told.
#[derive(Debug)]
pub(crate) enum Entry {
    Bytes(Crossing),
    Control(Timestamp, Control),
    Schedule(Vec<Switch>),
}

/// Bytes that crossed the relay.
#[derive(Debug)]
pub(crate) struct Crossing {
    pub(crate) time: Timestamp,
    pub(crate) connection: ConnectionId,
    pub(crate) direction: Direction,
    pub(crate) bytes: Bytes,
    /// How many descriptors came with them.
    pub(crate) fds: usize,
    /// Bytes that are secret, empty where none are.
    pub(crate) secret: Range<usize>,
}

impl Entry {
    /// What it holds of the queue's bound.
    pub(crate) fn cost(&self) -> usize {
        ENTRY_COST
            + match self {
                Entry::Bytes(crossing) => crossing.bytes.len(),
                Entry::Control(..) => 0,
                Entry::Schedule(switches) => size_of::<Switch>() * switches.len(),
            }
    }
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    much: Condvar,
    /// Bytes in `waiting` and in the recorder's hands.
    held: AtomicUsize,
    limit: usize,
    closed: AtomicBool,
    room: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: Vec<Entry>,
    cost: usize,
}

/// The end that pushes; clones push to the same queue.
#[derive(Debug, Clone)]
pub(crate) struct Tap(Arc<Shared>);

/// The recorder's end.
#[derive(Debug)]
pub(crate) struct Drain(Arc<Shared>);

/// A queue that holds `limit` bytes, more by one read of each connection at most.
pub(crate) fn tap(limit: usize) -> (Tap, Drain) {
    let shared = Arc::new(Shared {
        limit,
        ..Shared::default()
    });
    (Tap(Arc::clone(&shared)), Drain(shared))
}

fn lock(shared: &Shared) -> MutexGuard<'_, Waiting> {
    // A push or a swap is one step: the queue is whole even if its holder panicked.
    shared
        .waiting
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

impl Tap {
    /// Adds an entry without waiting.
    pub(crate) fn push(&self, entry: Entry) {
        let cost = entry.cost();
        self.0.held.fetch_add(cost, Ordering::Relaxed);
        let mut waiting = lock(&self.0);
        let before = waiting.cost;
        waiting.cost += cost;
        waiting.entries.push(entry);
        if before < WAKE_AT && waiting.cost >= WAKE_AT {
            self.0.much.notify_one();
        }
    }

    /// Adds a control record.
    pub(crate) fn control(&self, time: Timestamp, control: Control) {
        self.push(Entry::Control(time, control));
    }

    /// True where the queue holds all that it may.
    pub(crate) fn is_full(&self) -> bool {
        self.0.held.load(Ordering::Acquire) >= self.0.limit
    }

    /// Waits until the queue has room again.
    pub(crate) async fn room(&self) {
        while self.is_full() {
            let notified = self.0.room.notified();
            tokio::pin!(notified);
            // Enabled before the second look, or the recorder's word could fall between.
            notified.as_mut().enable();
            if !self.is_full() {
                return;
            }
            notified.await;
        }
    }

    /// Lets the recorder end once it has seen all entries.
    pub(crate) fn close(&self) {
        // Under the lock, so that the recorder cannot miss it between its look and its wait.
        let _waiting = lock(&self.0);
        self.0.closed.store(true, Ordering::Release);
        self.0.much.notify_one();
    }
}

impl Drain {
    /// Swaps what waits into `entries`, which is emptied first; waits for something at most
    /// `patience`. False once the queue is closed and empty.
    pub(crate) fn take(&self, entries: &mut Vec<Entry>, patience: Duration) -> bool {
        entries.clear();
        let mut waiting = lock(&self.0);
        if waiting.cost < WAKE_AT && !self.0.closed.load(Ordering::Acquire) {
            waiting = self
                .0
                .much
                .wait_timeout(waiting, patience)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        waiting.cost = 0;
        std::mem::swap(&mut waiting.entries, entries);
        !(entries.is_empty() && self.0.closed.load(Ordering::Acquire))
    }

    /// Says that entries of this cost were dealt with.
    pub(crate) fn release(&self, cost: usize) {
        let before = self.0.held.fetch_sub(cost, Ordering::AcqRel);
        if before >= self.0.limit && before - cost.min(before) < self.0.limit {
            self.0.room.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(len: usize) -> Entry {
        Entry::Bytes(Crossing {
            time: Timestamp::from_nanos(1),
            connection: ConnectionId(1),
            direction: Direction::ToServer,
            bytes: Bytes::from(vec![0; len]),
            fds: 0,
            secret: 0..0,
        })
    }

    #[test]
    fn entries_come_out_in_order_and_then_the_end() {
        let (tap, drain) = tap(1000);
        for n in 0..10 {
            tap.push(entry(n));
        }
        tap.close();
        let mut entries = Vec::new();
        assert!(drain.take(&mut entries, Duration::ZERO));
        let costs: Vec<_> = entries.iter().map(|e| e.cost() - ENTRY_COST).collect();
        assert_eq!(costs, (0..10).collect::<Vec<_>>());
        assert!(!drain.take(&mut entries, Duration::ZERO));
    }

    #[test]
    fn a_full_queue_makes_the_relay_wait_until_the_recorder_lets_go() {
        let (tap, drain) = tap(1000);
        tap.push(entry(800));
        assert!(!tap.is_full());
        tap.push(entry(500));
        assert!(tap.is_full());
        let recorder = std::thread::spawn(move || {
            let mut entries = Vec::new();
            while drain.take(&mut entries, Duration::from_millis(5)) {
                entries.iter().for_each(|entry| drain.release(entry.cost()));
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(tap.room());
        assert!(!tap.is_full());
        tap.close();
        recorder.join().unwrap();
    }
}
