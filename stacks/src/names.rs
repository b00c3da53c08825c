//! Looks up names and source lines of functions in the programs' files, also after the process has ended.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::debug_files::DebugFiles;
use crate::frames::Frame;
use crate::isolated::{IsolatedProcess, READING};
use crate::symbols::{Functions, SymbolRequest};

/// The first argument of a process of this program that runs [`serve_symbols`](crate::serve_symbols).
pub const SYMBOL_READER: &str = "x11prof-symbols";
/// The number of files that may end the process by crashing it. Afterwards no more files are read.
const FAILURES: usize = 3;
/// The maximum total length of the names of the functions that are inlined at one address, in bytes.
const LONGEST: u64 = 16 << 20;

/// Looks up the names of functions in a separate process ([`serve_symbols`](crate::serve_symbols)), each name once. A
/// file that crashes the process has no names.
#[derive(Debug, Default)]
pub struct Names {
    debug_files: Option<DebugFiles>,
    stop: Arc<AtomicBool>,
    known: HashMap<Frame, Functions>,
    failed: BTreeSet<Arc<str>>,
    reader: Option<IsolatedProcess>,
}

impl Names {
    /// Creates an object that looks up no more names when `stop` becomes true. If `downloads`, it requests missing debug
    /// information from a server, if the user has configured one (DEBUGINFOD_URLS).
    pub fn stopped_by(stop: Arc<AtomicBool>, downloads: bool) -> Names {
        Names {
            debug_files: downloads.then(DebugFiles::default),
            stop,
            ..Names::default()
        }
    }

    /// The functions at the address of the frame, the innermost first, including inlined functions; empty if none is
    /// found.
    pub fn of(&mut self, frame: &Frame) -> &Functions {
        if !self.known.contains_key(frame) {
            let found = self.read(frame);
            self.known.insert(frame.clone(), found);
        }
        &self.known[frame]
    }

    /// The paths of files whose symbols could not be read, because they crashed the libraries or needed too much memory
    /// or time.
    pub fn failed(&self) -> impl Iterator<Item = &str> {
        self.failed.iter().map(AsRef::as_ref)
    }

    fn read(&mut self, frame: &Frame) -> Functions {
        let file = &frame.file;
        let is_out = self.failed.len() >= FAILURES || self.failed.contains(file);
        if is_out || file.is_empty() || self.is_stopped() {
            return Functions::default();
        }
        let debug_files = self.debug_files.as_ref();
        let debug_file = debug_files.and_then(|files| files.known(file));
        let wants_build_id = debug_files.is_some_and(|files| files.can_request(file));
        let Some((functions, build_id)) = self.ask(frame, debug_file, wants_build_id) else {
            return Functions::default();
        };
        if let Some(files) = self.debug_files.as_mut().filter(|_| wants_build_id) {
            files.request(file, build_id, &self.stop);
            let debug_file = files.known(file);
            if debug_file.is_some() {
                let found = self.ask(frame, debug_file, false);
                return found.map_or(functions, |(functions, _)| functions);
            }
        }
        functions
    }

    /// Returns the functions, and the file's build id if it was requested; `None` if the process failed.
    fn ask(
        &mut self,
        frame: &Frame,
        debug_file: Option<String>,
        wants_build_id: bool,
    ) -> Option<(Functions, Option<String>)> {
        let request = SymbolRequest {
            file: Cow::Borrowed(&frame.file),
            address: frame.address,
            debug_file,
            wants_build_id,
        };
        let mut read = || -> io::Result<(Functions, Option<String>)> {
            let mut reader = match self.reader.take() {
                Some(reader) => reader,
                None => IsolatedProcess::start([SYMBOL_READER])?.stopped_by(&self.stop),
            };
            let found = reader.reply(&request, LONGEST, READING)?;
            self.reader = Some(reader);
            Ok(found)
        };
        match read() {
            Ok(found) => Some(found),
            Err(_) if self.is_stopped() => None,
            Err(_) => {
                self.failed.insert(Arc::clone(&frame.file));
                None
            }
        }
    }

    /// True if no more names are looked up.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
