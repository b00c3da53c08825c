//! An extension of a display server.

use crate::Symbol;

/// An extension of a display server, with the numbers that the server assigned to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The name of the extension in the protocol, such as `RENDER` or `MIT-SHM`.
    pub name: Symbol,
    /// The major opcode of the extension's requests.
    pub major: u8,
    /// The code of the extension's first event; 0 if it has no events.
    pub first_event: u8,
    /// The code of the extension's first error; 0 if it has no errors.
    pub first_error: u8,
}
