//! The clocks of the recording machine.

use rustix::time::{ClockId, Timespec, clock_gettime};
use x11prof_trace::Timestamp;

/// The current time of CLOCK_MONOTONIC, the clock of all times in a trace.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_nanos(nanos(clock_gettime(ClockId::Monotonic)))
}

/// The current time of CLOCK_REALTIME, in nanoseconds since 1970.
pub(crate) fn wall_clock_ns() -> u64 {
    nanos(clock_gettime(ClockId::Realtime))
}

/// The current time of CLOCK_BOOTTIME in nanoseconds: the monotonic clock plus the time in which the machine was
/// suspended.
pub(crate) fn since_boot_ns() -> u64 {
    nanos(clock_gettime(ClockId::Boottime))
}

/// `time` in nanoseconds; zero for a time before the clock's origin.
pub(crate) fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
