//! The memory to which clients write the stacks of their requests (struct shared of client_stacks.c).
//!
//! The recorder reads the memory with system calls. The kernel keeps a memory file and its mappings consistent. Clients
//! open the file through the recorder's descriptor. With a file on disk, a client's first write to each page took
//! several microseconds longer.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bytes::Buf;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, memfd_create};

const REQUESTS: u64 = 1 << 19;
const REQUEST: u64 = 16;
const DEFINITIONS: u64 = 32 << 20;
const PLACES: u64 = 1 << 16;
const PLACE: u64 = 8;
/// Offsets of the fields in the file, in bytes.
const WRITTEN: u64 = 0;
const PLACED: u64 = 8;
const LEARNED: u64 = 32;
const FIRST_REQUEST: u64 = 4096;
const FIRST_PLACE: u64 = FIRST_REQUEST + REQUESTS * REQUEST;
const FIRST_DEFINITION: u64 = FIRST_PLACE + PLACES * PLACE;
/// The length of the file in bytes, a multiple of the page size.
const LENGTH: u64 = FIRST_DEFINITION + DEFINITIONS;
/// Length of a definition's header: kind, number, count, and an unused word.
const HEAD: usize = 16;
/// The length of one stack frame in bytes.
const FRAME: usize = 16;
/// The bit of a stack's count that marks a complete stack.
const IS_WHOLE: u32 = 1 << 31;
/// The maximum number of requests that clients can send between two readings. A larger number is an error: clients
/// can write any number to the counter.
const MOST_REQUESTS: u64 = 1 << 32;
/// Maximum number of requests of one read.
const AT_ONCE: u64 = 1 << 16;
/// The number of readings after which the recorder skips an unfinished entry, because its client was probably killed.
const LATE: u32 = 100;

/// A client's request: the first resource id of its connection, its sequence number, and the number of its stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) ids: u32,
    pub(super) sequence: u32,
    pub(super) stack: u32,
}

/// A definition of a module, a function or a stack that a client has written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Definition {
    Module {
        number: u32,
        file: String,
    },
    /// The frame is a Python function. Such frames have line numbers instead of addresses.
    Function {
        number: u32,
        file: String,
        name: String,
    },
    Stack {
        number: u32,
        /// The frames, the innermost first. A frame is the number of a module and an address in its file.
        frames: Vec<(u32, u64)>,
        is_whole: bool,
    },
}

/// The shared memory, as the recorder reads it.
#[derive(Debug)]
pub(super) struct Ring {
    file: File,
    /// The number of requests read or lost so far.
    taken: u64,
    /// The number of slots of definitions checked so far, and the slots whose definitions were unfinished.
    placed: u64,
    unfinished: Vec<u64>,
    /// The number of bytes of definitions read so far. The number is limited, because clients write each byte only once.
    defined: u64,
    /// The number of consecutive readings that stopped at the same unfinished entry.
    late: u32,
}

impl Ring {
    /// Creates the shared memory. The pages for requests are allocated in advance, so that no client waits for them.
    pub(super) fn create() -> io::Result<Ring> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("x11prof-stacks", flags)?);
        file.set_len(LENGTH)?;
        fallocate(&file, FallocateFlags::empty(), 0, FIRST_PLACE)?;
        // Clients recognize the memory by its seals. The seals also prevent a client from shortening it, which would
        // crash the others.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        Ok(Ring {
            file,
            taken: 0,
            placed: 0,
            unfinished: Vec::new(),
            defined: 0,
            late: 0,
        })
    }

    /// The path by which clients open the shared memory.
    pub(super) fn path(&self) -> PathBuf {
        let (process, file) = (std::process::id(), self.file.as_raw_fd());
        format!("/proc/{process}/fd/{file}").into()
    }

    /// Reads a field. Clients write the eight aligned bytes at once.
    fn field(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// The CPU time that clients have used for unwinding stacks, in nanoseconds.
    pub(super) fn learned(&self) -> io::Result<u64> {
        self.field(LEARNED)
    }

    /// Adds the requests that were written since the last call to `requests`. Returns the number of requests that were
    /// overwritten unread or never finished.
    pub(super) fn requests(&mut self, requests: &mut Vec<Request>) -> io::Result<u64> {
        let written = self.field(WRITTEN)?;
        if written.abs_diff(self.taken) > MOST_REQUESTS {
            return Err(io::Error::other("a client has overwritten their memory"));
        }
        let oldest = written.saturating_sub(REQUESTS);
        let mut lost = oldest.saturating_sub(self.taken);
        self.taken = self.taken.max(oldest);
        let mut bytes = Vec::new();
        while self.taken < written {
            let place = self.taken % REQUESTS;
            let count = (written - self.taken).min(REQUESTS - place).min(AT_ONCE);
            bytes.resize((count * REQUEST) as usize, 0);
            let at = FIRST_REQUEST + place * REQUEST;
            self.file.read_exact_at(&mut bytes, at)?;
            // Clients may have overwritten the first of these entries in the meantime.
            let gone = self.field(WRITTEN)?.saturating_sub(REQUESTS);
            let mut rest = &bytes[..];
            while rest.has_remaining() {
                let request = Request {
                    ids: rest.get_u32_ne(),
                    sequence: rest.get_u32_ne(),
                    stack: rest.get_u32_ne(),
                };
                let turn = ((self.taken / REQUESTS) as u32).wrapping_add(1);
                let is_here = rest.get_u32_ne() == turn && self.taken >= gone;
                if is_here {
                    requests.push(request);
                } else if self.taken < gone || self.late == LATE {
                    lost += 1;
                } else {
                    // The client is still writing this entry.
                    self.late += 1;
                    return Ok(lost);
                }
                self.late = 0;
                self.taken += 1;
            }
        }
        Ok(lost)
    }

    /// True if the last call of [`requests`](Ring::requests) stopped at an unfinished request.
    pub(super) fn is_held_up(&self) -> bool {
        self.late > 0
    }

    /// Reads the definitions that were completed since the last call. If a client was killed, a definition may stay unfinished.
    pub(super) fn definitions(&mut self) -> io::Result<Vec<Definition>> {
        let placed = self.field(PLACED)?.min(PLACES);
        self.unfinished.extend(self.placed..placed);
        self.placed = placed;
        let mut definitions = Vec::new();
        for place in std::mem::take(&mut self.unfinished) {
            let mut bytes = [0; PLACE as usize];
            self.file
                .read_exact_at(&mut bytes, FIRST_PLACE + place * PLACE)?;
            let mut bytes = &bytes[..];
            let at = u64::from(bytes.get_u32_ne());
            match u64::from(bytes.get_u32_ne()) {
                0 => self.unfinished.push(place),
                length if at.max(self.defined) + length > DEFINITIONS => {}
                length => {
                    self.defined += length;
                    let mut definition = vec![0; length as usize];
                    self.file
                        .read_exact_at(&mut definition, FIRST_DEFINITION + at)?;
                    definitions.extend(self::definition(&definition));
                }
            }
        }
        Ok(definitions)
    }
}

fn definition(bytes: &[u8]) -> Option<Definition> {
    let (mut head, mut body) = bytes.split_at_checked(HEAD)?;
    let (kind, number, count) = (head.get_u32_ne(), head.get_u32_ne(), head.get_u32_ne());
    match kind {
        1 => body.get(..count as usize).map(|file| Definition::Module {
            number,
            file: String::from_utf8_lossy(file).into_owned(),
        }),
        2 => {
            let depth = (count & !IS_WHOLE) as usize;
            (body.len() >= depth * FRAME).then(|| Definition::Stack {
                number,
                frames: (0..depth)
                    .map(|_| {
                        let module = body.get_u32_ne();
                        body.advance(4);
                        (module, body.get_u64_ne())
                    })
                    .collect(),
                is_whole: count & IS_WHOLE != 0,
            })
        }
        3 => {
            let texts = String::from_utf8_lossy(body.get(..count as usize)?);
            let (file, name) = texts.split_once('\0')?;
            Some(Definition::Function {
                number,
                file: file.to_owned(),
                name: name.to_owned(),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(ring: &Ring, at: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        ring.file.write_all_at(&bytes, at).unwrap();
    }

    fn request(ring: &Ring, place: u64) {
        let at = FIRST_REQUEST + place % REQUESTS * REQUEST;
        let turn = (place / REQUESTS) as u32 + 1;
        put(ring, at, &[0x20_0000, place as u32, 7, turn]);
    }

    #[test]
    fn requests_are_read_in_order_up_to_the_first_unfinished() {
        let mut ring = Ring::create().unwrap();
        let mut requests = Vec::new();
        ring.taken = REQUESTS - 1;
        request(&ring, REQUESTS - 1);
        request(&ring, REQUESTS);
        // The entries REQUESTS + 1 and REQUESTS + 2 are reserved, but only the second one is written.
        request(&ring, REQUESTS + 2);
        put(&ring, WRITTEN, &[REQUESTS as u32 + 3, 0]);
        assert_eq!(ring.requests(&mut requests).unwrap(), 0);
        let numbers = |requests: &[Request]| -> Vec<u64> {
            requests.iter().map(|one| one.sequence.into()).collect()
        };
        assert_eq!(numbers(&requests), [REQUESTS - 1, REQUESTS]);
        assert!(ring.is_held_up());
        request(&ring, REQUESTS + 1);
        assert_eq!(ring.requests(&mut requests).unwrap(), 0);
        assert!(!ring.is_held_up());
        assert_eq!(numbers(&requests[2..]), [REQUESTS + 1, REQUESTS + 2]);
    }

    #[test]
    fn overwritten_requests_are_counted() {
        let mut ring = Ring::create().unwrap();
        let mut requests = Vec::new();
        request(&ring, REQUESTS + 4);
        put(&ring, WRITTEN, &[REQUESTS as u32 + 5, 0]);
        // The entries before it stay unfinished, because their clients were killed.
        let mut lost = 0;
        while requests.is_empty() {
            ring.taken = ring.taken.max(REQUESTS + 3);
            lost += ring.requests(&mut requests).unwrap();
        }
        assert_eq!(lost, 1);
        assert_eq!(requests.len(), 1);
        let mut other = Ring::create().unwrap();
        put(&other, WRITTEN, &[REQUESTS as u32 + 5, 0]);
        other.late = LATE;
        assert_eq!(other.requests(&mut Vec::new()).unwrap(), 6);
    }

    #[test]
    fn impossible_number_of_requests_is_an_error() {
        for written in [[0, 1_u32 << 31], [5, 1], [u32::MAX, u32::MAX]] {
            let mut ring = Ring::create().unwrap();
            put(&ring, WRITTEN, &written);
            ring.requests(&mut Vec::new()).unwrap_err();
        }
    }

    #[test]
    fn complete_definitions_are_read_once() {
        let mut ring = Ring::create().unwrap();
        let name = u32::from_ne_bytes(*b"/a/b");
        put(&ring, FIRST_DEFINITION, &[1, 3, 4, 0, name, 0]);
        let stack = [2, 9, IS_WHOLE | 2, 0, 3, 0, 0x10, 0, 0, 0, 0x20, 1];
        put(&ring, FIRST_DEFINITION + 24, &stack);
        let module = Definition::Module {
            number: 3,
            file: "/a/b".to_owned(),
        };
        let stack = Definition::Stack {
            number: 9,
            frames: vec![(3, 0x10), (0, 0x1_0000_0020)],
            is_whole: true,
        };
        // Four definitions are reserved: the first is unfinished, the third lies beyond the file, the fourth has an
        // unknown kind.
        let places = [0, 0, 24, 48, DEFINITIONS as u32, 24, 72, 16];
        put(&ring, FIRST_PLACE, &places);
        put(&ring, PLACED, &[4, 0]);
        assert_eq!(ring.definitions().unwrap(), [stack]);
        assert_eq!(ring.definitions().unwrap(), []);
        put(&ring, FIRST_PLACE, &[0, 24]);
        assert_eq!(ring.definitions().unwrap(), [module]);
        assert_eq!(ring.definitions().unwrap(), []);
    }

    #[test]
    fn definitions_of_the_same_bytes_are_bounded() {
        let mut ring = Ring::create().unwrap();
        let length = (DEFINITIONS / 4) as u32;
        put(&ring, FIRST_DEFINITION, &[1, 3, length - HEAD as u32, 0]);
        for place in 0..100 {
            put(&ring, FIRST_PLACE + place * PLACE, &[0, length]);
        }
        put(&ring, PLACED, &[100, 0]);
        assert_eq!(ring.definitions().unwrap().len(), 4);
    }
}
