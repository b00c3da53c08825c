//! A child process that must not outlive this process.

use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, set_parent_process_death_signal,
};
use rustix::time::Timespec;

/// The time between SIGTERM and SIGKILL when the program is stopped.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A running program. Dropping the value stops the program. The kernel also stops it when the thread that started it
/// ends.
#[derive(Debug)]
pub(crate) struct OwnChild(Child);

/// Has the kernel end the child of `command` (SIGTERM) when the thread that starts it ends, also if it is killed. The
/// child can receive SIGTERM even if this process was started with the signal blocked.
pub fn end_with_this_process(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let with_us = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        mask_sigterm(libc::SIG_UNBLOCK);
        match rustix::process::getppid() == Some(parent) {
            true => Ok(()),
            false => Err(io::Error::from(ErrorKind::BrokenPipe)),
        }
    };
    // SAFETY: between fork and exec the closure only makes system calls and allocates nothing.
    #[expect(
        unsafe_code,
        reason = "only the child itself can ask for its parent's death signal"
    )]
    unsafe {
        command.pre_exec(with_us)
    }
}

/// Blocks or unblocks SIGTERM for the calling thread; `how` is SIG_BLOCK or SIG_UNBLOCK.
fn mask_sigterm(how: libc::c_int) {
    // SAFETY: the calls only write the set, which is valid when all of it is zero, and the thread's signal mask.
    #[expect(unsafe_code, reason = "rustix has no call for the signal mask")]
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

impl OwnChild {
    /// Starts the program of `command`.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<OwnChild> {
        // The terminal sends Ctrl-C to a process group. Only the recorded command must end at once, the server ends later.
        command.process_group(0);
        end_with_this_process(command).spawn().map(OwnChild)
    }

    /// The process id of the program.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns the program's standard output on the first call, `None` later.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// True if the program has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }
}

impl Drop for OwnChild {
    /// Terminates the program, and kills it if it does not end in time.
    fn drop(&mut self) {
        // The child has not been reaped, so the process id still belongs to it.
        if self.has_ended() {
            return;
        }
        let pid = Pid::from_child(&self.0);
        // The program may be a script that has started the server.
        let _ = kill_process_group(pid, Signal::TERM);
        // A stopped process takes the signal when it continues.
        let _ = kill_process_group(pid, Signal::CONT);
        if let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) {
            let mut fds = [PollFd::new(&ended, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&until(Instant::now() + STOP_PATIENCE)));
        }
        if !self.has_ended() {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// The time that remains until `deadline`; zero after it.
pub(crate) fn until(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Returns the last lines of a server's output `said`, for an error message. The output is long, and the cause is at its end.
pub(crate) fn last_words(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let last = lines
        .get(lines.len().saturating_sub(4)..)
        .unwrap_or_default();
    match last.is_empty() {
        true => String::new(),
        false => format!("; its output: {}", last.join(" / ")),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{OwnChild, mask_sigterm};

    #[test]
    fn child_receives_sigterm_though_the_starting_thread_blocks_it() {
        mask_sigterm(libc::SIG_BLOCK);
        let child = OwnChild::spawn(Command::new("sleep").arg("100")).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let blocked = status
            .lines()
            .find_map(|line| line.strip_prefix("SigBlk:\t"));
        let blocked = u64::from_str_radix(blocked.unwrap(), 16).unwrap();
        assert_eq!(blocked & 1 << (libc::SIGTERM - 1), 0);
    }
}
