//! Looks up names and source lines of functions in the programs' files, also after the process has ended.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::debug_files;
use crate::frames::Frame;
use crate::isolated::{IsolatedProcess, READING};
use crate::symbols::Functions;

/// The first argument of a process of this program that runs [`serve_symbols`](crate::serve_symbols).
pub const SYMBOL_READER: &str = "x11prof-symbols";
/// The second argument of a process that runs `serve_symbols`, if it may request debug files from a server.
pub const WITH_DEBUG_FILES: &str = "debug-files";
/// The number of files that may end the process by crashing it. Afterwards no more files are read.
const FAILURES: usize = 3;
/// The maximum wait for a reply if a debug file may have to be downloaded.
const DOWNLOADING: Duration = Duration::from_secs(600);
/// The maximum total length of the names of the functions that are inlined at one address, in bytes.
const LONGEST: u64 = 16 << 20;

/// Looks up the names of functions in a separate process ([`serve_symbols`](crate::serve_symbols)), each name once. A
/// file that crashes the process has no names.
#[derive(Debug, Default)]
pub struct Names {
    with_debug_files: bool,
    known: HashMap<Frame, Functions>,
    failed: BTreeSet<Arc<str>>,
    reader: Option<IsolatedProcess>,
}

impl Names {
    /// Creates an object that also requests missing debug information from a server, if the user has configured one
    /// (DEBUGINFOD_URLS).
    pub fn with_debug_files() -> Names {
        Names {
            with_debug_files: true,
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
        let is_out = self.failed.len() >= FAILURES || self.failed.contains(&frame.file);
        if is_out || frame.file.is_empty() {
            return Functions::default();
        }
        let reader = match self.reader.take() {
            Some(reader) => Ok(reader),
            None => {
                let debug_files = self.with_debug_files.then_some(WITH_DEBUG_FILES);
                IsolatedProcess::start([SYMBOL_READER].into_iter().chain(debug_files))
            }
        };
        let request = (&*frame.file, frame.address);
        let patience = match self.with_debug_files && debug_files::are_named() {
            true => DOWNLOADING,
            false => READING,
        };
        let read =
            reader.and_then(|mut reader| Ok((reader.reply(&request, LONGEST, patience)?, reader)));
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
