//! Downloads debug files of distributed programs from a debuginfod server, with elfutils' `debuginfod-find`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use object::{Object, ObjectSection, ReadCache};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::build_id::build_id;
use crate::isolated::BEAT;
use crate::{open_regular, program};

/// The program that downloads debug files, with a separate cache.
const PROGRAM: &str = "debuginfod-find";
/// The variable with the servers' addresses. Without it the program is not called.
const SERVERS: &str = "DEBUGINFOD_URLS";
/// The folders of debug files that the distribution has installed, by build id.
const INSTALLED: [&str; 2] = ["/usr/lib/debug/.build-id", "/lib/debug/.build-id"];
/// The longest time in which a server replies that it does not have a file. After a slower failure, no server is
/// contacted again.
const SLOW: Duration = Duration::from_secs(3);
/// The maximum time of a download.
const DOWNLOADING: Duration = Duration::from_secs(600);
/// The maximum length of the path of a debug file, in bytes.
const LONGEST: u64 = libc::PATH_MAX as u64;

/// Finds the debug files of program files, with one request to the servers for each program file.
#[derive(Debug, Default)]
pub(crate) struct DebugFiles {
    known: HashMap<Arc<str>, Option<String>>,
    is_off: bool,
}

impl DebugFiles {
    /// The path of the debug file of a program file; `None` if no server has one, and if none was requested.
    pub(crate) fn known(&self, file: &Arc<str>) -> Option<String> {
        self.known.get(file)?.clone()
    }

    /// True if the debug file of a program file may be requested.
    pub(crate) fn can_request(&self, file: &Arc<str>) -> bool {
        !self.is_off && !self.known.contains_key(file) && are_named()
    }

    /// Requests the debug file of the program file with this build id; none without a build id, because the file then
    /// lacks nothing. `stop` ends the download.
    pub(crate) fn request(&mut self, file: &Arc<str>, build_id: Option<String>, stop: &AtomicBool) {
        let begun = Instant::now();
        let found = build_id.and_then(|build_id| {
            let mut command = program(PROGRAM);
            answer(command.args(["debuginfo", &build_id]), stop)
        });
        self.is_off |= found.is_none() && begun.elapsed() >= SLOW;
        self.known.insert(Arc::clone(file), found);
    }
}

/// The path that the program prints; `None` if it fails, is stopped, takes too long, or prints something else.
fn answer(command: &mut Command, stop: &AtomicBool) -> Option<String> {
    // A pipe could stay open in another program.
    let mut out = File::from(memfd_create("x11prof-debug-file", MemfdFlags::CLOEXEC).ok()?);
    let command = command.stdin(Stdio::null()).stderr(Stdio::null());
    // In a separate group, it can be ended with the programs that it started.
    let command = command.stdout(out.try_clone().ok()?).process_group(0);
    let mut child = command.spawn().ok()?;
    let pid = Pid::from_child(&child);
    let until = Instant::now() + DOWNLOADING;
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let is_stopped = || stop.load(Ordering::Relaxed) || Instant::now() >= until;
    while !is_stopped() && matches!(waitid(WaitId::Pid(pid), ended), Ok(None)) {
        thread::sleep(BEAT);
    }
    // It has not been waited for, so the group still has its id.
    let _ = kill_process_group(pid, Signal::KILL);
    // It may have left the group.
    let _ = child.kill();
    let status = child.wait().ok()?;
    out.rewind().ok()?;
    let path = io::read_to_string(out.take(LONGEST)).ok()?;
    let path = path.trim_end();
    (status.success() && open_regular(Path::new(path)).is_ok()).then(|| path.to_owned())
}

/// True if the user has named servers for debug files (DEBUGINFOD_URLS).
pub fn are_named() -> bool {
    std::env::var_os(SERVERS).is_some_and(|servers| !servers.as_bytes().trim_ascii().is_empty())
}

/// The build id of a file that has no line tables and no installed debug file; `None` for other files.
pub(crate) fn lacking(file: &Path) -> Option<String> {
    let read = ReadCache::new(open_regular(file).ok()?);
    let elf = object::File::parse(&read).ok()?;
    let has_lines = elf
        .section_by_name(".debug_line")
        .is_some_and(|section| section.size() > 0);
    let build_id = build_id(file).filter(|_| !has_lines)?;
    let (first, rest) = build_id.split_at_checked(2)?;
    let installed = INSTALLED.map(|folder| format!("{folder}/{first}/{rest}.debug"));
    let is_installed = installed.iter().any(|path| Path::new(path).exists());
    (!is_installed).then_some(build_id)
}
