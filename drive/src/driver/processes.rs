//! The program and its child processes. Reads their state and CPU time from the kernel.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::DriveError;

/// The time between SIGTERM and SIGKILL when the driver ends the program.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of child processes, and of threads of each process, that are read.
const MOST: usize = 10_000;

/// The driven program.
pub(super) enum Program {
    /// A process that the driver has started, and which it ends when the session is over.
    Ours(Child),
    /// An existing process with this id, which continues to run after the session.
    There(Pid),
}

/// The total CPU time (in nanoseconds) and the number of all threads of a program and its child processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Activity {
    run_ns: u64,
    threads: usize,
    /// True if a thread runs or waits for the disk, or if the first thread of a process is in a sleep system call, as
    /// in a program that sleeps during its response.
    pub(super) is_busy: bool,
}

impl Program {
    /// Starts the command (a program and its arguments). Orphaned processes become children of the driver.
    pub(super) fn start(command: &[OsString]) -> Result<Program, DriveError> {
        let (name, arguments) = command
            .split_first()
            .unwrap_or((const { &OsString::new() }, &[]));
        // If this fails, the driver does not see daemons that the program starts.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let child = Command::new(name)
            .args(arguments)
            .stdin(Stdio::null())
            // Standard output is reserved for the result.
            .stdout(std::io::stderr())
            .spawn();
        let child = child.map_err(|why| DriveError::Program {
            program: name.to_string_lossy().into_owned(),
            why,
        })?;
        Ok(Program::Ours(child))
    }

    /// The program and all processes that it has started.
    fn all(&self) -> Vec<Pid> {
        match self {
            Program::Ours(_) => descendants(rustix::process::getpid()),
            Program::There(pid) if is_dead(*pid) => Vec::new(),
            Program::There(pid) => {
                let mut all = descendants(*pid);
                all.push(*pid);
                all
            }
        }
    }

    /// How the program has ended, as text: it was killed, or all processes that it has started have ended too. `None` if
    /// it is running.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = match self {
            Program::Ours(child) => child.try_wait().ok().flatten(),
            Program::There(_) => None,
        };
        match status.and_then(|status| status.signal()) {
            Some(signal) => Some(format!("the program ended (signal {signal})")),
            None => self.is_over().then(|| "the program ended".to_owned()),
        }
    }

    /// True if the process is the program's first one.
    pub(super) fn is(&self, process: Option<Pid>) -> bool {
        process
            == Some(match self {
                Program::Ours(child) => Pid::from_child(child),
                Program::There(pid) => *pid,
            })
    }

    fn is_over(&mut self) -> bool {
        let is_running = match self {
            Program::Ours(child) => matches!(child.try_wait(), Ok(None)),
            Program::There(_) => false,
        };
        !is_running && self.all().is_empty()
    }

    /// Reads the current activity of the program and its child processes from the kernel.
    pub(super) fn activity(&self) -> Activity {
        let mut activity = Activity {
            run_ns: 0,
            threads: 0,
            is_busy: false,
        };
        for pid in self.all() {
            for thread in threads(pid) {
                let of = format!("/proc/{pid}/task/{thread}");
                let text = |file| read_proc(format!("{of}/{file}")).unwrap_or_default();
                let ran = text("schedstat");
                let ran = ran.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
                activity.run_ns = activity.run_ns.wrapping_add(ran.unwrap_or(0));
                activity.threads += 1;
                activity.is_busy |= matches!(state(&of), Some('R' | 'D'));
                // Only the first thread counts, because other threads may sleep between the iterations of a loop.
                activity.is_busy |= thread == pid.to_string() && sleeps(&text("syscall"));
            }
        }
        activity
    }

    /// Ends the program and all processes that it has started, if the driver started it.
    fn end(&mut self) {
        if matches!(self, Program::There(_)) {
            return;
        }
        for signal in [Signal::TERM, Signal::KILL] {
            for pid in self.all() {
                // The process may have ended already.
                let _ = kill_process(pid, signal);
            }
            let until = Instant::now() + PATIENCE;
            while !self.is_over() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

/// True if a thread's system call is a sleep (proc(5), "syscall": the number is first).
fn sleeps(syscall: &str) -> bool {
    let number = syscall
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    matches!(
        number,
        Some(libc::SYS_nanosleep | libc::SYS_clock_nanosleep)
    )
}

/// The living descendants of `pid`, without `pid` itself.
fn descendants(pid: Pid) -> Vec<Pid> {
    let mut all = Vec::new();
    let mut next = vec![pid];
    while let Some(parent) = next.pop() {
        for thread in threads(parent) {
            let path = format!("/proc/{parent}/task/{thread}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            for child in children.split(' ').filter_map(|pid| pid.parse().ok()) {
                if let Some(pid) = Pid::from_raw(child)
                    && all.len() < MOST
                    && !is_dead(pid)
                {
                    all.push(pid);
                    next.push(pid);
                }
            }
        }
    }
    all
}

/// True if this process has started the process `pid`, or a process that has.
pub(super) fn is_descendant(mut pid: Pid) -> bool {
    let own = rustix::process::getpid();
    // Bounded, because process ids that are reused during the search may form a circle.
    for _ in 0..MOST {
        let parent =
            stat(&format!("/proc/{pid}")).and_then(|stat| stat.split(' ').nth(1)?.parse().ok());
        match parent.and_then(Pid::from_raw) {
            Some(parent) if parent == own => return true,
            Some(parent) => pid = parent,
            None => return false,
        }
    }
    false
}

/// True if a process has ended but was not reaped by its parent.
fn is_dead(pid: Pid) -> bool {
    matches!(state(&format!("/proc/{pid}")), None | Some('Z' | 'X'))
}

/// The state of the process or thread with this folder (proc(5), "stat"); `None` if there is none.
fn state(folder: &str) -> Option<char> {
    stat(folder)?.chars().next()
}

/// The text of a file of `/proc`. Names need not be UTF-8: the kernel cuts them after 15 bytes, perhaps within a letter.
fn read_proc(path: impl AsRef<Path>) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The fields from the state on of the process or thread with this folder (proc(5), "stat").
fn stat(folder: &str) -> Option<String> {
    let stat = read_proc(format!("{folder}/stat"))?;
    // The name before them may contain any characters in parentheses.
    stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}

fn threads(pid: Pid) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.into_string().ok())
        .take(MOST)
        .collect()
}
