//! The trace file of x11prof: its records, writer, reader and recovery, over `io::Read` and
//! `io::Write`. Owns `Timestamp`, `ConnectionId` and `Direction`.
//!
//! It carries bytes and what the kernel said about them. It knows no X11: it does not look
//! into the bytes, and it opens no file and reads no clock by itself.

mod record;
mod time;

pub use record::{
    Block, ConnectionId, Control, CpuTime, Direction, ExtensionOpcodes, Gap, Opened, Part, Record,
    Server, Started, Switch, SwitchKind, Waiting,
};
pub use time::Timestamp;
