//! A second consumer of the recorder's records, for a view of the running recording.
//!
//! The recorder hands them over without waiting. A watcher that falls too far behind misses
//! some, which is counted; the trace has them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use x11prof_trace::Record;

/// Bytes of records that may wait for the watcher.
const LIMIT: usize = 64 << 20;

#[derive(Debug, Default)]
struct WatchQueue {
    held: AtomicUsize,
    missed: AtomicU64,
}

/// The recorder's end. The watcher's ends once all of them are dropped.
#[derive(Debug, Clone)]
pub struct Watch {
    records: Sender<(usize, Record)>,
    shared: Arc<WatchQueue>,
}

/// The watcher's end.
#[derive(Debug)]
pub struct Watched {
    records: Receiver<(usize, Record)>,
    shared: Arc<WatchQueue>,
}

/// An event for a watcher.
#[derive(Debug)]
pub enum WatchEvent {
    /// The next record.
    Record(Record),
    /// The time was over before a record came.
    Nothing,
    /// The recording has ended.
    End,
}

/// The two ends of a watch.
pub fn watch() -> (Watch, Watched) {
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::new(WatchQueue::default());
    let watch = Watch {
        records: sender,
        shared: Arc::clone(&shared),
    };
    let watched = Watched {
        records: receiver,
        shared,
    };
    (watch, watched)
}

impl Watch {
    /// Offers a record that costs N bytes of memory; `make` is called if there is room.
    pub(crate) fn offer(&self, cost: usize, make: impl FnOnce() -> Record) {
        let held = self.shared.held.fetch_add(cost, Ordering::Relaxed);
        // A failed send means that nobody watches any more.
        if held > LIMIT || self.records.send((cost, make())).is_err() {
            self.shared.held.fetch_sub(cost, Ordering::Relaxed);
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Watched {
    /// Returns the next record, and waits for it at most `patience`.
    pub fn next(&self, patience: Duration) -> WatchEvent {
        match self.records.recv_timeout(patience) {
            Ok((cost, record)) => {
                self.shared.held.fetch_sub(cost, Ordering::Relaxed);
                WatchEvent::Record(record)
            }
            Err(RecvTimeoutError::Timeout) => WatchEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => WatchEvent::End,
        }
    }

    /// Records missed so far.
    pub fn missed(&self) -> u64 {
        self.shared.missed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, WatchEvent, watch};
    use std::time::Duration;
    use x11prof_trace::{Control, Record, Timestamp};

    fn mark() -> Record {
        let text = String::new();
        Record::Control(Timestamp::from_nanos(1), Control::Mark { text })
    }

    #[test]
    fn a_watcher_that_is_behind_misses_records_and_the_recorder_goes_on() {
        let (watch, watched) = watch();
        watch.offer(LIMIT, mark);
        watch.offer(LIMIT, mark);
        watch.offer(1, || panic!("there is no room"));
        assert_eq!(watched.missed(), 1);
        let next = || watched.next(Duration::ZERO);
        assert!(matches!(next(), WatchEvent::Record(_)));
        assert!(matches!(next(), WatchEvent::Record(_)));
        assert!(matches!(next(), WatchEvent::Nothing));
        watch.offer(1, mark);
        assert!(matches!(next(), WatchEvent::Record(_)));
        drop(watch);
        assert!(matches!(next(), WatchEvent::End));
    }
}
