//! A mutator for traces whose output passes the container's checks.
//!
//! Random bytes fail at the first checksum. This mutator splits a trace into MCAP records and chunks into their
//! records, mutates, drops, duplicates or swaps them, and recomputes lengths and checksums (mcap.dev/spec).

use libfuzzer_sys::fuzzer_mutate;
use x11prof_trace::{
    Block, ConnectionId, Control, Direction, Gap, Opened, Record, Started, Switch, SwitchKind,
    Timestamp, Writer,
};

const MAGIC: usize = 8;
const CHUNK: u8 = 6;
/// The number of bytes before a chunk's compression name: two times, a size, a checksum.
const FIXED: usize = 8 + 8 + 8 + 4;

/// Mutates the trace in the first `size` bytes of `data`, which may grow to `most`, or inserts a seed trace if
/// there is none. Returns the new size.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut dice = Dice(seed | 1);
    let start = data.get(..size).unwrap_or_default();
    let changed = match records(start.get(MAGIC..).unwrap_or_default()) {
        Some(list) if !list.is_empty() => {
            // Sometimes mutate the container itself.
            if dice.below(8) == 0 {
                return fuzzer_mutate(data, size, most);
            }
            let head = start[..MAGIC].to_vec();
            [head, joined(changed(list, &mut dice, true))].concat()
        }
        _ => seed_trace(),
    };
    match data.get_mut(..changed.len().min(most)) {
        Some(room) if changed.len() <= most => {
            room.copy_from_slice(&changed);
            changed.len()
        }
        _ => fuzzer_mutate(data, size, most),
    }
}

/// A record: opcode and contents.
type Piece = (u8, Vec<u8>);

/// Splits `bytes` into records, up to the first invalid one.
fn records(mut bytes: &[u8]) -> Option<Vec<Piece>> {
    let mut list = Vec::new();
    while let Some((&opcode, rest)) = bytes.split_first() {
        let Some((len, rest)) = rest.split_first_chunk::<8>() else {
            break;
        };
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let Some((contents, rest)) = rest.split_at_checked(len) else {
            break;
        };
        list.push((opcode, contents.to_vec()));
        bytes = rest;
    }
    Some(list)
}

fn joined(list: Vec<Piece>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (opcode, contents) in list {
        bytes.push(opcode);
        bytes.extend((contents.len() as u64).to_le_bytes());
        bytes.extend(contents);
    }
    bytes
}

fn changed(mut list: Vec<Piece>, dice: &mut Dice, chunks: bool) -> Vec<Piece> {
    let at = dice.below(list.len());
    let whole = [0, CHUNK];
    match dice.below(10) {
        0 => drop(list.remove(at)),
        1 => list.insert(at, list[at].clone()),
        2 => {
            let other = dice.below(list.len());
            list.swap(at, other);
        }
        _ => {
            // Prefer a chunk, which contains the messages.
            let chunk = list.iter().position(|(opcode, _)| *opcode == CHUNK);
            let at = chunk.filter(|_| chunks).unwrap_or(at);
            let (opcode, contents) = &mut list[at];
            match unpacked(contents).filter(|_| whole[1] == *opcode) {
                Some(inner) if !inner.is_empty() => {
                    *contents = packed(&joined(changed(inner, dice, false)));
                }
                _ => bent(contents, dice),
            }
        }
    }
    list
}

/// Applies libFuzzer's own mutation.
fn bent(contents: &mut Vec<u8>, dice: &mut Dice) {
    let len = contents.len();
    // Often skip the header of a message (channel, number, times).
    let from = match dice.below(4) {
        0 => 0,
        _ => len.min(22),
    };
    let most = len + 16;
    contents.resize(most, 0);
    let new = fuzzer_mutate(&mut contents[from..], len - from, most - from);
    contents.truncate(from + new);
}

/// The records in a chunk.
fn unpacked(chunk: &[u8]) -> Option<Vec<Piece>> {
    let name = u32::from_le_bytes(*chunk.get(FIXED..)?.first_chunk()?) as usize;
    let bytes = chunk.get(FIXED + 4 + name + 8..)?;
    let size = u64::from_le_bytes(*chunk.get(16..)?.first_chunk()?).min(1 << 20);
    records(&zstd::bulk::decompress(bytes, size as usize).ok()?)
}

fn packed(records: &[u8]) -> Vec<u8> {
    let bytes = zstd::bulk::compress(records, 1).unwrap_or_default();
    let mut chunk = vec![0; 16];
    chunk.extend((records.len() as u64).to_le_bytes());
    chunk.extend(crc32fast::hash(records).to_le_bytes());
    chunk.extend(4_u32.to_le_bytes());
    chunk.extend(b"zstd");
    chunk.extend((bytes.len() as u64).to_le_bytes());
    chunk.extend(bytes);
    chunk
}

/// A short trace with every kind of record.
pub fn seed_trace() -> Vec<u8> {
    let at = Timestamp::from_nanos;
    let started = Started {
        format: 0,
        recorder: "fuzz".to_owned(),
        wall_clock_ns: 1,
        command: Vec::new(),
        cpu_model: String::new(),
        cpus: 2,
        kernel: String::new(),
        full: false,
    };
    let block = |time, direction, bytes: &'static [u8], gaps: Vec<Gap>| {
        let left: u32 = gaps.iter().map(|gap| gap.len).sum();
        Record::Block(Block {
            time: at(time),
            connection: ConnectionId(1),
            direction,
            offset: 0,
            wire_len: bytes.len() as u32 + left,
            fds: 0,
            gaps,
            bytes: bytes.into(),
        })
    };
    let opened = Control::Opened(Opened {
        connection: ConnectionId(1),
        transport: "unix".to_owned(),
        pid: Some(7),
        name: Some("x".to_owned()),
        command: vec!["x".to_owned()],
        started_ns: None,
    });
    let switch = Switch {
        time: at(4),
        pid: 7,
        tid: 7,
        cpu: 0,
        kind: SwitchKind::Blocked,
    };
    let secret = vec![Gap { at: 8, len: 4 }];
    let all = [
        Record::Control(at(2), opened),
        block(3, Direction::ToServer, b"l\0\x0b\0\0\0\0\0", secret),
        Record::Schedule(vec![switch]),
        block(5, Direction::ToClient, b"\x01\0\x0b\0\0\0\0\0", Vec::new()),
        Record::Control(at(6), Control::Ended { exit_status: None }),
    ];
    let mut bytes = Vec::new();
    if let Ok(mut writer) = Writer::new(&mut bytes, started, at(1)) {
        for record in &all {
            let _ = writer.write(record);
        }
        let _ = writer.finish();
    }
    bytes
}

/// A pseudo-random number generator (xorshift).
struct Dice(u32);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % most.max(1)
    }
}
