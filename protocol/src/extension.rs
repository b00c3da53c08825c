//! One extension of a display server.

use crate::Symbol;

/// An extension of a display server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// Its name in the protocol: `RENDER`, `MIT-SHM`.
    pub name: Symbol,
    /// Its major opcode.
    pub major: u8,
    /// The code of its first event; 0 where it has none.
    pub first_event: u8,
    /// The code of its first error; 0 where it has none.
    pub first_error: u8,
}
