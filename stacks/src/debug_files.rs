//! Downloads debug files of distributed programs from a debuginfod server, with elfutils' `debuginfod-find`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object::{Object, ObjectSection, ReadCache};

use crate::build_id::build_id;
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

/// Finds the debug files of program files, with one request to the servers for each program file.
#[derive(Debug)]
pub(crate) struct DebugFiles {
    known: HashMap<Arc<str>, Option<PathBuf>>,
    asks: bool,
}

impl DebugFiles {
    /// Creates an object that requests debug files only if the user has named servers (DEBUGINFOD_URLS).
    pub(crate) fn new() -> DebugFiles {
        DebugFiles {
            known: HashMap::new(),
            asks: are_named(),
        }
    }

    /// The path of the debug file of a program file; `None` if the program file has all debug information, or if no
    /// server has a debug file.
    pub(crate) fn of(&mut self, file: &Arc<str>) -> Option<PathBuf> {
        if !self.known.contains_key(file) {
            let found = self.asks.then(|| self.ask(file)).flatten();
            self.known.insert(Arc::clone(file), found);
        }
        self.known.get(file)?.clone()
    }

    fn ask(&mut self, file: &str) -> Option<PathBuf> {
        let build_id = lacking(Path::new(file))?;
        let begun = Instant::now();
        let mut command = program(PROGRAM);
        command.args(["debuginfo", &build_id]).stdin(Stdio::null());
        let asked = command.stderr(Stdio::null()).output();
        let asked = asked.inspect_err(|_| self.asks = false).ok()?;
        if !asked.status.success() {
            // The user may have ended the download with a signal.
            self.asks = begun.elapsed() < SLOW && asked.status.code().is_some();
            return None;
        }
        let path = asked.stdout.trim_ascii();
        Some(PathBuf::from(OsStr::from_bytes(path)))
    }
}

/// True if the user has named servers for debug files (DEBUGINFOD_URLS).
pub fn are_named() -> bool {
    std::env::var_os(SERVERS).is_some_and(|servers| !servers.as_bytes().trim_ascii().is_empty())
}

/// The build id of a file that has no line tables and no installed debug file; `None` for other files.
fn lacking(file: &Path) -> Option<String> {
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
