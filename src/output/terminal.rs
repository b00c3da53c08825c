//! The terminal on which results are printed: its width, colours, and pager.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use x11prof_proxy::before_default;
use x11prof_stacks::program;
use x11prof_views::{Page, ROWS, WIDTH};

/// Returns the layout for a text that is written to the file `to`, or to standard output. The text has `all` rows, or
/// the `top` first rows.
pub(crate) fn page(to: Option<&Path>, all: bool, top: Option<usize>) -> Page {
    let terminal = to.is_none() && io::stdout().is_terminal();
    let page = Page {
        width: match terminal {
            true => width().unwrap_or(WIDTH),
            false => WIDTH,
        },
        colour: terminal && has_colours(),
        ..Page::default()
    };
    let page = if all { page.whole() } else { page };
    Page {
        rows: top.unwrap_or(if all { usize::MAX } else { ROWS }),
        ..page
    }
}

fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Returns true unless the user disables colours (no-color.org) or the terminal does not support colours.
fn has_colours() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// The pager: a program that shows long results one screen at a time.
pub(super) struct Pager {
    child: Child,
    input: Option<ChildStdin>,
    /// Locked for ever while a signal ends the process.
    ending: Arc<Mutex<()>>,
}

impl Pager {
    /// Starts $PAGER, or less with git's options, if standard output is a terminal. If the pager does not exist, `cat`
    /// prints the text. Returns `None` if the user disabled the pager with an empty PAGER or `cat`, or if no shell can
    /// be started.
    pub(super) fn start() -> Option<Pager> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let wanted = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        if matches!(wanted.trim(), "" | "cat") {
            return None;
        }
        let mut command = program("sh");
        // Git's settings: quit if the text fits the screen, keep colours, do not clear the screen.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        // The pager changes the mode. The shell uses the terminal again when x11prof ends.
        let mode = tcgetattr(io::stdout());
        // Without a pager the text is printed directly.
        let mut child = command
            .args([
                "-c",
                "command -v \"${1%% *}\" >/dev/null || exec cat; eval \"exec $1\"",
                "sh",
                &wanted,
            ])
            .stdin(Stdio::piped())
            .spawn()
            .ok()?;
        // While the pager runs, Ctrl-C belongs to the pager.
        crate::ignore(SIGINT);
        let pager = Pid::from_child(&child);
        let ending = Arc::new(Mutex::new(()));
        let lock = Arc::clone(&ending);
        let _ = before_default(&[SIGTERM, SIGHUP, SIGQUIT], move || {
            std::mem::forget(lock.lock());
            let restore = |mode| tcsetattr(io::stdout(), OptionalActions::Now, mode);
            let _ = mode.as_ref().map(restore);
            let _ = kill_process(pager, Signal::TERM);
        });
        let input = child.stdin.take();
        Some(Pager {
            child,
            input,
            ending,
        })
    }

    /// Waits until the user quits the pager. Does not return if a signal ends this process: the signal is its status.
    pub(super) fn finish(mut self) {
        drop(self.input.take());
        // The pager's exit status does not matter.
        let _ = self.child.wait();
        drop(self.ending.lock());
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), ChildStdin::flush)
    }
}
