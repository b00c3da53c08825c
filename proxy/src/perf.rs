//! Context switches from the kernel, by perf_event_open(2).
//!
//! One ring for each processor takes the switches of all threads that are watched there. An ordinary user may watch his
//! own processes at perf_event_paranoid 2.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_RECORD_EXIT, PERF_RECORD_LOST,
    PERF_RECORD_MISC_SWITCH_OUT, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, PERF_RECORD_SWITCH,
    PERF_SAMPLE_CPU, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_TYPE_SOFTWARE, perf_event_attr,
    perf_event_mmap_page,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use x11prof_trace::{Switch, SwitchKind, Timestamp};

/// Pages of a ring's data, a power of two: 8192 switches. The kernel lets every user lock this much
/// (perf_event_mlock_kb).
const DATA_PAGES: usize = 64;

/// The rings of all processors.
#[derive(Debug)]
pub(crate) struct Rings(Vec<Ring>);

#[derive(Debug)]
struct Ring {
    cpu: u16,
    /// An event without records of its own; the threads' events write into its ring.
    owner: OwnedFd,
    base: *mut u8,
    page: usize,
}

// SAFETY: the mapping is not tied to the thread that made it.
#[expect(unsafe_code, reason = "the ring is a raw mapping")]
unsafe impl Send for Ring {}
// SAFETY: only `drain` touches the mapping, and it takes the ring by `&mut`.
#[expect(unsafe_code, reason = "the ring is a raw mapping")]
unsafe impl Sync for Ring {}

impl Rings {
    pub(crate) fn open(cpus: &[u16]) -> io::Result<Rings> {
        let rings: io::Result<Vec<Ring>> = cpus.iter().map(|&cpu| Ring::open(cpu)).collect();
        rings.map(Rings)
    }

    /// A handle to attach threads with.
    pub(crate) fn outputs(&self) -> io::Result<Outputs> {
        let fds: io::Result<Vec<_>> = self
            .0
            .iter()
            .map(|ring| Ok((ring.cpu, ring.owner.try_clone()?)))
            .collect();
        fds.map(Outputs)
    }

    /// Takes out the records, in the order of time. Returns the number of records lost since the last call.
    pub(crate) fn drain(&mut self, switches: &mut Vec<Switch>) -> u64 {
        let lost = self.0.iter_mut().map(|ring| ring.drain(switches)).sum();
        switches.sort_by_key(|switch| switch.time);
        lost
    }
}

/// The rings that threads' events write to, each with its processor.
#[derive(Debug)]
pub(crate) struct Outputs(Vec<(u16, OwnedFd)>);

impl Outputs {
    /// Watches all threads of a process, present and future, for as long as the result lives.
    pub(crate) fn attach(&self, pid: u32) -> io::Result<Vec<OwnedFd>> {
        let mut events = Vec::new();
        let mut attached = std::collections::HashSet::new();
        // Threads that begin while we attach are inherited only from threads that we had by then.
        loop {
            let before = attached.len();
            for task in fs::read_dir(format!("/proc/{pid}/task"))? {
                let name = task?.file_name();
                let Some(tid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                    continue;
                };
                if attached.insert(tid) {
                    self.attach_thread(tid, &mut events)?;
                }
            }
            if attached.len() == before {
                return Ok(events);
            }
        }
    }

    fn attach_thread(&self, tid: i32, events: &mut Vec<OwnedFd>) -> io::Result<()> {
        for (cpu, ring) in &self.0 {
            let event = match open_event(&mut attributes(true), tid, *cpu) {
                // The thread has ended since.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                opened => opened?,
            };
            // SAFETY: both are open perf events.
            #[expect(unsafe_code, reason = "an ioctl")]
            let set = unsafe {
                perf_event_open_sys::ioctls::SET_OUTPUT(event.as_raw_fd(), ring.as_raw_fd())
            };
            if set < 0 {
                return Err(io::Error::last_os_error());
            }
            events.push(event);
        }
        Ok(())
    }
}

fn attributes(switches: bool) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        size: size_of::<perf_event_attr>() as u32,
        type_: PERF_TYPE_SOFTWARE,
        config: u64::from(PERF_COUNT_SW_DUMMY),
        sample_type: u64::from(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU),
        clockid: libc::CLOCK_MONOTONIC,
        ..perf_event_attr::default()
    };
    attributes.set_use_clockid(1);
    attributes.set_sample_id_all(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    if switches {
        attributes.set_context_switch(1);
        // A thread that ends has no switch: its end is a separate record.
        attributes.set_task(1);
        attributes.set_inherit(1);
        // Threads only: a terminal's shell and the shell's programs are no part of the terminal.
        attributes.set_inherit_thread(1);
    }
    attributes
}

fn open_event(attributes: &mut perf_event_attr, tid: i32, cpu: u16) -> io::Result<OwnedFd> {
    loop {
        // SAFETY: `attributes` is a whole structure whose size it states.
        #[expect(unsafe_code, reason = "a system call")]
        let fd = unsafe {
            let flags = PERF_FLAG_FD_CLOEXEC.into();
            perf_event_open_sys::perf_event_open(attributes, tid, cpu.into(), -1, flags)
        };
        if fd >= 0 {
            // SAFETY: the call has just opened it for us.
            #[expect(unsafe_code, reason = "a descriptor of a system call")]
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        let old_kernel = error.raw_os_error() == Some(libc::EINVAL);
        if !(old_kernel && attributes.inherit_thread() == 1) {
            return Err(error);
        }
        // Before Linux 5.13 the event also covers child processes, which their pid shows.
        attributes.set_inherit_thread(0);
    }
}

impl Ring {
    fn open(cpu: u16) -> io::Result<Ring> {
        let owner = open_event(&mut attributes(false), 0, cpu)?;
        let page = rustix::param::page_size();
        // SAFETY: a new shared mapping at an address of the kernel's choice.
        #[expect(unsafe_code, reason = "the ring is a mapping")]
        let base = unsafe {
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            let len = page * (1 + DATA_PAGES);
            mmap(null_mut(), len, rights, MapFlags::SHARED, &owner, 0)?
        };
        Ok(Ring {
            cpu,
            owner,
            base: base.cast(),
            page,
        })
    }

    fn drain(&mut self, switches: &mut Vec<Switch>) -> u64 {
        let size = (self.page * DATA_PAGES) as u64;
        let header = self.base.cast::<perf_event_mmap_page>();
        // SAFETY: the first page is the header, mapped for as long as `self` lives, and the
        // kernel writes these fields whole (perf_event_open(2), "MMAP layout").
        #[expect(unsafe_code, reason = "fields shared with the kernel")]
        let (head, tail) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*header).data_head),
                AtomicU64::from_ptr(&raw mut (*header).data_tail),
            )
        };
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        let mut lost = 0;
        while at < end {
            let mut record = [0; RECORD_LEN];
            let words = record.chunks_exact_mut(WORD).zip((at..).step_by(WORD));
            for (word, at) in words {
                let offset = (at % size) as usize;
                // SAFETY: `offset` is below the size of the data, which begin at the second page, and a multiple of a
                // word, as are the lengths of all records and of the data. The bytes between tail and head are ours.
                // Bytes beyond the head are old data of the same mapping, which the record's own length keeps unused.
                #[expect(unsafe_code, reason = "data shared with the kernel")]
                let value = unsafe {
                    let place = self.base.add(self.page + offset).cast::<u64>();
                    place.read_volatile()
                };
                word.copy_from_slice(&value.to_ne_bytes());
            }
            let (len, read) = parse(&record);
            match read {
                Some(Read::Switch(switch)) => switches.push(switch),
                Some(Read::Lost(n)) => lost += n,
                None => {}
            }
            if len < WORD as u64 || len % WORD as u64 != 0 {
                // No record is so; the ring is given up to its head.
                at = end;
                break;
            }
            at += len;
        }
        tail.store(at, Ordering::Release);
        lost
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `open` made this mapping with the same length, and no reference to it is left.
        #[expect(unsafe_code, reason = "the ring is a mapping")]
        unsafe {
            let _ = munmap(self.base.cast(), self.page * (1 + DATA_PAGES));
        }
    }
}

/// The longest of the records that we read: a thread's end with its sample id.
const RECORD_LEN: usize = 56;
/// Records have whole words of this many bytes.
const WORD: usize = size_of::<u64>();

#[derive(Debug, PartialEq, Eq)]
enum Read {
    Switch(Switch),
    Lost(u64),
}

/// The bytes of a field. All callers pass an `at` within a record.
fn word<const N: usize>(record: &[u8; RECORD_LEN], at: usize) -> [u8; N] {
    std::array::from_fn(|n| record[at + n])
}

/// Parses a record: its length and content (perf_event_open(2), "PERF_RECORD_SWITCH").
fn parse(record: &[u8; RECORD_LEN]) -> (u64, Option<Read>) {
    let u16_at = |at| u16::from_ne_bytes(word(record, at));
    let u32_at = |at| u32::from_ne_bytes(word(record, at));
    let u64_at = |at| u64::from_ne_bytes(word(record, at));
    let (kind, misc, len) = (u32_at(0), u32::from(u16_at(4)), u64::from(u16_at(6)));
    let read = match kind {
        PERF_RECORD_SWITCH => Some(Read::Switch(Switch {
            pid: u32_at(8),
            tid: u32_at(12),
            time: Timestamp::from_nanos(u64_at(16)),
            cpu: u16_at(24),
            kind: if misc & PERF_RECORD_MISC_SWITCH_OUT == 0 {
                SwitchKind::In
            } else if misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT == 0 {
                SwitchKind::Blocked
            } else {
                SwitchKind::Preempted
            },
        })),
        // Process, parent, thread, parent thread, time, then the sample's own.
        PERF_RECORD_EXIT => Some(Read::Switch(Switch {
            pid: u32_at(8),
            tid: u32_at(16),
            time: Timestamp::from_nanos(u64_at(24)),
            cpu: u16_at(48),
            kind: SwitchKind::Blocked,
        })),
        PERF_RECORD_LOST => Some(Read::Lost(u64_at(16))),
        _ => None,
    };
    (len, read)
}

// The kernel's records are in its own byte order, and the test's bytes in this one.
#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    /// A record with 32-bit fields after its header; a 64-bit field is two of them, in little endian.
    fn record<const N: usize>(kind: u32, misc: u16, fields: [u32; N]) -> [u8; RECORD_LEN] {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(misc.to_le_bytes());
        bytes.extend(40_u16.to_le_bytes());
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes.resize(RECORD_LEN, 0xEE);
        bytes.try_into().unwrap()
    }

    #[test]
    fn the_records_of_a_ring() {
        let switch = |misc| match parse(&record(14, misc, [7, 9, 0x1234, 0x5678, 3, 0, 0, 0])) {
            (40, Some(Read::Switch(switch))) => switch,
            other => panic!("{other:?}"),
        };
        let read = switch(0x2000);
        assert_eq!((read.pid, read.tid, read.cpu), (7, 9, 3));
        assert_eq!(read.time.as_nanos(), 0x5678_0000_1234);
        assert_eq!(read.kind, SwitchKind::Blocked);
        let end = record(
            4,
            0,
            [7, 1, 9, 1, 0x1234, 0x5678, 7, 9, 0x9999, 0x5678, 3, 0],
        );
        let Some(Read::Switch(end)) = parse(&end).1 else {
            panic!("a thread's end")
        };
        assert_eq!((end.pid, end.tid, end.cpu), (7, 9, 3));
        assert_eq!(end.time.as_nanos(), 0x5678_0000_1234);
        assert_eq!(end.kind, SwitchKind::Blocked);
        assert_eq!(switch(0).kind, SwitchKind::In);
        assert_eq!(switch(0x6000).kind, SwitchKind::Preempted);
        assert_eq!(
            parse(&record(2, 0, [1, 0, 55, 0, 0, 0, 0, 0])).1,
            Some(Read::Lost(55))
        );
        assert_eq!(parse(&record(3, 0, [0; 8])), (40, None));
    }
}
