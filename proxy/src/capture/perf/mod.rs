//! Context switches and stack samples from the kernel, through perf_event_open(2).
//!
//! On each processor, one ring receives the context switches of all watched threads and another ring receives samples.
//! An ordinary user may watch the user's own processes at perf_event_paranoid 2.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_DUMMY, PERF_FLAG_FD_CLOEXEC, PERF_SAMPLE_CPU,
    PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
    PERF_TYPE_SOFTWARE, perf_event_attr, perf_event_mmap_page,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use x11prof_trace::{Switch, Timestamp};

use self::records::{Read, WORD, length, parse};
pub(crate) use self::records::{Sample, Sampled};
use crate::clock;

mod records;

/// The CPU time of a thread between two samples, in nanoseconds. The period is no multiple of a usual timer interval,
/// so that samples do not synchronize with timers.
pub(crate) const SAMPLE_PERIOD: u64 = 1_997_000;
/// The largest stack copy of a sample, in bytes.
const SAMPLE_STACK: u32 = 24 << 10;
/// Registers of a sample: frame pointer, stack pointer, instruction pointer (asm/perf_regs.h of x86).
const SAMPLE_REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// The kind of records that the kernel is to report about a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Context switches: when the thread runs and when it waits.
    Switches,
    /// The stack of the thread is recorded after each [`SAMPLE_PERIOD`] of CPU time.
    Samples {
        /// True to also sample the thread inside the kernel, in system calls and interrupts.
        kernel: bool,
    },
}

impl Wanted {
    /// The possible sizes of a ring's data in pages, which must be powers of two, the best size first. The pages hold
    /// 8192 switches, or 42 to 5 samples. The kernel lets every user lock the smallest sizes with both rings' header
    /// pages (perf_event_mlock_kb), and larger sizes if the user may lock memory.
    fn pages(self) -> &'static [usize] {
        match self {
            Wanted::Switches => &[64],
            Wanted::Samples { .. } => &[256, 128, 64, 32],
        }
    }
}

/// The records that were read from the rings.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    /// The context switches in time order.
    pub(crate) switches: Vec<Switch>,
    /// In time order for each processor.
    pub(crate) samples: Vec<Sampled>,
    /// The number of records that the kernel lost.
    pub(crate) lost: u64,
}

/// The rings of all processors, in which the kernel writes records.
#[derive(Debug)]
pub(crate) struct Rings {
    wanted: Wanted,
    rings: Vec<Ring>,
    /// Is added to the kernel's times, which are those outside of the recorder's time namespace.
    offset: i64,
}

#[derive(Debug)]
struct Ring {
    cpu: u16,
    /// An event without records, which owns the ring. The events of threads write into this ring.
    owner: OwnedFd,
    base: *mut u8,
    page: usize,
    data_pages: usize,
}

// SAFETY: the mapping is not tied to the thread that made it.
#[expect(unsafe_code, reason = "the ring is a raw mapping")]
unsafe impl Send for Ring {}
// SAFETY: only `drain` accesses the mapping, and it borrows the ring mutably.
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
            offset: clock::namespace_offset_ns(),
        })
    }

    /// Returns the handle with which processes are watched.
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

    /// Moves all records from the rings to `drained`.
    pub(crate) fn drain(&mut self, drained: &mut Drained) {
        let (switches, samples) = (drained.switches.len(), drained.samples.len());
        for ring in &mut self.rings {
            ring.drain(drained);
        }
        if self.offset != 0 {
            let new = drained.switches.iter_mut().skip(switches);
            let new = new.map(|switch| &mut switch.time);
            let sampled = drained.samples.iter_mut().skip(samples);
            let sampled = sampled.filter_map(|one| match one {
                Sampled::Stack(sample) => Some(&mut sample.at),
                Sampled::Mapped(_) => None,
            });
            for time in new.chain(sampled) {
                *time = Timestamp::from_nanos(time.as_nanos().saturating_add_signed(self.offset));
            }
        }
        drained.switches.sort_by_key(|switch| switch.time);
    }
}

/// The rings that the events of watched threads are written to, each with its processor.
#[derive(Debug)]
pub(crate) struct Outputs {
    wanted: Wanted,
    rings: Vec<(u16, OwnedFd)>,
}

impl Outputs {
    /// Watches all present and future threads of process `pid`, until the returned descriptors are closed.
    pub(crate) fn attach(&self, pid: u32) -> io::Result<Vec<OwnedFd>> {
        let mut events = Vec::new();
        let mut attached = std::collections::HashSet::new();
        // Threads that start during the attachment are inherited only from threads that are already attached, so the
        // list is read again until it is complete.
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
            let event = match open_event(&mut attributes(Some(self.wanted)), tid, Some(*cpu)) {
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

/// True if the kernel permits sampling inside the kernel: at perf_event_paranoid 1 or lower, or for an administrator.
pub(crate) fn may_sample_kernel() -> bool {
    let wanted = Wanted::Samples { kernel: true };
    open_event(&mut attributes(Some(wanted)), 0, None).is_ok()
}

/// The attributes of a thread's event, or with `None` of an event that only owns a ring.
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
            // A thread that ends has no context switch. Its end is a separate record.
            attributes.set_task(1);
        }
        Some(Wanted::Samples { kernel }) => {
            attributes.set_exclude_kernel((!kernel).into());
            attributes.config = u64::from(PERF_COUNT_SW_CPU_CLOCK);
            attributes.__bindgen_anon_1.sample_period = SAMPLE_PERIOD;
            attributes.sample_type |= u64::from(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
            attributes.sample_regs_user = SAMPLE_REGISTERS;
            attributes.sample_stack_user = SAMPLE_STACK;
            // Addresses change their meaning when code is mapped.
            attributes.set_mmap(1);
        }
        None => {}
    }
    if wanted.is_some() {
        attributes.set_inherit(1);
        // Inherit threads only. The programs that a terminal's shell starts do not belong to the terminal.
        attributes.set_inherit_thread(1);
    }
    attributes
}

/// Opens an event of a thread on one processor; on any processor if `cpu` is `None`.
fn open_event(attributes: &mut perf_event_attr, tid: i32, cpu: Option<u16>) -> io::Result<OwnedFd> {
    let cpu = cpu.map_or(-1, i32::from);
    loop {
        // SAFETY: `attributes` is a complete structure that states its size.
        #[expect(unsafe_code, reason = "a system call")]
        let fd = unsafe {
            let flags = PERF_FLAG_FD_CLOEXEC.into();
            perf_event_open_sys::perf_event_open(attributes, tid, cpu, -1, flags)
        };
        if fd >= 0 {
            // SAFETY: the call has just opened this descriptor, and nothing else owns it.
            #[expect(unsafe_code, reason = "a descriptor of a system call")]
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let error = io::Error::last_os_error();
        let old_kernel = error.raw_os_error() == Some(libc::EINVAL);
        if !(old_kernel && attributes.inherit_thread() == 1) {
            return Err(error);
        }
        // Before Linux 5.13 the event also covers child processes, which are recognized by their pid.
        attributes.set_inherit_thread(0);
    }
}

impl Ring {
    fn open(cpu: u16, data_pages: usize) -> io::Result<Ring> {
        let owner = open_event(&mut attributes(None), 0, Some(cpu))?;
        let page = rustix::param::page_size();
        // SAFETY: a new shared mapping at an address that the kernel chooses.
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
                // No valid record has this length. The rest of the ring's data is skipped.
                at = end;
                break;
            }
            let rest = (at + WORD as u64..at + len).step_by(WORD);
            rest.for_each(|at| record.extend(word(at)));
            match parse(&record) {
                Some(Read::Switch(switch)) => drained.switches.push(switch),
                Some(Read::Sampled(sampled)) => drained.samples.push(sampled),
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
