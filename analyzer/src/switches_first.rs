//! Records with the context switches ahead of what happened meanwhile.
//!
//! The recorder reads the kernel's switches every few milliseconds, so that they stand in a trace
//! after the messages of that time. What wants to know who ran before a message is handed the
//! others that much later; their own order stays.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use x11prof_trace::{Control, Record, TraceError};

/// For how much of the trace's time records wait where no switches are recorded, or none has come yet.
const LATE: u64 = 50_000_000;
/// The same where they are. The recorder reads them every few milliseconds, but on a busy machine it waits for a
/// processor itself, for 0.8 s where there was work for four times as many as it had. Nothing is known of what
/// comes before its switches: a client that waited in poll was taken to wait for the server.
const LATEST: u64 = 2_000_000_000;
/// The recorder reads the kernel's buffers one after the other: from the first it may lack what happened this long before
/// the last switch of the last. In nanoseconds; a read takes some tens of microseconds where it is not interrupted.
const APART: u64 = 2_000_000;
/// Bytes and records that wait at most.
const MAX_BYTES: usize = 4 << 20;
const MAX_RECORDS: usize = 1 << 14;

/// Hands all records that `next` gives to `on`, until that breaks off; on an error, what came before it.
pub(crate) fn switches_first(
    mut next: impl FnMut() -> Result<Option<Record>, TraceError>,
    mut on: impl FnMut(&Record) -> ControlFlow<()>,
) -> Result<(), TraceError> {
    let mut held = SwitchesFirst::default();
    let over = Cell::new(false);
    let mut on = |record: &Record| {
        if !over.get() {
            over.set(on(record).is_break());
        }
    };
    let result = loop {
        if over.get() {
            return Ok(());
        }
        match next() {
            Ok(Some(record)) => held.put(record, &mut on),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    held.end(&mut on);
    result
}

/// What waits for the switches of its time.
#[derive(Default)]
pub(crate) struct SwitchesFirst {
    records: VecDeque<(u64, Record)>,
    bytes: usize,
    /// Until when all switches are known.
    told: u64,
    /// Those of a process are recorded.
    captured: bool,
}

impl SwitchesFirst {
    /// Takes the next record, and hands on those whose switches are known.
    pub(crate) fn put(&mut self, record: Record, on: &mut impl FnMut(&Record)) {
        let now = match &record {
            Record::Schedule(switches) => {
                let times = || switches.iter().map(|switch| switch.time.as_nanos());
                // What is older than all of them comes before them.
                let first = times().min().unwrap_or_default();
                self.hand_on(first.saturating_sub(1), on);
                let last = times().max();
                let last = last.unwrap_or_default().saturating_sub(APART);
                self.told = self.told.max(last);
                self.captured = true;
                on(&record);
                self.hand_on(0, on);
                return;
            }
            Record::Block(block) => block.time,
            Record::Control(time, control) => {
                self.captured |=
                    matches!(control, Control::Capture { capture, .. } if capture == "switches");
                *time
            }
        };
        self.bytes += size(&record);
        self.records.push_back((now.as_nanos(), record));
        let late = if self.captured { LATEST } else { LATE };
        self.hand_on(now.as_nanos().saturating_sub(late), on);
    }

    /// Hands on all that it has.
    pub(crate) fn end(&mut self, on: &mut impl FnMut(&Record)) {
        for (_, record) in self.records.drain(..) {
            on(&record);
        }
        self.bytes = 0;
    }

    /// Hands on what is as old as the switches that are known, as old as `late`, or too much.
    fn hand_on(&mut self, late: u64, on: &mut impl FnMut(&Record)) {
        let known = self.told.max(late);
        while let Some((time, _)) = self.records.front() {
            let full = self.bytes > MAX_BYTES || self.records.len() > MAX_RECORDS;
            if *time > known && !full {
                return;
            }
            if let Some((_, record)) = self.records.pop_front() {
                self.bytes -= size(&record);
                on(&record);
            }
        }
    }
}

fn size(record: &Record) -> usize {
    match record {
        Record::Block(block) => block.bytes.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use x11prof_trace::{Control, Record, Switch, SwitchKind, Timestamp};

    use super::{LATE, LATEST, MAX_RECORDS, SwitchesFirst};

    fn at(millis: u64) -> Record {
        let time = Timestamp::from_nanos(millis * 1_000_000);
        Record::Control(time, Control::Extensions { extensions: vec![] })
    }

    /// A batch from one time to another.
    fn switches(first: u64, last: u64) -> Record {
        let switch = |millis: u64| Switch {
            time: Timestamp::from_nanos(millis * 1_000_000),
            pid: 1,
            tid: 1,
            cpu: 0,
            kind: SwitchKind::In,
        };
        Record::Schedule(vec![switch(first), switch(last)])
    }

    /// The order in which they come out: switches as 0.
    fn order(records: Vec<Record>) -> Vec<u64> {
        let (mut held, mut order) = (SwitchesFirst::default(), Vec::new());
        for record in records {
            held.put(record, &mut |record| {
                order.push(match record {
                    Record::Control(time, _) => time.as_nanos() / 1_000_000,
                    _ => 0,
                });
            });
        }
        order
    }

    #[test]
    fn messages_wait_for_the_switches_of_their_time() {
        assert_eq!(
            order(vec![at(1), at(2), switches(0, 4), at(3), switches(2, 6)]),
            [0, 1, 2, 0, 3]
        );
    }

    #[test]
    fn without_switches_they_wait_a_while() {
        let late = LATE / 1_000_000;
        assert_eq!(order(vec![at(1), at(2), at(1 + late)]), [1]);
        let many = order(vec![at(1); MAX_RECORDS + 3]);
        assert_eq!(many.len(), 3);
    }

    #[test]
    fn where_switches_are_recorded_messages_wait_until_they_come() {
        let busy = vec![switches(1, 1), at(2), at(3), at(800), switches(2, 802)];
        assert_eq!(order(busy), [0, 0, 2, 3, 800]);
        // Of a process that does nothing more there may be none.
        let latest = LATEST / 1_000_000;
        assert_eq!(order(vec![switches(1, 1), at(2), at(2 + latest)]), [0, 2]);
        // Nor do the next ones come before what is older.
        assert_eq!(
            order(vec![
                switches(1, 1),
                at(2),
                at(3),
                switches(600, 600),
                at(599)
            ]),
            [0, 2, 3, 0]
        );
    }
}
