//! The requests that a client sent at once.

use std::ops::Range;

use x11prof_protocol::{IdKind, Symbol};

use super::AwaitedEvent;

/// A place in a batch's bytes that is the display's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patch {
    Id(IdKind),
    /// A number that is an id if a client has it (in properties and events).
    IdIfKnown,
    /// A number that is a time if an event had it, or else an id or an atom (in messages between clients).
    AnyIfKnown,
    /// The major opcode of an extension.
    Major,
    /// The identifier of a segment of shared memory, by its number in the script.
    Segment(usize),
}

/// A request in a batch.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) name: Symbol,
    /// The recorded sequence number.
    pub(crate) sequence: u64,
    /// Its bytes in the batch.
    pub(crate) bytes: Range<usize>,
    /// The recorded server answered it.
    pub(crate) answered: bool,
    /// A descriptor goes with it: of the segment with this number.
    pub(crate) descriptor: Option<usize>,
}

/// Requests of a client that the recorder read at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) client: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) patches: Vec<(usize, Patch)>,
    pub(crate) requests: Vec<Sent>,
    /// The client had the reply (or error) of this request, and of all before it.
    pub(crate) after_reply: u64,
    /// Events that the client got since its last batch.
    pub(crate) after_events: Vec<AwaitedEvent>,
    /// It grabs the server or makes input: all that other clients sent before must be handled by then.
    pub(crate) after_all: bool,
    /// Another client's ids are in it: that client's requests come first.
    pub(crate) uses: Vec<usize>,
}
