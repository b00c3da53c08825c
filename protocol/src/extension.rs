//! An extension of a display server.

use crate::Symbol;

/// An extension of a display server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The extension's name in the protocol: `RENDER`, `MIT-SHM`.
    pub name: Symbol,
    /// The extension's major opcode.
    pub major: u8,
    /// The code of the extension's first event; 0 if it has no events.
    pub first_event: u8,
    /// The code of the extension's first error; 0 if it has no errors.
    pub first_error: u8,
}
