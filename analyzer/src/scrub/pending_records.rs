//! Holds records until the messages that began in them are complete and scrubbed. Records leave in their original
//! order.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use x11prof_trace::{ConnectionId, Direction, Gap, Record};

use super::answers::GENERIC_EVENT;
use super::block_bytes::{leave_out, overwrite, pieces};
use super::events::KEYMAP_NOTIFY;

/// Maximum number of waiting bytes. Beyond it, only the header of an incomplete message is kept.
const HELD_LIMIT: usize = 32 << 20;
/// Approximate memory of a record in addition to its bytes.
const RECORD_LEN: usize = 128;

/// One direction of a connection.
pub(super) type Stream = (ConnectionId, Direction);

/// The records that wait for the end of their messages.
#[derive(Debug, Default)]
pub(super) struct PendingRecords {
    records: VecDeque<PendingRecord>,
    /// The number of the first record.
    first: u64,
    bytes: usize,
    streams: HashMap<Stream, Progress>,
}

#[derive(Debug)]
struct PendingRecord {
    record: Record,
    /// A block's bytes, which may change.
    bytes: Vec<u8>,
    /// The number of bytes of the record that count towards the limit.
    size: usize,
    is_done: bool,
}

/// The progress of scrubbing in one stream.
#[derive(Debug, Default)]
struct Progress {
    /// The offset at which the stream's next message begins; before the first block, counted from its beginning.
    at: u64,
    /// True after the first block.
    has_begun: bool,
    /// The numbers of the records that contain bytes from offset `at` on.
    records: VecDeque<u64>,
    /// The offset from which on the bytes of the current message are dropped, because the message exceeded the limit;
    /// `None` if it did not.
    cut: Option<u64>,
}

impl PendingRecords {
    /// Adds the next record of the trace.
    pub(super) fn push(&mut self, mut record: Record) {
        let mut bytes = Vec::new();
        let mut is_done = true;
        if let Record::Block(block) = &mut record {
            bytes = Vec::from(std::mem::take(&mut block.bytes));
            is_done = block.wire_len == 0;
            if !is_done {
                let stream = (block.connection, block.direction);
                let number = self.first + self.records.len() as u64;
                let progress = self.streams.entry(stream).or_default();
                if !std::mem::replace(&mut progress.has_begun, true) {
                    progress.at = progress.at.saturating_add(block.offset);
                }
                // The end of a message that began before the trace.
                overwrite(block, &mut bytes, block.offset..progress.at, &[]);
                progress.records.push_back(number);
            }
        }
        let size = size(&record, &bytes);
        self.bytes += size;
        self.records.push_back(PendingRecord {
            record,
            bytes,
            size,
            is_done,
        });
    }

    /// Begins a stream whose first bytes, of the number `under_way`, end a message that began before the trace.
    pub(super) fn join(&mut self, stream: Stream, under_way: u64) {
        let progress = Progress {
            at: under_way,
            ..Progress::default()
        };
        self.streams.insert(stream, progress);
    }

    /// Completes the next message of a stream, which has `wire_len` bytes. If `scrubbed` is given, it replaces the
    /// recorded bytes from the start, and further bytes become zeros.
    pub(super) fn message(&mut self, stream: Stream, wire_len: u64, scrubbed: Option<&[u8]>) {
        let Some(progress) = self.streams.get_mut(&stream) else {
            return;
        };
        let begin = progress.at;
        let end = begin.saturating_add(wire_len);
        progress.at = end;
        let cut = progress.cut.take();
        while let Some(number) = progress.records.front().copied() {
            let waiting = &mut self.records[(number - self.first) as usize];
            let Record::Block(block) = &mut waiting.record else {
                return;
            };
            if let Some(scrubbed) = scrubbed {
                overwrite(block, &mut waiting.bytes, begin..end, scrubbed);
            }
            if let Some(cut) = cut {
                leave_out(block, &mut waiting.bytes, cut..end);
            }
            let block_end = block.offset.saturating_add(u64::from(block.wire_len));
            if block_end > end {
                return;
            }
            waiting.is_done = true;
            progress.records.pop_front();
        }
    }

    /// Notes that the latest record is a block in which message boundaries are unknown: all its bytes become zeros.
    pub(super) fn lost(&mut self, stream: Stream) {
        let latest = self.first + (self.records.len() as u64).saturating_sub(1);
        if let Some(progress) = self.streams.get_mut(&stream) {
            // A record without bytes is not in the list.
            progress.records.pop_back_if(|number| *number == latest);
        }
        self.end(stream);
        if let Some(waiting) = self.records.back_mut() {
            waiting.bytes.fill(0);
            waiting.is_done = true;
        }
    }

    /// Ends a stream: its last incomplete message stays unchanged.
    pub(super) fn end(&mut self, stream: Stream) {
        self.cut(stream);
        self.streams.remove(&stream);
    }

    /// Ends the streams of all connections.
    pub(super) fn end_all(&mut self) {
        let streams: Vec<Stream> = self.streams.keys().copied().collect();
        for stream in streams {
            self.end(stream);
        }
    }

    /// Removes and returns the next record; `None` if there is none, or if it is not finished.
    pub(super) fn pop(&mut self) -> Option<Record> {
        // A message that was cut in progress stays cut.
        while self.bytes > HELD_LIMIT
            && let Some(waiting) = self.records.front()
            && !waiting.is_done
        {
            let Record::Block(block) = &waiting.record else {
                break;
            };
            self.cut((block.connection, block.direction));
            // The record is done now. If its stream had lost sync, none of its bytes could be kept.
            if let Some(waiting) = self.records.front_mut()
                && !waiting.is_done
            {
                waiting.bytes.fill(0);
                waiting.is_done = true;
            }
        }
        if !self.records.front()?.is_done {
            return None;
        }
        let mut waiting = self.records.pop_front()?;
        self.first += 1;
        self.bytes -= waiting.size;
        if let Record::Block(block) = &mut waiting.record {
            block.bytes = Bytes::from(waiting.bytes);
        }
        Some(waiting.record)
    }

    /// Stops waiting for the rest of a message: everything after its header is dropped.
    fn cut(&mut self, stream: Stream) {
        let Some(progress) = self.streams.get_mut(&stream) else {
            return;
        };
        let Some(&first) = progress.records.front() else {
            return;
        };
        let cut = *progress.cut.get_or_insert_with(|| {
            let waiting = &mut self.records[(first - self.first) as usize];
            progress.at + keep_header(stream.1, progress.at, waiting)
        });
        for number in progress.records.drain(..) {
            let waiting = &mut self.records[(number - self.first) as usize];
            if let Record::Block(block) = &mut waiting.record {
                leave_out(block, &mut waiting.bytes, cut..u64::MAX);
            }
            waiting.is_done = true;
        }
    }
}

/// Returns the number of bytes that determine the kind and length of the message at `at`. Only these bytes are kept of a
/// message that was not inspected. The second byte of an event, which may be a key code, becomes zero.
fn keep_header(direction: Direction, at: u64, waiting: &mut PendingRecord) -> u64 {
    let Record::Block(block) = &waiting.record else {
        return 0;
    };
    let begin = pieces(block, waiting.bytes.len())
        .into_iter()
        .find(|(place, _)| place.contains(&at))
        .and_then(|(place, from)| Some(from? + (at - place.start) as usize));
    let bytes = begin.and_then(|begin| waiting.bytes.get_mut(begin..));
    match (direction, bytes.unwrap_or_default()) {
        // The setup.
        (Direction::ToServer, _) if at == 0 => 12,
        // The length is 0 if an extended length follows.
        (Direction::ToServer, [_, _, 0, 0, ..]) => 8,
        (Direction::ToServer, _) => 4,
        (Direction::ToClient, [code, rest @ ..])
            if at > 0 && *code > 1 && *code & 0x7F != GENERIC_EVENT =>
        {
            let Some(data) = rest.first_mut() else {
                return 1;
            };
            *data = 0;
            // KeymapNotify has keys in place of a sequence number.
            if *code & 0x7F == KEYMAP_NOTIFY { 2 } else { 4 }
        }
        _ => 8,
    }
}

fn size(record: &Record, bytes: &[u8]) -> usize {
    let more = match record {
        Record::Block(block) => block.gaps.len() * size_of::<Gap>(),
        Record::Control(..) => 0,
        Record::Schedule(switches) => std::mem::size_of_val(&switches[..]),
        Record::HandlerTimes(times) => std::mem::size_of_val(&times[..]),
    };
    RECORD_LEN + bytes.len() + more
}

/// The bytes (`Ok`) and gaps (`Err`, with their length) of a block, for tests.
#[cfg(test)]
pub(super) fn shape(record: &Record) -> Vec<Result<Vec<u8>, u64>> {
    let Record::Block(block) = record else {
        return Vec::new();
    };
    let part = |part| match part {
        x11prof_trace::Part::Kept(bytes) => Ok(bytes.to_vec()),
        x11prof_trace::Part::Left(len) => Err(len),
    };
    block.parts().map(part).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use x11prof_trace::{Block, ConnectionId, Direction, Gap, Record, Timestamp};

    use super::{HELD_LIMIT, PendingRecords, shape};

    const STREAM: (ConnectionId, Direction) = (ConnectionId(1), Direction::ToServer);

    fn block(offset: u64, bytes: &[u8], gaps: &[(u32, u32)]) -> Record {
        let left: u32 = gaps.iter().map(|gap| gap.1).sum();
        Record::Block(Block {
            time: Timestamp::from_nanos(1),
            connection: STREAM.0,
            direction: STREAM.1,
            offset,
            wire_len: bytes.len() as u32 + left,
            fds: 0,
            gaps: gaps.iter().map(|&(at, len)| Gap { at, len }).collect(),
            bytes: Bytes::copy_from_slice(bytes),
        })
    }

    #[test]
    fn incomplete_message_holds_back_its_blocks() {
        let mut held = PendingRecords::default();
        held.push(block(0, b"aabbb", &[]));
        held.message(STREAM, 2, None);
        assert!(held.pop().is_none());
        held.push(block(5, b"bcc", &[]));
        held.message(STREAM, 4, Some(b"BB"));
        assert_eq!(
            held.pop().map(|one| shape(&one)),
            Some(vec![Ok(b"aaBB\0".to_vec())])
        );
        assert!(held.pop().is_none());
        held.message(STREAM, 2, Some(b"CC"));
        assert_eq!(
            held.pop().map(|one| shape(&one)),
            Some(vec![Ok(b"\0CC".to_vec())])
        );
        assert_eq!(held.bytes, 0);
    }

    #[test]
    fn gaps_keep_their_position() {
        let mut held = PendingRecords::default();
        held.push(block(0, b"aabbcc", &[(4, 10)]));
        held.message(STREAM, 2, None);
        held.message(STREAM, 12, Some(b"xy"));
        held.message(STREAM, 2, Some(b"zz"));
        let parts = held.pop().map(|one| shape(&one));
        assert_eq!(
            parts,
            Some(vec![Ok(b"aaxy".to_vec()), Err(10), Ok(b"zz".to_vec())])
        );
    }

    #[test]
    fn header_of_an_unfinished_message_is_kept() {
        let mut held = PendingRecords::default();
        held.push(block(0, b"setupsetup12", &[]));
        held.message(STREAM, 12, None);
        held.push(block(12, b"ok\x01\0okhe\xFF\xFFsecret", &[]));
        held.message(STREAM, 6, None);
        held.push(block(28, b"another", &[]));
        held.end_all();
        let all: Vec<_> = std::iter::from_fn(|| held.pop())
            .map(|one| shape(&one))
            .collect();
        assert_eq!(
            all[1..],
            [
                vec![Ok(b"ok\x01\0okhe\xFF\xFF".to_vec()), Err(6)],
                vec![Err(7)]
            ]
        );
    }

    #[test]
    fn unfinished_event_keeps_no_keys() {
        let kept = |bytes: &[u8]| {
            let mut held = PendingRecords::default();
            let mut record = block(0, &[&[1; 8], bytes].concat(), &[]);
            if let Record::Block(block) = &mut record {
                block.direction = Direction::ToClient;
            }
            held.push(record);
            held.message((STREAM.0, Direction::ToClient), 8, None);
            held.end_all();
            let parts = held.pop().map(|one| shape(&one)).unwrap();
            let Ok(first) = &parts[0] else { panic!() };
            first[8..].to_vec()
        };
        // KeyPress, the same of SendEvent, KeymapNotify, a cut one, a reply, and a generic event.
        assert_eq!(kept(&[2, 90, 7, 0, 5, 5, 5, 5, 5]), [2, 0, 7, 0]);
        assert_eq!(kept(&[130, 90, 7, 0, 5]), [130, 0, 7, 0]);
        assert_eq!(kept(&[11, 90, 7, 9, 5]), [11, 0]);
        assert_eq!(kept(&[2]), [2]);
        for code in [1, 35] {
            let bytes = [code, 131, 7, 0, 2, 0, 0, 0, 90];
            assert_eq!(kept(&bytes), bytes[..8]);
        }
    }

    #[test]
    fn memory_is_bounded_and_stream_continues_after_cut_message() {
        let mut held = PendingRecords::default();
        let step = vec![7; 1 << 20];
        let mut peak = 0;
        let mut records = Vec::new();
        held.push(block(0, b"m", &[]));
        held.message(STREAM, 1, None);
        for number in 0..100_u64 {
            held.push(block(1 + (number << 20), &step, &[]));
            while let Some(record) = held.pop() {
                records.push(shape(&record));
            }
            peak = peak.max(held.bytes);
        }
        assert!(peak <= HELD_LIMIT + (2 << 20));
        held.push(block(1 + (100 << 20), b"restnext", &[]));
        held.message(STREAM, (100 << 20) + 4, None);
        held.message(STREAM, 4, Some(b"NEXT"));
        records.extend(std::iter::from_fn(|| held.pop()).map(|one| shape(&one)));
        assert_eq!(records.len(), 102);
        assert_eq!(records[51], [Err(1 << 20)]);
        assert_eq!(records[101], [Err(4), Ok(b"NEXT".to_vec())]);
    }
}
