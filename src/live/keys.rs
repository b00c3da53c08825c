//! Reads the user's keys for the live view from the terminal. Ctrl-C still interrupts the program.

use std::fs::File;
use std::io::{self, Read};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// The terminal's keyboard while the view reads keys. Dropping the value restores the terminal's mode.
pub(super) struct Keys {
    terminal: File,
    before: Termios,
}

impl Keys {
    /// Makes the terminal deliver single keys without echo. Fails if another program controls the terminal.
    pub(super) fn open() -> io::Result<Keys> {
        let terminal = File::open("/dev/tty")?;
        if tcgetpgrp(&terminal)? != getpgrp() {
            return Err(io::Error::other("in the background"));
        }
        let before = tcgetattr(&terminal)?;
        let mut now = before.clone();
        // Signals stay enabled, so that Ctrl-C ends the recorded program as without x11prof (termios(3)).
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        // The view reads Ctrl-Z as a key, because it must restore the terminal before it stops. 0 is no key.
        now.special_codes[SpecialCodeIndex::VSUSP] = 0;
        now.special_codes[SpecialCodeIndex::VMIN] = 0;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Now, &now)?;
        Ok(Keys { terminal, before })
    }

    /// Returns the keys typed since the last call, without waiting.
    pub(super) fn typed(&mut self) -> String {
        let mut bytes = [0; 64];
        // A closed terminal has no input.
        let read = self.terminal.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A closed terminal needs no restoring.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
