//! Reads a process's properties from /proc.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::str::FromStr;

use x11prof_stacks::read_proc;

use crate::clock;

/// The maximum length of a recorded command line in bytes.
const LONGEST_COMMAND: u64 = 64 << 10;

/// The properties of a process at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProcessInfo {
    /// The path of the executable; `None` if it cannot be read.
    pub(crate) executable: Option<String>,
    /// The kernel's name of the process, at most 15 bytes; `None` if it cannot be read.
    pub(crate) name: Option<String>,
    /// The command line; the argument after `-auth` is replaced by `…`.
    pub(crate) command: Vec<String>,
    /// The start time of the process in nanoseconds of the monotonic clock, rounded to the kernel's clock tick; `None`
    /// if unknown.
    pub(crate) started_ns: Option<u64>,
}

impl ProcessInfo {
    pub(crate) fn of(pid: u32) -> ProcessInfo {
        ProcessInfo {
            executable: fs::read_link(format!("/proc/{pid}/exe"))
                .ok()
                .map(|path| path.to_string_lossy().into_owned()),
            name: fs::read(format!("/proc/{pid}/comm"))
                .ok()
                .map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned()),
            command: command_line(pid),
            started_ns: started(pid),
        }
    }
}

/// True if a process has ended, even if its parent has not reaped it.
pub(crate) fn has_ended(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe"));
    program.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Returns true if a process leads its session. The leader may be in another PID namespace, as for `docker exec`: then
/// getsid(2) returns 0, which rustix does not expect.
pub(crate) fn leads_session(pid: u32) -> bool {
    stat_field(pid, 6) == Some(u64::from(pid))
}

/// Returns true if the first thread of a process sleeps or is stopped. A thread that waits for a processor does not sleep.
pub(crate) fn sleeps(pid: u32) -> bool {
    matches!(stat_field(pid, 3), Some('S' | 'T' | 't'))
}

/// The start time of a process in nanoseconds of the monotonic clock; `None` if unknown. The kernel counts in ticks
/// since boot, including suspension.
fn started(pid: u32) -> Option<u64> {
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let now = clock::now().as_nanos();
    let asleep = clock::since_boot_ns().saturating_sub(now);
    let since_boot = stat_field::<u64>(pid, 22)?.saturating_mul(tick);
    Some(since_boot.saturating_sub(asleep).min(now))
}

/// A field of `/proc/PID/stat` that follows the name, with the number that proc_pid_stat(5) gives it.
fn stat_field<T: FromStr>(pid: u32, number: usize) -> Option<T> {
    let stat = read_proc(format!("/proc/{pid}/stat")).ok()?;
    // The name, field 2, is in parentheses and may contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    let field = fields
        .split_ascii_whitespace()
        .nth(number.checked_sub(3)?)?;
    field.parse().ok()
}

fn command_line(pid: u32) -> Vec<String> {
    let mut bytes = Vec::new();
    let Ok(file) = fs::File::open(format!("/proc/{pid}/cmdline")) else {
        return Vec::new();
    };
    if file.take(LONGEST_COMMAND).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    split(&bytes)
}

/// The words of a command as text, as many as fit into the longest command line that is recorded.
pub(crate) fn shortened<'a>(words: impl Iterator<Item = &'a OsString>) -> Vec<String> {
    let mut left = LONGEST_COMMAND as usize;
    let fits = |word: &&OsString| {
        left = left.saturating_sub(word.len() + 1);
        left > 0
    };
    let words = words.take_while(fits);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Splits a command line at its NUL bytes, and replaces the path of a cookie file.
fn split(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut secret = false;
    bytes
        .split(|&byte| byte == 0)
        .map(|word| {
            let blank = std::mem::replace(&mut secret, word == b"-auth");
            match blank {
                true => "…".to_owned(),
                false => OsStr::from_bytes(word).to_string_lossy().into_owned(),
            }
        })
        .collect()
}

/// The processor's model name; empty if the kernel reports none.
pub fn cpu_model() -> String {
    fs::read_to_string("/proc/cpuinfo")
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name")
        .map(|(_, model)| model.trim().to_owned())
        .unwrap_or_default()
}

/// The kernel's name and release.
pub fn kernel() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}

/// The number of processors that are online.
pub fn cpus() -> u32 {
    online_cpus().len() as u32
}

/// The numbers of the processors that are online. Reads /proc if the root directory has no /sys.
pub(crate) fn online_cpus() -> Vec<u16> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    match online(&text("/sys/devices/system/cpu/online")) {
        none if none.is_empty() => in_stat(&text("/proc/stat")),
        listed => listed,
    }
}

/// The processors with a line such as `cpu3 …` in /proc/stat.
fn in_stat(stat: &str) -> Vec<u16> {
    let words = stat.lines().filter_map(|line| line.split(' ').next());
    words
        .filter_map(|word| word.strip_prefix("cpu")?.parse().ok())
        .collect()
}

/// The numbers in a list such as `0-3,8`, the kernel's notation for processors.
fn online(list: &str) -> Vec<u16> {
    list.trim()
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<u16>().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{ProcessInfo, in_stat, leads_session, online, split, stat_field};

    #[test]
    fn fields_of_a_process_are_counted_as_in_the_manual() {
        let own = std::process::id();
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        assert_eq!(stat_field(own, 4), u64::try_from(parent).ok());
        assert_eq!(stat_field::<u64>(own, 2), None);
        // A program that cargo starts leads no session.
        assert!(!leads_session(own));
    }

    #[test]
    fn processors_are_found_in_proc_stat() {
        assert_eq!(in_stat("cpu  9 8\ncpu0 5 4\ncpu3 4 4\nintr 7\n"), [0, 3]);
    }

    #[test]
    fn authority_file_argument_is_hidden() {
        assert_eq!(
            split(b"Xorg\0:0\0-auth\0/run/secret\0vt1\0"),
            ["Xorg", ":0", "-auth", "…", "vt1"]
        );
        assert_eq!(split(b"x\0\0y\0"), ["x", "", "y"]);
        assert!(split(b"").is_empty());
    }

    #[test]
    fn this_process_is_described() {
        let info = ProcessInfo::of(std::process::id());
        let executable = std::env::current_exe().unwrap();
        assert_eq!(info.executable.as_deref(), executable.to_str());
        assert!(!info.command.is_empty() && info.name.is_some());
    }

    #[test]
    fn dead_process_is_unknown() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(ProcessInfo::of(child.id()), ProcessInfo::default());
    }

    #[test]
    fn processor_lists_are_parsed() {
        assert_eq!(online("0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(online("0\n"), [0]);
        assert!(online("").is_empty());
    }
}
