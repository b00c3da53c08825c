//! A terminal (tmux) for interactive programs.

use std::process::Command;

use super::{Finished, Place, until};

/// A terminal of 80 columns and 24 lines that runs a shell; stopped when it is dropped.
pub(crate) struct Terminal {
    socket: std::path::PathBuf,
}

impl Terminal {
    pub(crate) fn start(place: &Place) -> Terminal {
        let terminal = Terminal {
            socket: place.path("tmux"),
        };
        // With several arguments tmux does not run them through a shell.
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "env",
            "PS1=$ ",
            "sh",
        ]);
        // Input typed before the shell starts would appear before its prompt.
        terminal.shows("the prompt", |screen| screen.starts_with('$'));
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(words);
        Finished::of(&mut tmux).succeeded()
    }

    pub(crate) fn types(&self, keys: &str) {
        self.tmux(&["send-keys", "-l", keys]);
    }

    /// Waits until `wanted` accepts the screen, including its scrollback, and returns it.
    pub(crate) fn shows(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        until(what, || {
            let screen = self.tmux(&["capture-pane", "-p", "-S", "-200"]);
            Some(screen).filter(|screen| wanted(screen))
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .status();
    }
}
