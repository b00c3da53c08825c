//! Context switches, and samples of stacks, from the kernel, by perf_event_open(2).
//!
//! One ring for each processor takes the switches of all threads that are watched there; another one takes samples. An ordinary
//! user may watch his own processes at perf_event_paranoid 2.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Buf;
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_RECORD_EXIT,
    PERF_RECORD_LOST, PERF_RECORD_MISC_SWITCH_OUT, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
    PERF_RECORD_SAMPLE, PERF_RECORD_SWITCH, PERF_SAMPLE_CPU, PERF_SAMPLE_REGS_USER,
    PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_TYPE_SOFTWARE, perf_event_attr,
    perf_event_mmap_page,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use x11prof_stacks::StackCopy;
use x11prof_trace::{Switch, SwitchKind, Timestamp};

/// The time that a thread runs between two samples, in nanoseconds: it keeps step with no program's timer.
pub(crate) const SAMPLE_PERIOD: u64 = 1_997_000;
/// Bytes of a sample's stack, at most.
const SAMPLE_STACK: u32 = 24 << 10;
/// Registers of a sample: frame pointer, stack pointer, instruction (asm/perf_regs.h of x86).
const SAMPLE_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// The records that are wanted of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// When it runs and when it waits.
    Switches,
    /// Its stack, each time that it has run for [`SAMPLE_PERIOD`].
    Samples,
}

impl Wanted {
    /// Pages of a ring's data, powers of two, the best first: 8192 switches, or 42 to 5 samples. The kernel lets every user
    /// lock the least of both, and both rings' first pages (perf_event_mlock_kb); more where he may lock memory.
    fn pages(self) -> &'static [usize] {
        match self {
            Wanted::Switches => &[64],
            Wanted::Samples => &[256, 128, 64, 32],
        }
    }
}

/// Records that were taken out of the rings.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    /// In the order of time.
    pub(crate) switches: Vec<Switch>,
    pub(crate) samples: Vec<Sample>,
    /// Records that the kernel lost.
    pub(crate) lost: u64,
}

/// A running thread's stack.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) at: Timestamp,
    pub(crate) copy: StackCopy,
}

/// The rings of all processors.
#[derive(Debug)]
pub(crate) struct Rings {
    wanted: Wanted,
    rings: Vec<Ring>,
}

#[derive(Debug)]
struct Ring {
    cpu: u16,
    /// An event without records of its own; the threads' events write into its ring.
    owner: OwnedFd,
    base: *mut u8,
    page: usize,
    data_pages: usize,
}

// SAFETY: the mapping is not tied to the thread that made it.
#[expect(unsafe_code, reason = "the ring is a raw mapping")]
unsafe impl Send for Ring {}
// SAFETY: only `drain` touches the mapping, and it takes the ring by `&mut`.
#[expect(unsafe_code, reason = "the ring is a raw mapping")]
unsafe impl Sync for Ring {}

impl Rings {
    pub(crate) fn open(cpus: &[u16], wanted: Wanted) -> io::Result<Rings> {
        let mut rings = Err(io::ErrorKind::InvalidInput.into());
        for pages in wanted.pages() {
            let opened = cpus.iter().map(|&cpu| Ring::open(cpu, *pages));
            rings = opened.collect();
            if rings.is_ok() {
                break;
            }
        }
        Ok(Rings {
            wanted,
            rings: rings?,
        })
    }

    /// A handle to attach threads with.
    pub(crate) fn outputs(&self) -> io::Result<Outputs> {
        let rings = self.rings.iter();
        let fds: io::Result<Vec<_>> = rings
            .map(|ring| Ok((ring.cpu, ring.owner.try_clone()?)))
            .collect();
        Ok(Outputs {
            wanted: self.wanted,
            rings: fds?,
        })
    }

    /// Takes out the records.
    pub(crate) fn drain(&mut self, drained: &mut Drained) {
        for ring in &mut self.rings {
            ring.drain(drained);
        }
        drained.switches.sort_by_key(|switch| switch.time);
    }
}

/// The rings that threads' events write to, each with its processor.
#[derive(Debug)]
pub(crate) struct Outputs {
    wanted: Wanted,
    rings: Vec<(u16, OwnedFd)>,
}

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
        for (cpu, ring) in &self.rings {
            let event = match open_event(&mut attributes(Some(self.wanted)), tid, *cpu) {
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

/// Those of an event of a thread, or of one that has a ring and nothing else.
fn attributes(wanted: Option<Wanted>) -> perf_event_attr {
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
    match wanted {
        Some(Wanted::Switches) => {
            attributes.set_context_switch(1);
            // A thread that ends has no switch: its end is a separate record.
            attributes.set_task(1);
        }
        Some(Wanted::Samples) => {
            attributes.config = u64::from(PERF_COUNT_SW_CPU_CLOCK);
            attributes.__bindgen_anon_1.sample_period = SAMPLE_PERIOD;
            attributes.sample_type |= u64::from(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
            attributes.sample_regs_user = SAMPLE_REGISTERS;
            attributes.sample_stack_user = SAMPLE_STACK;
        }
        None => {}
    }
    if wanted.is_some() {
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
    fn open(cpu: u16, data_pages: usize) -> io::Result<Ring> {
        let owner = open_event(&mut attributes(None), 0, cpu)?;
        let page = rustix::param::page_size();
        // SAFETY: a new shared mapping at an address of the kernel's choice.
        #[expect(unsafe_code, reason = "the ring is a mapping")]
        let base = unsafe {
            let rights = ProtFlags::READ | ProtFlags::WRITE;
            let len = page * (1 + data_pages);
            mmap(null_mut(), len, rights, MapFlags::SHARED, &owner, 0)?
        };
        Ok(Ring {
            cpu,
            owner,
            base: base.cast(),
            page,
            data_pages,
        })
    }

    fn drain(&mut self, drained: &mut Drained) {
        let size = (self.page * self.data_pages) as u64;
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
        let mut record = Vec::new();
        let word = |at: u64| {
            let offset = (at % size) as usize;
            // SAFETY: `offset` is below the size of the data, which begin at the second page, and a multiple of a
            // word, as are the lengths of all records and of the data. The bytes between tail and head are ours.
            #[expect(unsafe_code, reason = "data shared with the kernel")]
            let value = unsafe {
                let place = self.base.add(self.page + offset).cast::<u64>();
                place.read_volatile()
            };
            value.to_ne_bytes()
        };
        while at < end {
            record.clear();
            record.extend(word(at));
            let len = length(&record);
            if len < WORD as u64 || !len.is_multiple_of(WORD as u64) || len > end - at {
                // No record is so; the ring is given up to its head.
                at = end;
                break;
            }
            let rest = (at + WORD as u64..at + len).step_by(WORD);
            rest.for_each(|at| record.extend(word(at)));
            match parse(&record) {
                Some(Read::Switch(switch)) => drained.switches.push(switch),
                Some(Read::Sample(sample)) => drained.samples.push(sample),
                Some(Read::Lost(n)) => drained.lost += n,
                None => {}
            }
            at += len;
        }
        tail.store(at, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: `open` made this mapping with the same length, and no reference to it is left.
        #[expect(unsafe_code, reason = "the ring is a mapping")]
        unsafe {
            let _ = munmap(self.base.cast(), self.page * (1 + self.data_pages));
        }
    }
}

/// Records have whole words of this many bytes.
const WORD: usize = size_of::<u64>();

#[derive(Debug)]
enum Read {
    Switch(Switch),
    Sample(Sample),
    Lost(u64),
}

/// The length in a record's first word.
fn length(head: &[u8]) -> u64 {
    head.get(6..)
        .map_or(0, |mut head| u64::from(head.get_u16_ne()))
}

/// Parses a record (perf_event_open(2), "MMAP layout"); `None` for one that is not wanted, or shorter than its kind.
fn parse(record: &[u8]) -> Option<Read> {
    let mut rest = record;
    let (kind, misc) = (rest.try_get_u32_ne().ok()?, rest.try_get_u16_ne().ok()?);
    let misc = u32::from(misc);
    rest.try_get_u16_ne().ok()?;
    match kind {
        PERF_RECORD_SWITCH => Some(Read::Switch(Switch {
            pid: rest.try_get_u32_ne().ok()?,
            tid: rest.try_get_u32_ne().ok()?,
            time: Timestamp::from_nanos(rest.try_get_u64_ne().ok()?),
            cpu: rest.try_get_u16_ne().ok()?,
            kind: if misc & PERF_RECORD_MISC_SWITCH_OUT == 0 {
                SwitchKind::In
            } else if misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT == 0 {
                SwitchKind::Blocked
            } else {
                SwitchKind::Preempted
            },
        })),
        // Process, parent, thread, parent thread, time, then the sample's own: process, thread, time, processor.
        PERF_RECORD_EXIT => {
            let [pid, _, tid, _] = words(&mut rest)?;
            let time = Timestamp::from_nanos(rest.try_get_u64_ne().ok()?);
            let [..] = words::<4>(&mut rest)?;
            Some(Read::Switch(Switch {
                pid,
                tid,
                time,
                cpu: rest.try_get_u16_ne().ok()?,
                kind: SwitchKind::Blocked,
            }))
        }
        // Process, thread, time, processor, kind of registers, registers, size of the stack, stack, bytes of these in use.
        PERF_RECORD_SAMPLE => {
            let [pid, _] = words(&mut rest)?;
            let at = Timestamp::from_nanos(rest.try_get_u64_ne().ok()?);
            let [..] = words::<2>(&mut rest)?;
            // The kernel's own threads have no registers of a program's.
            if rest.try_get_u64_ne().ok()? == 0 {
                return None;
            }
            let registers: [u64; 3] = [
                rest.try_get_u64_ne().ok()?,
                rest.try_get_u64_ne().ok()?,
                rest.try_get_u64_ne().ok()?,
            ];
            let [bp, sp, pc] = registers;
            let size = usize::try_from(rest.try_get_u64_ne().ok()?).ok()?;
            let (stack, mut used) = rest.split_at_checked(size)?;
            let used = usize::try_from(used.try_get_u64_ne().unwrap_or(0)).ok()?;
            let bytes = stack.get(..used)?.to_vec();
            let copy = StackCopy::of_running(pid, pc, sp, bp, bytes);
            Some(Read::Sample(Sample { at, copy }))
        }
        PERF_RECORD_LOST => {
            rest.try_get_u64_ne().ok()?;
            Some(Read::Lost(rest.try_get_u64_ne().ok()?))
        }
        _ => None,
    }
}

fn words<const N: usize>(rest: &mut &[u8]) -> Option<[u32; N]> {
    let mut words = [0; N];
    for word in &mut words {
        *word = rest.try_get_u32_ne().ok()?;
    }
    Some(words)
}

// The kernel's records are in its own byte order, and the test's bytes in this one.
#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    /// A record with 32-bit fields after its header; a 64-bit field is two of them, in little endian.
    fn record<const N: usize>(kind: u32, misc: u16, fields: [u32; N]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(misc.to_le_bytes());
        bytes.extend((8 + 4 * N as u16).to_le_bytes());
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes
    }

    #[test]
    fn the_records_of_a_ring() {
        let switch = |misc| match parse(&record(14, misc, [7, 9, 0x1234, 0x5678, 3, 0])) {
            Some(Read::Switch(switch)) => switch,
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
        assert_eq!(length(&end), 56);
        let Some(Read::Switch(end)) = parse(&end) else {
            panic!("a thread's end")
        };
        assert_eq!((end.pid, end.tid, end.cpu), (7, 9, 3));
        assert_eq!(end.time.as_nanos(), 0x5678_0000_1234);
        assert_eq!(end.kind, SwitchKind::Blocked);
        assert_eq!(switch(0).kind, SwitchKind::In);
        assert_eq!(switch(0x6000).kind, SwitchKind::Preempted);
        let lost = parse(&record(2, 0, [1, 0, 55, 0]));
        assert!(matches!(lost, Some(Read::Lost(55))), "{lost:?}");
        assert!(parse(&record(3, 0, [0; 8])).is_none());
    }

    #[test]
    fn samples_have_the_part_of_the_stack_that_is_there() {
        let sample = |kind: u32, used: u32| {
            let head = [7, 9, 0x1234, 0x5678, 3, 0, kind, 0];
            let registers = [0xb0, 0, 0x50, 0, 0x1c, 0];
            let stack = [16, 0, 1, 2, 3, 4, used, 0];
            let fields: Vec<u32> = [&head[..], &registers, &stack].concat();
            parse(&record::<22>(9, 0, fields.try_into().unwrap()))
        };
        let Some(Read::Sample(Sample { at, copy })) = sample(2, 8) else {
            panic!("a sample")
        };
        assert_eq!((at.as_nanos(), copy.pid), (0x5678_0000_1234, 7));
        let stack = [1, 0, 0, 0, 2, 0, 0, 0].to_vec();
        let expected = StackCopy::of_running(7, 0x1c, 0x50, 0xb0, stack);
        assert_eq!(copy, expected);
        assert!(sample(0, 8).is_none() && sample(2, 17).is_none());
    }
}
