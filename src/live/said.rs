//! What the recorded program writes while the live view has the terminal: kept, its last line shown, all of it
//! printed afterwards.
//!
//! In memory and not in a pipe, so that the program never waits for us, and one that outlives us does not die of it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};

/// Bytes that are kept; what is more takes their place.
const KEPT: u64 = 16 << 20;
/// The last line is looked for in this many bytes.
const LINE: u64 = 1024;

/// What a program says.
#[derive(Debug, Clone)]
pub(super) struct Said {
    file: Arc<File>,
    /// Bytes that had to go.
    gone: u64,
}

impl Said {
    /// Nothing said yet.
    pub(super) fn new() -> io::Result<Said> {
        let file = memfd_create("x11prof-said", MemfdFlags::CLOEXEC)?;
        // So that it is written from its begin on after it was emptied.
        fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(Said {
            file: Arc::new(File::from(file)),
            gone: 0,
        })
    }

    /// Where the program writes to.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    fn len(&self) -> u64 {
        self.file.metadata().map_or(0, |data| data.len())
    }

    /// Drops what is there where it is too much.
    pub(super) fn bound(&mut self) {
        let len = self.len();
        if len > KEPT && self.file.set_len(0).is_ok() {
            self.gone = self.gone.saturating_add(len);
        }
    }

    /// The last line that has something in it.
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

    /// Writes all that is kept to `out`.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if self.gone > 0 {
            let gone = x11prof_views::units::bytes(self.gone);
            writeln!(out, "x11prof: {gone} of what the program wrote is left out")?;
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

    use super::{KEPT, Said};

    #[test]
    fn what_was_said_is_printed_and_is_bounded() {
        let mut said = Said::new().unwrap();
        assert_eq!(said.last_line(), None);
        let file = said.file();
        (&*file).write_all(b"one\ntwo\n\n").unwrap();
        said.bound();
        assert_eq!(said.last_line().as_deref(), Some("two"));
        let mut out = Vec::new();
        said.print(&mut out).unwrap();
        assert_eq!(out, b"one\ntwo\n\n");

        file.set_len(KEPT + 1).unwrap();
        said.bound();
        (&*file).write_all(b"three\n").unwrap();
        assert_eq!(said.last_line().as_deref(), Some("three"));
        out.clear();
        said.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "x11prof: 16.8 MB of what the program wrote is left out\nthree\n"
        );
    }
}
