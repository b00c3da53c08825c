//! The only module that writes to standard error.
//!
//! A write error (a full disk, a closed pipe) must not end x11prof, because that would end a recorded program too.
//! `eprintln!` would panic, so the lints forbid it.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use x11prof_views::{plain, plain_lines};

/// Prints a message, prefixed with the name of the program.
macro_rules! say {
    ($($words:tt)*) => { $crate::say::say_all(&$crate::say::message(&format!($($words)*))) };
}

/// Returns the line with this message. A name in the message cannot begin another line.
pub(crate) fn message(text: &str) -> String {
    format!("x11prof: {}\n", plain(&shortened(text)))
}

/// The number of bytes that a message has at most before and after the part that is left out.
const END: usize = 2048;

/// Leaves out the middle of a very long message, which is a name. The beginning has the file, the end the remedy.
fn shortened(text: &str) -> Cow<'_, str> {
    let (begin, end) = (
        text.floor_char_boundary(END),
        text.len().saturating_sub(END),
    );
    match end > begin {
        true => format!(
            "{} … {}",
            &text[..begin],
            &text[text.ceil_char_boundary(end)..]
        )
        .into(),
        false => text.into(),
    }
}

/// The width of errors if standard error is no terminal.
const WIDTH: usize = 80;

/// Prints `text`, which may have several lines. On a terminal, long lines break between words.
pub(crate) fn say_all(text: &str) {
    print(text, None);
}

/// Prints an error, with breaks between words also if standard error is no terminal.
pub(crate) fn say_error(text: &str) {
    print(text, Some(WIDTH));
}

fn print(text: &str, width: Option<usize>) {
    // Lines of several threads do not mix.
    let stderr = io::stderr().lock();
    let size = stderr
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&stderr));
    let on_terminal = size
        .and_then(Result::ok)
        .map(|size| usize::from(size.ws_col));
    let text = plain_lines(text);
    let text = match on_terminal.filter(|width| *width > 0).or(width) {
        Some(width) => folded(&text, width).into(),
        None => text,
    };
    let _ = Stderr.write_all(text.as_bytes());
}

/// Standard error. A write fails with `WouldBlock` if standard error accepts no bytes in time. Writes do not use the
/// lock of the standard library, so that a thread whose terminal stops during a write blocks no other thread.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = &bytes[..bytes.len().min(PART)];
        match takes() {
            true => Ok(rustix::io::write(io::stderr(), part)?),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of bytes that a pipe accepts without blocking when it is ready (pipe(7), PIPE_BUF).
const PART: usize = 4096;
/// The longest wait for a reader of standard error. The recorded clients wait during this time.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 300_000_000,
};

/// Returns false if a write to standard error would block, because the user has stopped the terminal (Ctrl-S) or no process
/// reads the pipe. Waits up to `PATIENCE` for the reader, unless the previous call returned false.
fn takes() -> bool {
    static STALLED: AtomicBool = AtomicBool::new(false);
    let patience = match STALLED.load(Ordering::Relaxed) {
        true => Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        false => PATIENCE,
    };
    let stderr = io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let stalled = retry_on_intr(|| poll(&mut ready, Some(&patience))) == Ok(0);
    STALLED.store(stalled, Ordering::Relaxed);
    !stalled
}

/// Breaks the lines of `text` between words at `width` characters.
fn folded(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut column = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column > 0 && column + length > width {
                out.truncate(out.trim_end_matches(' ').len());
                out.push_str("\n  ");
                column = 2;
            }
            out.push_str(word);
            column += word.chars().count();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{END, folded, message};

    #[test]
    fn long_lines_break_between_words() {
        assert_eq!(
            folded("a message of words\n", 10),
            "a message\n  of words\n"
        );
        assert_eq!(
            folded("/a/very/long/path is kept\n", 9),
            "/a/very/long/path\n  is kept\n"
        );
        assert_eq!(folded("short\nlines\n", 9), "short\nlines\n");
    }

    #[test]
    fn middle_of_a_very_long_message_is_left_out() {
        let name = "é".repeat(100_000);
        let line = message(&format!(
            "budget.toml: no request {name:?}; did you mean PolyLine?"
        ));
        assert!(line.starts_with("x11prof: budget.toml: no request \"é"));
        assert!(line.ends_with("é\"; did you mean PolyLine?\n") && line.contains("é … é"));
        assert!(line.len() < 2 * END + 20);
        let short = "é".repeat(END);
        assert_eq!(message(&short), format!("x11prof: {short}\n"));
    }

    /// Clippy rejects `eprintln!` and similar macros, but a file could allow them. This test checks that no file does.
    #[test]
    fn only_this_module_prints() {
        let mut seen = 0;
        let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
        let root = folders[0].parent().unwrap().to_owned();
        for library in [
            "protocol",
            "trace",
            "session",
            "cost-model",
            "proxy",
            "drive",
            "stacks",
            "replay",
            "analyzer",
            "views",
            "xmeasure",
        ] {
            folders.push(root.join(library).join("src"));
        }
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                seen += 1;
                for lint in ["print_stderr", "print_stdout"] {
                    let named = text.contains(lint);
                    assert!(!named || path.ends_with("src/say.rs"), "{}", path.display());
                }
            }
        }
        assert!(seen > 100, "{seen} files");
    }
}
