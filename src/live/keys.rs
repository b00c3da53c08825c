//! The keys of the live view: read from the terminal, which still sends Ctrl-C to the program.

use std::fs::File;
use std::io::{self, Read};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

use super::rates::Order;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Rows in this order.
    Sort(Order),
    /// The end of the recording.
    Quit,
}

impl Key {
    /// What a byte that was typed asks for, if anything.
    fn of(byte: u8) -> Option<Key> {
        match byte {
            b't' => Some(Key::Sort(Order::Time)),
            b'n' => Some(Key::Sort(Order::Number)),
            b'b' => Some(Key::Sort(Order::Bytes)),
            b'a' => Some(Key::Sort(Order::Name)),
            b'q' => Some(Key::Quit),
            _ => None,
        }
    }
}

/// The terminal's keyboard while the view has it; dropped, it is as before.
pub(super) struct Keys {
    terminal: File,
    before: Termios,
}

impl Keys {
    /// Takes the keys of the terminal, one by one and unseen. Not those of a terminal that another program has.
    pub(super) fn open() -> io::Result<Keys> {
        let terminal = File::open("/dev/tty")?;
        if tcgetpgrp(&terminal)? != getpgrp() {
            return Err(io::Error::other("in the background"));
        }
        let before = tcgetattr(&terminal)?;
        let mut now = before.clone();
        // Signals stay on: Ctrl-C ends the recorded program as it would without us (termios(3)).
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        now.special_codes[SpecialCodeIndex::VMIN] = 0;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Now, &now)?;
        Ok(Keys { terminal, before })
    }

    /// What was typed since; it never waits.
    pub(super) fn typed(&mut self) -> Vec<Key> {
        let mut bytes = [0; 64];
        // A terminal that has gone types nothing.
        let read = self.terminal.read(&mut bytes).unwrap_or(0);
        bytes[..read].iter().copied().filter_map(Key::of).collect()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Order};

    #[test]
    fn keys_sort_and_quit() {
        let asked: Vec<Key> = b"tnbaq\x1bQ".iter().copied().filter_map(Key::of).collect();
        let orders = [Order::Time, Order::Number, Order::Bytes, Order::Name];
        let mut expected: Vec<Key> = orders.into_iter().map(Key::Sort).collect();
        expected.push(Key::Quit);
        assert_eq!(asked, expected);
    }
}
