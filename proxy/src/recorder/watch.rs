//! A second consumer of the recorder's records, for a live view of the recording.
//!
//! The recorder passes records to the consumer without waiting. A consumer that falls too far behind misses records,
//! which are counted. The trace contains all records.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use x11prof_trace::Record;

/// Maximum number of bytes of records that may wait for the watcher. Control records (for example a mark or a new
/// client) may use twice as much in total, so that a flood of messages does not displace them.
const LIMIT: usize = 64 << 20;

#[derive(Debug, Default)]
struct WatchQueue {
    held: AtomicUsize,
    came: AtomicU64,
    missed: AtomicU64,
}

/// The recorder's end of a watch. The watcher's end finishes after all clones of this end are dropped.
#[derive(Debug, Clone)]
pub struct Watch {
    records: Sender<Offered>,
    shared: Arc<WatchQueue>,
}

/// The watcher's end of a watch, which receives the records.
#[derive(Debug)]
pub struct Watched {
    records: Receiver<Offered>,
    shared: Arc<WatchQueue>,
    missed_before: Cell<u64>,
}

/// A queued record.
#[derive(Debug)]
struct Offered {
    cost: usize,
    /// The number of records missed before this one.
    missed: u64,
    record: Record,
}

/// The result of waiting for a record of a recording.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all events are records, and each is moved once"
)]
pub enum WatchEvent {
    /// The next record of the recording.
    Record(Record),
    /// No record arrived in time.
    Nothing,
    /// The recording has ended.
    End,
}

/// Creates the two ends of a watch: one for the recorder, and one for the watcher.
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
        missed_before: Cell::new(0),
    };
    (watch, watched)
}

impl Watch {
    /// Offers a record that uses `cost` bytes of memory. `make`, which creates the record, is called only if there is
    /// space.
    pub(crate) fn offer(&self, cost: usize, is_control: bool, make: impl FnOnce() -> Record) {
        let held = self.shared.held.fetch_add(cost, Ordering::Relaxed);
        let limit = if is_control { 2 * LIMIT } else { LIMIT };
        let missed = self.shared.missed.load(Ordering::Relaxed);
        let offered = |record| Offered {
            cost,
            missed,
            record,
        };
        // A failed send means that the watcher is gone.
        if held > limit || self.records.send(offered(make())).is_err() {
            self.shared.held.fetch_sub(cost, Ordering::Relaxed);
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        } else {
            self.shared.came.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Watched {
    /// Returns the next record, and waits at most `patience` for it.
    pub fn next(&self, patience: Duration) -> WatchEvent {
        match self.records.recv_timeout(patience) {
            Ok(offered) => {
                self.shared.held.fetch_sub(offered.cost, Ordering::Relaxed);
                self.missed_before.set(offered.missed);
                WatchEvent::Record(offered.record)
            }
            Err(RecvTimeoutError::Timeout) => WatchEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => WatchEvent::End,
        }
    }

    /// The number of records so far that [`next`](Watched::next) has returned or that wait for it.
    pub fn came(&self) -> u64 {
        self.shared.came.load(Ordering::Relaxed)
    }

    /// The number of records that were missed before the last received record.
    pub fn missed_before(&self) -> u64 {
        self.missed_before.get()
    }

    /// The number of records that were missed up to now.
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
    fn slow_watcher_misses_records_without_blocking_the_recorder() {
        let (watch, watched) = watch();
        watch.offer(LIMIT, false, mark);
        watch.offer(1, false, mark);
        watch.offer(1, false, || panic!("there is no room"));
        assert_eq!((watched.came(), watched.missed()), (2, 1));
        let next = || watched.next(Duration::ZERO);
        watch.offer(LIMIT, true, mark);
        watch.offer(1, true, || panic!("there is no room"));
        assert_eq!((watched.missed(), watched.missed_before()), (2, 0));
        assert!(matches!(next(), WatchEvent::Record(_)));
        assert!(matches!(next(), WatchEvent::Record(_)));
        assert_eq!(watched.missed_before(), 0);
        assert!(matches!(next(), WatchEvent::Record(_)));
        assert_eq!(watched.missed_before(), 1);
        assert!(matches!(next(), WatchEvent::Nothing));
        watch.offer(1, false, mark);
        assert!(matches!(next(), WatchEvent::Record(_)));
        drop(watch);
        assert!(matches!(next(), WatchEvent::End));
    }
}
