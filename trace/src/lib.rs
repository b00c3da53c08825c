//! The trace file of x11prof: its records, writer, reader and recovery, based on `io::Read` and `io::Write`. Defines
//! `Timestamp`, `ConnectionId` and `Direction`.
//!
//! A trace contains the bytes of connections and the kernel's records about processes. This crate does not interpret
//! the bytes and contains no X11 code. Callers open the files and read the clocks.
//!
//! The format is specified in docs/FORMAT.md.

mod block;
mod checkpoint;
mod connection_id;
mod error;
mod format;
mod handler_times;
mod last_words;
mod lengths;
mod limits;
mod messages;
mod network;
mod parts;
mod reader;
mod record;
mod recovery;
mod schedule;
mod source;
mod system_call;
mod time;
mod writer;

pub use block::BlockHead;
pub use checkpoint::{
    AwaitedReply, Endian, Existing, ExistingAtom, ExistingClient, ExistingDrawable, ExistingFormat,
    ExistingWindow, Joined,
};
pub use connection_id::ConnectionId;
pub use error::TraceError;
pub use format::FORMAT;
pub use last_words::last_words;
pub use limits::check_limits;
pub use network::{EmulatedNetwork, Line, Transmission};
pub use parts::cut;
pub use reader::Reader;
pub use record::{
    Block, BlockedOn, Control, CpuTime, Direction, ExtensionOpcodes, Gap, HandlerTime, Link,
    Opened, Part, Record, RequestRun, RoundTrip, Server, StackFrame, Started, Switch, SwitchKind,
    SymbolFunction, Transfer, WaitPeer, Waiting,
};
pub use recovery::{Recovery, recover, tells_recovery};
pub use system_call::SystemCall;
pub use time::{Timestamp, utc_date};
pub use writer::Writer;
