//! The queue from the relay to the recorder's thread.
//!
//! The relay pushes blocks and continues. The fuller the queue is, the smaller is the part of the messages' bodies that
//! it keeps; the relay waits only if the queue exceeds its limit. Only a large amount of data wakes the recorder, not a
//! single message. The recorder checks the queue often enough without being woken.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use x11prof_trace::{
    Control, ExistingDrawable, ExistingWindow, Gap, HandlerTime, Record, Switch, Timestamp,
};

use crate::recorder::omission::Level;

/// The default limit of the queue of records, in bytes.
pub const DEFAULT_QUEUE_BYTES: usize = 256 << 20;
/// The recorder is woken when this many bytes wait, while they are still in the caches.
const WAKE_AT: usize = 1 << 20;
/// The queue must have been short for this long before short images are kept again. Otherwise the recorder would
/// compress as many images as it can, and use a processor that other programs need.
const CALM_NS: u64 = 1_000_000_000;
/// The estimated memory of an entry in bytes, in addition to its content.
const ENTRY_COST: usize = 128;
/// The estimated memory of an atom's name in bytes.
const ATOM_COST: usize = 64;

/// The memory that a record occupies in the queue, in bytes.
pub(crate) fn memory(record: &Record) -> usize {
    ENTRY_COST
        + match record {
            Record::Block(block) => block.bytes.len() + size_of::<Gap>() * block.gaps.len(),
            Record::Control(_, control) => held_by(control),
            Record::Schedule(switches) => size_of::<Switch>() * switches.len(),
            Record::HandlerTimes(times) => size_of::<HandlerTime>() * times.len(),
        }
}

/// The memory of a control record's longest texts. Other records have none, or only short ones.
fn held_by(control: &Control) -> usize {
    let words = |words: &[String]| {
        words
            .iter()
            .map(|word| size_of::<String>() + word.len())
            .sum()
    };
    match control {
        Control::Opened(opened) => words(&opened.command),
        Control::Closed { why: Some(why), .. } => why.len(),
        Control::Trouble { what: text }
        | Control::Mark { text }
        | Control::Hole { why: text, .. } => text.len(),
        Control::Existing(existing) => {
            size_of::<ExistingWindow>() * existing.windows.len()
                + size_of::<ExistingDrawable>() * existing.pixmaps.len()
                + ATOM_COST * existing.atoms.len()
        }
        _ => 0,
    }
}

#[derive(Debug, Default)]
struct RecordQueue {
    waiting: Mutex<Waiting>,
    much: Condvar,
    /// The number of bytes in `waiting` and in entries that the recorder is processing.
    held: AtomicUsize,
    limit: usize,
    full: bool,
    /// Short images are omitted until this time, in nanoseconds.
    busy_until: AtomicU64,
    /// The number of bytes omitted because the queue was filling.
    pressed: AtomicU64,
    /// Nanoseconds for which the relay has waited for space.
    waited: AtomicU64,
    closed: AtomicBool,
    /// True if the relay may not wait for space any more.
    hurried: AtomicBool,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: Vec<Record>,
    cost: usize,
    /// The time of the last block.
    time: Timestamp,
}

/// The sending end of the queue. Clones send to the same queue.
#[derive(Debug, Clone)]
pub(crate) struct RecordSender(Arc<RecordQueue>);

/// The receiving end of the queue, for the recorder's thread.
#[derive(Debug)]
pub(crate) struct RecordReceiver(Arc<RecordQueue>);

/// Creates a queue with a limit of `limit` bytes, which at most one read of each connection can exceed. With `full`,
/// all bytes are kept, and the relay waits instead of omitting bytes.
pub(crate) fn record_queue(limit: usize, full: bool) -> (RecordSender, RecordReceiver) {
    let shared = Arc::new(RecordQueue {
        limit,
        full,
        ..RecordQueue::default()
    });
    (RecordSender(Arc::clone(&shared)), RecordReceiver(shared))
}

fn lock(shared: &RecordQueue) -> MutexGuard<'_, Waiting> {
    // A push or a swap is one step, so the queue is consistent even if its holder panicked.
    shared
        .waiting
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

impl RecordSender {
    /// Adds a record without waiting. Blocks are ordered by time: if another thread has pushed a block with a later
    /// time, this block gets that time.
    pub(crate) fn push(&self, mut entry: Record) {
        let cost = memory(&entry);
        self.0.held.fetch_add(cost, Ordering::Relaxed);
        let mut waiting = lock(&self.0);
        if let Record::Block(block) = &mut entry {
            block.time = block.time.max(waiting.time);
            waiting.time = block.time;
        }
        let before = waiting.cost;
        waiting.cost += cost;
        waiting.entries.push(entry);
        if before < WAKE_AT && waiting.cost >= WAKE_AT {
            self.0.much.notify_one();
        }
    }

    /// Adds a control record with this time.
    pub(crate) fn control(&self, time: Timestamp, control: Control) {
        self.push(Record::Control(time, control));
    }

    /// The kinds of bytes to omit at `now`. The level rises as the queue fills: from 1/32 of the limit, and for some
    /// time afterwards, short images are also omitted; from 1/4, long bodies of all messages; from 1/2, all bodies
    /// and context switches ([`is_for_headers`](RecordSender::is_for_headers)).
    pub(crate) fn level(&self, now: Timestamp) -> Level {
        if self.0.full {
            return Level::Secrets;
        }
        let held = self.0.held.load(Ordering::Relaxed);
        if held >= self.0.limit / 32 {
            let until = now.as_nanos().saturating_add(CALM_NS);
            self.0.busy_until.store(until, Ordering::Relaxed);
        }
        match self.0.limit {
            limit if held >= limit / 2 => Level::Bodies,
            limit if held >= limit / 4 => Level::LongBodies,
            _ if now.as_nanos() < self.0.busy_until.load(Ordering::Relaxed) => Level::AllImages,
            _ => Level::Images,
        }
    }

    /// True if the remaining space is reserved for the headers of messages, because the relay would have to wait for
    /// them: from half of the limit on; with `full`, if the queue is full.
    pub(crate) fn is_for_headers(&self) -> bool {
        let room = if self.0.full {
            self.0.limit
        } else {
            self.0.limit / 2
        };
        self.0.held.load(Ordering::Relaxed) >= room
    }

    /// Adds to the number of bytes that were omitted because the queue was filling.
    pub(crate) fn left_out_under_pressure(&self, bytes: u64) {
        self.0.pressed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds to the time for which the relay waited for space, in nanoseconds.
    pub(crate) fn waited(&self, ns: u64) {
        self.0.waited.fetch_add(ns, Ordering::Relaxed);
    }

    /// A sentence about the data that a full queue has lost; `None` if there is none.
    pub(crate) fn loss_summary(&self) -> Option<String> {
        let pressed = self.0.pressed.load(Ordering::Relaxed);
        let waited = Duration::from_nanos(self.0.waited.load(Ordering::Relaxed));
        let left = format!(
            "{:.1} MB of longer messages were left out",
            pressed as f64 / 1e6
        );
        let slowed = format!("the program was held up for {:.3} s", waited.as_secs_f64());
        let what = match (pressed, waited) {
            (0, Duration::ZERO) => return None,
            (_, Duration::ZERO) => left,
            (0, _) => slowed,
            _ => format!("{left}, and {slowed}"),
        };
        Some(format!(
            "the disk or the processors were too slow for the recording: {what}"
        ))
    }

    /// True if the records in the queue have reached its limit.
    pub(crate) fn is_full(&self) -> bool {
        self.0.held.load(Ordering::Acquire) >= self.0.limit
    }

    /// Waits until the queue has space again, or until waiting is no longer allowed.
    pub(crate) fn await_room(&self) {
        let mut waiting = lock(&self.0);
        while self.is_full() && !self.0.hurried.load(Ordering::Acquire) {
            waiting = self
                .0
                .room
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends all waits for space, before the connections are shut down.
    pub(crate) fn hurry(&self) {
        // The lock ensures that no thread misses the change between its check and its wait.
        let _waiting = lock(&self.0);
        self.0.hurried.store(true, Ordering::Release);
        self.0.room.notify_all();
    }

    /// Closes the queue. The recorder ends after the last record.
    pub(crate) fn close(&self) {
        // The lock ensures that the recorder does not miss the change between its check and its wait.
        let _waiting = lock(&self.0);
        self.0.closed.store(true, Ordering::Release);
        self.0.much.notify_one();
    }
}

impl RecordReceiver {
    /// Moves the waiting records to `entries`, whose old contents are dropped. Waits at most `patience` for records.
    /// Returns false once the queue is closed and empty.
    pub(crate) fn take(&self, entries: &mut Vec<Record>, patience: Duration) -> bool {
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

    /// Releases the memory of processed records; `cost` is their memory in bytes.
    pub(crate) fn release(&self, cost: usize) {
        let before = self.0.held.fetch_sub(cost, Ordering::AcqRel);
        if before >= self.0.limit && before - cost.min(before) < self.0.limit {
            let _waiting = lock(&self.0);
            self.0.room.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use x11prof_trace::{Block, ConnectionId, Direction};

    fn entry(len: usize) -> Record {
        Record::Block(Block {
            time: Timestamp::from_nanos(1),
            connection: ConnectionId(1),
            direction: Direction::ToServer,
            offset: 0,
            wire_len: len as u32,
            fds: 0,
            gaps: Vec::new(),
            bytes: Bytes::from(vec![0; len]),
        })
    }

    #[test]
    fn entries_arrive_in_order_before_the_end() {
        let (sender, drain) = record_queue(1000, false);
        for n in 0..10 {
            sender.push(entry(n));
        }
        sender.close();
        let mut entries = Vec::new();
        assert!(drain.take(&mut entries, Duration::ZERO));
        let costs: Vec<_> = entries.iter().map(|e| memory(e) - ENTRY_COST).collect();
        assert_eq!(costs, (0..10).collect::<Vec<_>>());
        assert!(!drain.take(&mut entries, Duration::ZERO));
    }

    #[test]
    fn fuller_queue_keeps_fewer_bytes() {
        let (queue, drain) = record_queue(4000, false);
        let levels: Vec<Level> = (0..4)
            .map(|_| {
                queue.push(entry(1000 - ENTRY_COST));
                queue.level(Timestamp::from_nanos(5))
            })
            .collect();
        let expected = [
            Level::LongBodies,
            Level::Bodies,
            Level::Bodies,
            Level::Bodies,
        ];
        assert_eq!(levels, expected);
        assert!(queue.is_for_headers());
        drain.release(3500);
        let (soon, later) = (
            Timestamp::from_nanos(6),
            Timestamp::from_nanos(2_000_000_000),
        );
        drain.release(500);
        assert_eq!(queue.level(soon), Level::AllImages);
        assert_eq!(queue.level(later), Level::Images);
        assert!(!queue.is_for_headers());
        assert_eq!(queue.loss_summary(), None);
        queue.left_out_under_pressure(2_500_000);
        assert!(
            queue
                .loss_summary()
                .unwrap()
                .ends_with("2.5 MB of longer messages were left out")
        );
        let (queue, _drain) = record_queue(0, true);
        assert_eq!(queue.level(soon), Level::Secrets);
    }

    #[test]
    fn control_records_count_by_size() {
        let opened = |words: usize| {
            let opened = x11prof_trace::Opened {
                connection: ConnectionId(1),
                transport: "unix".to_owned(),
                pid: None,
                name: None,
                command: vec!["x".repeat(1000); words],
                started_ns: None,
            };
            memory(&Record::Control(
                Timestamp::default(),
                Control::Opened(opened),
            ))
        };
        assert!(opened(60) > 60_000 && opened(0) == ENTRY_COST);
    }

    #[test]
    fn full_queue_blocks_the_relay_until_memory_is_released() {
        let (sender, drain) = record_queue(1000, false);
        sender.push(entry(800));
        assert!(!sender.is_full());
        sender.push(entry(500));
        assert!(sender.is_full());
        let recorder = std::thread::spawn(move || {
            let mut entries = Vec::new();
            while drain.take(&mut entries, Duration::from_millis(5)) {
                entries
                    .iter()
                    .for_each(|entry| drain.release(memory(entry)));
            }
        });
        sender.await_room();
        assert!(!sender.is_full());
        sender.close();
        recorder.join().unwrap();
    }

    #[test]
    fn relay_never_blocks_during_shutdown() {
        let (sender, _drain) = record_queue(100, false);
        sender.push(entry(800));
        let relay = std::thread::spawn({
            let sender = sender.clone();
            move || sender.await_room()
        });
        sender.hurry();
        relay.join().unwrap();
        assert!(sender.is_full());
    }

    #[test]
    fn block_times_never_decrease() {
        let (sender, drain) = record_queue(1000, false);
        for time in [5, 3, 7] {
            let Record::Block(mut block) = entry(0) else {
                continue;
            };
            block.time = Timestamp::from_nanos(time);
            sender.push(Record::Block(block));
        }
        let mut entries = Vec::new();
        drain.take(&mut entries, Duration::ZERO);
        let times: Vec<_> = entries
            .iter()
            .map(|entry| match entry {
                Record::Block(block) => block.time.as_nanos(),
                _ => 0,
            })
            .collect();
        assert_eq!(times, [5, 5, 7]);
    }
}
