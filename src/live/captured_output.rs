//! Captures the recorded program's output while the live view uses the terminal. The view shows the last line, and
//! prints the whole output when the view ends.
//!
//! The output goes to a memory file and not to a pipe. Therefore the program never waits for the view, and a program
//! that outlives the view gets no SIGPIPE.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, OFlags, SealFlags, fcntl_add_seals, fcntl_setfl, memfd_create};

/// The maximum number of captured bytes. When the output exceeds this size, the captured bytes are dropped.
const KEPT: u64 = 16 << 20;
/// The number of bytes at the end of the output in which the last line is searched.
const LINE: u64 = 1024;

/// The captured output of a program.
#[derive(Debug, Clone)]
pub(super) struct CapturedOutput {
    file: Arc<File>,
    /// The number of bytes dropped so far.
    gone: u64,
}

impl CapturedOutput {
    /// Creates an empty memory file for the output.
    pub(super) fn new() -> io::Result<CapturedOutput> {
        let file = memfd_create(
            "x11prof-output",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?;
        // After truncation, writes start at the beginning of the file.
        fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(CapturedOutput {
            file: Arc::new(File::from(file)),
            gone: 0,
        })
    }

    /// The file to which the program writes.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |data| data.len())
    }

    /// Drops the captured bytes if there are more than `KEPT`.
    pub(super) fn bound(&mut self) {
        let len = self.len();
        if len > KEPT && self.file.set_len(0).is_ok() {
            self.gone = self.gone.saturating_add(len);
        }
    }

    /// Returns the last line of the output that is not blank.
    pub(super) fn last_line(&self) -> Option<String> {
        let len = self.len();
        let mut bytes = vec![0; usize::try_from(len.min(LINE)).unwrap_or(0)];
        self.file
            .read_exact_at(&mut bytes, len.saturating_sub(LINE))
            .ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines().rev();
        lines
            .find(|line| !line.trim().is_empty())
            .map(str::to_owned)
    }

    /// Ends the capture: writes of a program that goes on fail from now on.
    pub(super) fn end(&self) {
        // Without the seal, its output would take memory without a bound.
        let _ = fcntl_add_seals(&*self.file, SealFlags::GROW);
    }

    /// Writes the kept output to `out`.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.gone > 0 {
            let gone = x11prof_views::units::bytes(self.gone);
            writeln!(out, "x11prof: {gone} of the program's output is omitted")?;
        }
        let (mut at, len) = (0, self.len());
        let mut bytes = vec![0; 64 << 10];
        while at < len {
            match self.file.read_at(&mut bytes, at)? {
                0 => break,
                read => {
                    out.write_all(&bytes[..read])?;
                    at += read as u64;
                }
            }
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{CapturedOutput, KEPT};

    #[test]
    fn captured_output_is_printed_and_bounded_in_size() {
        let mut captured = CapturedOutput::new().unwrap();
        assert_eq!(captured.last_line(), None);
        let file = captured.file();
        (&*file).write_all(b"one\ntwo\n\n").unwrap();
        captured.bound();
        assert_eq!(captured.last_line().as_deref(), Some("two"));
        let mut out = Vec::new();
        captured.print(&mut out).unwrap();
        assert_eq!(out, b"one\ntwo\n\n");

        file.set_len(KEPT + 1).unwrap();
        captured.bound();
        (&*file).write_all(b"three\n").unwrap();
        assert_eq!(captured.last_line().as_deref(), Some("three"));
        out.clear();
        captured.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "x11prof: 16.8 MB of the program's output is omitted\nthree\n"
        );
        captured.end();
        assert!((&*file).write_all(b"four\n").is_err());
    }
}
