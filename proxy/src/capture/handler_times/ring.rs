//! The file to which a server writes the times of its handlers (struct shared of server_timer.c).
//!
//! The recorder reads and writes the file with system calls. The kernel keeps a file and its mappings consistent.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use bytes::Buf;
use rustix::fs::{FallocateFlags, fallocate};
use x11prof_trace::{HandlerTime, Timestamp};

use crate::clock;

const ENTRIES: u64 = 1 << 17;
const ENTRY: u64 = 24;
/// Offsets of the fields in the file, in bytes.
const STATE: u64 = 0;
const WRITTEN: u64 = 64;
const REQUESTS: u64 = 72;
const FIRST: u64 = 4096;
/// The length of the file in bytes, a multiple of the page size.
const LENGTH: u64 = FIRST + ENTRIES * ENTRY;

/// The maximum lead of the library's clock over the kernel's clock in nanoseconds. Later times are an error.
const AHEAD: u64 = 1_000_000_000;
/// The maximum number of requests that can be lost between two readings. A larger number is an error, because no server
/// handles more requests in that time.
const MOST_LOST: u64 = 1 << 40;

/// The state of the library in the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Starting,
    Learning,
    Timing,
    GaveUp,
    /// The timing is paused while a calibration reads the server's CPU clock, so that the library does not add to it.
    Paused,
}

/// The ring of handler times in the file, as the recorder reads it.
#[derive(Debug)]
pub(super) struct Ring {
    file: File,
    /// The number of entries read or lost so far, and the number of requests in them.
    taken: u64,
    requests: u64,
    /// Read buffer, kept so that reads do not allocate.
    buffer: Vec<u8>,
}

impl Ring {
    /// Creates the file and allocates its blocks: a server that writes to a mapped file on a full disk would be killed.
    pub(super) fn create(path: &Path) -> io::Result<Ring> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(path)?;
        Ring::empty(file)
    }

    /// Writes an empty ring into an empty file.
    pub(super) fn empty(file: File) -> io::Result<Ring> {
        fallocate(&file, FallocateFlags::empty(), 0, LENGTH)?;
        Ring::read(file)
    }

    /// Opens the ring in a file. Only entries that are written from now on are read.
    pub(super) fn read(file: File) -> io::Result<Ring> {
        let mut ring = Ring {
            file,
            taken: 0,
            requests: 0,
            buffer: Vec::new(),
        };
        ring.requests = ring.field(REQUESTS)?;
        ring.taken = ring.field(WRITTEN)?;
        Ok(ring)
    }

    pub(super) fn state(&self) -> io::Result<State> {
        Ok(match self.field(STATE)? {
            0 => State::Starting,
            1 => State::Learning,
            2 => State::Timing,
            4 => State::Paused,
            _ => State::GaveUp,
        })
    }

    /// Pauses a server that times its handlers, or resumes it.
    pub(super) fn pause(&self, paused: bool) -> io::Result<()> {
        let (from, to) = match paused {
            true => (State::Timing, 4_u64),
            false => (State::Paused, 2),
        };
        match self.state()? == from {
            true => self.file.write_all_at(&to.to_ne_bytes(), STATE),
            false => Ok(()),
        }
    }

    /// Reads a field. The server writes the eight aligned bytes at once.
    fn field(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Adds the entries that were written since the last call to `times`. Returns the number of requests since then
    /// that were lost because the server has overwritten their entries.
    ///
    /// # Errors
    /// Fails if the memory cannot be read, or if the server has written impossible numbers there.
    pub(super) fn drain(&mut self, times: &mut Vec<HandlerTime>) -> io::Result<u64> {
        let overwritten = || io::Error::other("the server has overwritten their memory");
        let requests = self.field(REQUESTS)?;
        let latest = clock::now().as_nanos().saturating_add(AHEAD);
        let written = self.field(WRITTEN)?;
        let mut at = self.taken.max(written.saturating_sub(ENTRIES));
        let (mut lost_any, first) = (at > self.taken, times.len());
        while at < written {
            let place = at % ENTRIES;
            let count = (written - at).min(ENTRIES - place);
            self.buffer.resize((count * ENTRY) as usize, 0);
            self.file
                .read_exact_at(&mut self.buffer, FIRST + place * ENTRY)?;
            // The server may have overwritten the first of these entries in the meantime, and may be writing another.
            let now = self.field(WRITTEN)?;
            let gone = now
                .saturating_add(1)
                .saturating_sub(at.saturating_add(ENTRIES));
            let gone = gone.min(count);
            lost_any |= gone > 0;
            let mut rest = &self.buffer[(gone * ENTRY) as usize..];
            while rest.has_remaining() {
                let time = HandlerTime {
                    start: Timestamp::from_nanos(rest.get_u64_ne()),
                    took_ns: rest.get_u64_ne(),
                    client: rest.get_u16_ne(),
                    sequence: rest.get_u16_ne(),
                    count: rest.get_u32_ne(),
                };
                let end = time.start.as_nanos().checked_add(time.took_ns);
                end.filter(|end| *end <= latest).ok_or_else(overwritten)?;
                times.push(time);
            }
            at += count;
        }
        self.taken = written;
        let reported: u64 = times[first..].iter().map(|one| u64::from(one.count)).sum();
        let all = self.requests.checked_add(reported);
        let all = all.ok_or_else(overwritten)?;
        self.requests = if lost_any { all.max(requests) } else { all };
        let lost = Some(self.requests - all).filter(|lost| *lost <= MOST_LOST);
        lost.ok_or_else(overwritten)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn entries_stay_in_order_across_ring_wrap() {
        let dir = tempfile::tempdir().unwrap();
        let mut ring = Ring::create(&dir.path().join("times")).unwrap();
        assert_eq!(ring.state().unwrap(), State::Starting);
        ring.pause(true).unwrap();
        assert_eq!(ring.state().unwrap(), State::Starting);
        ring.file.write_all_at(&2_u64.to_ne_bytes(), STATE).unwrap();
        for (paused, state) in [(true, State::Paused), (false, State::Timing)] {
            ring.pause(paused).unwrap();
            assert_eq!(ring.state().unwrap(), state);
        }
        let put = |ring: &Ring, at: u64, count: u64| {
            for n in at..at + count {
                let mut entry = [0; ENTRY as usize];
                entry[..8].copy_from_slice(&n.to_ne_bytes());
                entry[20] = 1;
                let place = FIRST + n % ENTRIES * ENTRY;
                ring.file.write_all_at(&entry, place).unwrap();
            }
            let written = (at + count).to_ne_bytes();
            ring.file.write_all_at(&written, WRITTEN).unwrap();
        };
        let mut times = Vec::new();
        let first = ENTRIES - 2;
        put(&ring, 0, 1);
        ring.taken = first;
        put(&ring, first, 5);
        assert_eq!(ring.drain(&mut times).unwrap(), 0);
        let starts: Vec<u64> = times.iter().map(|time| time.start.as_nanos()).collect();
        assert_eq!(starts, (first..first + 5).collect::<Vec<_>>());
        assert!(times.iter().all(|time| time.count == 1));
        assert_eq!(ring.drain(&mut times).unwrap(), 0);
        assert_eq!(times.len(), 5);
    }

    #[test]
    fn overwritten_entries_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let mut ring = Ring::create(&dir.path().join("times")).unwrap();
        let set = |ring: &Ring, at: u64, value: u64| {
            ring.file.write_all_at(&value.to_ne_bytes(), at).unwrap();
        };
        let mut entry = [0; ENTRY as usize];
        entry[20] = 1;
        for place in 0..ENTRIES {
            ring.file
                .write_all_at(&entry, FIRST + place * ENTRY)
                .unwrap();
        }
        set(&ring, WRITTEN, ENTRIES + 1000);
        set(&ring, REQUESTS, ENTRIES + 1000);
        let mut times = Vec::new();
        // The server may be overwriting the oldest entry.
        assert_eq!(ring.drain(&mut times).unwrap(), 1001);
        assert_eq!(times.len() as u64, ENTRIES - 1);
        let later = Ring::read(ring.file.try_clone().unwrap()).unwrap();
        assert_eq!(later.taken, ENTRIES + 1000);
    }

    #[test]
    fn impossible_numbers_of_a_server_are_an_error() {
        let late = clock::now().as_nanos() + 3600 * AHEAD;
        for (at, value) in [
            (FIRST, late),
            (FIRST, u64::MAX),
            (FIRST + 8, 1 << 62),
            (FIRST + 8, u64::MAX),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let mut ring = Ring::create(&dir.path().join("times")).unwrap();
            let set = |at, value: u64| ring.file.write_all_at(&value.to_ne_bytes(), at).unwrap();
            set(at, value);
            set(WRITTEN, 1);
            ring.drain(&mut Vec::new()).unwrap_err();
        }
        for requests in [1 << 41, u64::MAX] {
            let dir = tempfile::tempdir().unwrap();
            let mut ring = Ring::create(&dir.path().join("times")).unwrap();
            let set = |at, value: u64| ring.file.write_all_at(&value.to_ne_bytes(), at).unwrap();
            set(REQUESTS, requests);
            set(WRITTEN, u64::MAX);
            ring.drain(&mut Vec::new()).unwrap_err();
            let mut later = Ring::read(ring.file.try_clone().unwrap()).unwrap();
            assert_eq!(later.drain(&mut Vec::new()).unwrap(), 0);
        }
    }
}
