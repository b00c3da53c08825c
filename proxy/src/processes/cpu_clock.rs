//! The kernel's counters of a process: CPU time and context switches.

use std::fs;

use x11prof_stacks::read_proc;
use x11prof_trace::CpuTime;

/// Reads a process's CPU time and context switches. `None` if the process has ended and was reaped, or if it belongs to
/// another user.
///
/// The clock is exact while the process sleeps, and advances in ticks of up to 4 ms while it runs.
pub(crate) fn read(pid: u32) -> Option<CpuTime> {
    let cpu_ns = cpu_time(pid)?;
    let switches = switches(pid);
    Some(CpuTime {
        pid,
        cpu_ns,
        voluntary_switches: switches.map(|s| s.0),
        involuntary_switches: switches.map(|s| s.1),
    })
}

/// CPU time of all threads of the process, including ended threads, in nanoseconds. `None` if the process has ended and
/// was reaped, or if it belongs to another user.
pub fn cpu_time(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 0)?;
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both calls only write to the variable whose address they are given.
    #[expect(unsafe_code, reason = "rustix has no clocks of other processes")]
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    if failed {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Voluntary and involuntary context switches of the process's living threads.
fn switches(pid: u32) -> Option<(u64, u64)> {
    let mut sum = (0, 0);
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        // A thread may have ended in the meantime.
        let Ok(status) = read_proc(task.ok()?.path().join("status")) else {
            continue;
        };
        let (voluntary, involuntary) = in_status(&status)?;
        sum.0 += voluntary;
        sum.1 += involuntary;
    }
    Some(sum)
}

fn in_status(status: &str) -> Option<(u64, u64)> {
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.trim_start_matches(':').trim().parse().ok())
    };
    Some((
        field("voluntary_ctxt_switches")?,
        field("nonvoluntary_ctxt_switches")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::{in_status, read};

    #[test]
    fn status_file_switch_counts_are_parsed() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(in_status(status), Some((12, 3)));
        assert_eq!(in_status("Name:\tx\n"), None);
    }

    #[test]
    fn clock_of_this_process_advances() {
        let pid = std::process::id();
        let before = read(pid).unwrap();
        let mut after = read(pid).unwrap();
        while after.cpu_ns <= before.cpu_ns {
            after = read(pid).unwrap();
        }
        assert!(after.voluntary_switches.is_some());
    }

    #[test]
    fn dead_process_has_no_clock() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(read(child.id()), None);
        assert_eq!(read(0), None);
        assert_eq!(read(u32::MAX), None);
    }
}
