//! The clocks of the recording machine.

use rustix::time::{ClockId, Timespec, clock_gettime};
use x11prof_trace::Timestamp;

/// CLOCK_MONOTONIC now: the clock of every time in a trace.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_nanos(nanos(clock_gettime(ClockId::Monotonic)))
}

/// CLOCK_REALTIME now, in nanoseconds since 1970.
pub(crate) fn wall_clock_ns() -> u64 {
    nanos(clock_gettime(ClockId::Realtime))
}

/// CLOCK_BOOTTIME now, in nanoseconds: the monotonic clock plus the time of suspension.
pub(crate) fn since_boot_ns() -> u64 {
    nanos(clock_gettime(ClockId::Boottime))
}

/// Nanoseconds of `time`; zero for a time before the clock's origin.
pub(crate) fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
