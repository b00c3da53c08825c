//! The records in the kernel's rings (perf_event_open(2), "MMAP layout").

use bytes::Buf;
use perf_event_open_sys::bindings::{
    PERF_RECORD_EXIT, PERF_RECORD_LOST, PERF_RECORD_MISC_SWITCH_OUT,
    PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, PERF_RECORD_MMAP, PERF_RECORD_SAMPLE, PERF_RECORD_SWITCH,
};
use x11prof_stacks::StackCopy;
use x11prof_trace::{Switch, SwitchKind, Timestamp};

/// A record of a ring of samples.
#[derive(Debug)]
pub(crate) enum Sampled {
    Stack(Sample),
    /// The process with this id mapped code.
    Mapped(u32),
}

/// A sample of a running thread's stack.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) at: Timestamp,
    pub(crate) copy: StackCopy,
}

/// The lengths of records are multiples of this number of bytes.
pub(crate) const WORD: usize = size_of::<u64>();

#[derive(Debug)]
pub(crate) enum Read {
    Switch(Switch),
    Sampled(Sampled),
    Lost(u64),
}

/// The length of a record in bytes, from its first word `head`.
pub(crate) fn length(head: &[u8]) -> u64 {
    head.get(6..)
        .map_or(0, |mut head| u64::from(head.get_u16_ne()))
}

/// Parses a record (perf_event_open(2), "MMAP layout"); `None` if the record is of another kind or too short.
pub(crate) fn parse(record: &[u8]) -> Option<Read> {
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
        // Fields: process, parent, thread, parent thread, time; then the sample fields process, thread, time,
        // processor.
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
        // Fields: process, thread, time, processor, kind of registers, registers, size of the stack, stack, used bytes
        // of the stack.
        PERF_RECORD_SAMPLE => {
            let [pid, _] = words(&mut rest)?;
            let at = Timestamp::from_nanos(rest.try_get_u64_ne().ok()?);
            let [..] = words::<2>(&mut rest)?;
            // Kernel threads have no user registers.
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
            Some(Read::Sampled(Sampled::Stack(Sample { at, copy })))
        }
        PERF_RECORD_MMAP => {
            let pid = rest.try_get_u32_ne().ok()?;
            Some(Read::Sampled(Sampled::Mapped(pid)))
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

// The kernel writes records in native byte order. The test's bytes are in little endian.
#[cfg(target_endian = "little")]
#[cfg(test)]
mod tests {
    use super::*;

    /// A record with 32-bit fields after its header. A 64-bit field is two of them, in little endian.
    fn record<const N: usize>(kind: u32, misc: u16, fields: [u32; N]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(misc.to_le_bytes());
        bytes.extend((8 + 4 * N as u16).to_le_bytes());
        bytes.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        bytes
    }

    #[test]
    fn switch_exit_and_lost_records_are_parsed() {
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
        let mapped = parse(&record(1, 0, [7, 9, 0x1000, 0]));
        assert!(
            matches!(mapped, Some(Read::Sampled(Sampled::Mapped(7)))),
            "{mapped:?}"
        );
        assert!(parse(&record(3, 0, [0; 8])).is_none());
    }

    #[test]
    fn samples_contain_the_valid_part_of_the_stack() {
        let sample = |kind: u32, used: u32| {
            let head = [7, 9, 0x1234, 0x5678, 3, 0, kind, 0];
            let registers = [0xb0, 0, 0x50, 0, 0x1c, 0];
            let stack = [16, 0, 1, 2, 3, 4, used, 0];
            let fields: Vec<u32> = [&head[..], &registers, &stack].concat();
            parse(&record::<22>(9, 0, fields.try_into().unwrap()))
        };
        let Some(Read::Sampled(Sampled::Stack(Sample { at, copy }))) = sample(2, 8) else {
            panic!("a sample")
        };
        assert_eq!((at.as_nanos(), copy.pid), (0x5678_0000_1234, 7));
        let stack = [1, 0, 0, 0, 2, 0, 0, 0].to_vec();
        let expected = StackCopy::of_running(7, 0x1c, 0x50, 0xb0, stack);
        assert_eq!(copy, expected);
        assert!(sample(0, 8).is_none() && sample(2, 17).is_none());
    }
}
