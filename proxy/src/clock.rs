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

/// The nanoseconds by which CLOCK_MONOTONIC of this process is ahead of the clock in the kernel's own records; 0 outside
/// of time namespaces (time_namespaces(7)).
pub(crate) fn namespace_offset_ns() -> i64 {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets");
    namespace_offset(&offsets.unwrap_or_default())
}

fn namespace_offset(offsets: &str) -> i64 {
    let monotonic = offsets
        .lines()
        .find_map(|line| line.strip_prefix("monotonic"));
    let mut words = monotonic.unwrap_or_default().split_whitespace();
    let mut next = || -> i64 { words.next().and_then(|word| word.parse().ok()).unwrap_or(0) };
    let (seconds, rest) = (next(), next());
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// `time` in nanoseconds; zero for a time before the clock's origin.
pub(crate) fn nanos(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::namespace_offset;

    #[test]
    fn offset_of_the_monotonic_clock_is_read() {
        let offsets = "monotonic       -100         500000000\nboottime        5000         0\n";
        assert_eq!(namespace_offset(offsets), -99_500_000_000);
        assert_eq!(namespace_offset(""), 0);
    }
}
