//! Names and lines of functions, from the programs' files: the process may be gone.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use crate::frames::Frame;
use crate::program;
use crate::symbols::Functions;

/// The first argument of a process that runs [`serve_symbols`](crate::serve_symbols).
pub const SYMBOL_READER: &str = "x11prof-symbols";
/// The second argument: a server for debug files is asked as well.
pub const WITH_DEBUG_FILES: &str = "debug-files";
/// Files that may end the process; after that no file is read.
const FAILURES: usize = 3;
/// The longest wait for an address's functions: more than the CPU time of a file, and than most downloads.
const PATIENCE: Duration = Duration::from_secs(600);

/// Looks names up, each once, in a separate process ([`serve_symbols`](crate::serve_symbols)). A file that ends the process
/// has no names.
#[derive(Debug, Default)]
pub struct Names {
    with_debug_files: bool,
    known: HashMap<Frame, Functions>,
    failed: BTreeSet<Arc<str>>,
    reader: Option<Reader>,
}

impl Names {
    /// Has a server for debug files asked for what the programs' files lack, if the user has named one (DEBUGINFOD_URLS).
    pub fn with_debug_files() -> Names {
        Names {
            with_debug_files: true,
            ..Names::default()
        }
    }

    /// The functions of a frame.
    pub fn of(&mut self, frame: &Frame) -> &Functions {
        if !self.known.contains_key(frame) {
            let found = self.read(frame);
            self.known.insert(frame.clone(), found);
        }
        &self.known[frame]
    }

    /// The files of which the symbols could not be read: they crashed the libraries, or took too much memory or time.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.failed.iter().map(AsRef::as_ref)
    }

    fn read(&mut self, frame: &Frame) -> Functions {
        let is_out = self.failed.len() >= FAILURES || self.failed.contains(&frame.file);
        if is_out || frame.file.is_empty() {
            return Functions::default();
        }
        let reader = match self.reader.take() {
            Some(reader) => Ok(reader),
            None => Reader::start(self.with_debug_files),
        };
        let read = reader.and_then(|mut reader| Ok((reader.read(frame)?, reader)));
        match read {
            Ok((found, reader)) => {
                self.reader = Some(reader);
                found
            }
            Err(_) => {
                self.failed.insert(Arc::clone(&frame.file));
                Functions::default()
            }
        }
    }
}

/// The process. It ends when the value is dropped.
#[derive(Debug)]
struct Reader {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Reader {
    fn start(with_debug_files: bool) -> io::Result<Reader> {
        let mut child = program("/proc/self/exe")
            .arg(SYMBOL_READER)
            .args(with_debug_files.then_some(WITH_DEBUG_FILES))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(replies)) => Ok(Reader {
                child,
                requests,
                replies: BufReader::new(replies),
            }),
            _ => Err(io::Error::other("no pipes")),
        }
    }

    fn read(&mut self, frame: &Frame) -> io::Result<Functions> {
        let mut request = serde_json::to_vec(&(&*frame.file, frame.address))?;
        request.push(b'\n');
        self.requests.write_all(&request)?;
        let mut ready = [PollFd::new(self.replies.get_ref(), PollFlags::IN)];
        let patience = Timespec {
            tv_sec: PATIENCE.as_secs().cast_signed(),
            tv_nsec: 0,
        };
        if retry_on_intr(|| poll(&mut ready, Some(&patience)))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut reply = String::new();
        self.replies.read_line(&mut reply)?;
        Ok(serde_json::from_str(&reply)?)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
