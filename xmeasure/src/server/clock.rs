//! The CPU time of another process.

use std::ffi::c_int;
use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

#[expect(unsafe_code, reason = "rustix has no clocks of other processes")]
unsafe extern "C" {
    fn clock_getcpuclockid(pid: c_int, clock: *mut c_int) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// The CPU-time clock of a process (user and system time of all its threads). The clock is exact while the process
/// sleeps. While the process runs on another processor, the clock advances in scheduler ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessClock(c_int);

impl ProcessClock {
    /// The clock of process `pid`; `None` if there is no such process.
    pub(crate) fn of(pid: i32) -> Option<ProcessClock> {
        let mut clock: c_int = 0;
        // SAFETY: `clock` is a valid place for the one int that the call writes.
        #[expect(unsafe_code, reason = "a system call")]
        let result = unsafe { clock_getcpuclockid(pid, &raw mut clock) };
        (result == 0).then_some(ProcessClock(clock))
    }

    /// The process's CPU time; `None` if the process has exited.
    pub(crate) fn now(self) -> Option<Duration> {
        let mut time = Timespec {
            seconds: 0,
            nanoseconds: 0,
        };
        // SAFETY: `time` has the layout of a 64-bit timespec and outlives the call.
        #[expect(unsafe_code, reason = "a system call")]
        let result = unsafe { clock_gettime(self.0, &raw mut time) };
        if result != 0 {
            return None;
        }
        Some(Duration::new(
            time.seconds.try_into().ok()?,
            time.nanoseconds.try_into().ok()?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessClock;

    #[test]
    fn process_clock_advances_and_needs_a_process() {
        let clock = ProcessClock::of(std::process::id().cast_signed()).unwrap();
        let before = clock.now().unwrap();
        let mut x = 1_u64;
        while clock.now().unwrap() == before {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(clock.now().unwrap() > before);
        // Process ids on Linux do not exceed 2²².
        assert!(ProcessClock::of(4_194_305).is_none());
    }
}
