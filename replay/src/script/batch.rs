//! The requests that a client sent at once.

use std::ops::Range;

use x11prof_protocol::IdKind;

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
    Segment(u32),
}

/// A request that the recorded server answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// The recorded sequence number.
    pub(crate) sequence: u64,
    /// The beginning of the request in the batch's bytes.
    pub(crate) at: u32,
}

/// A request with a descriptor.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    /// The request's bytes in the batch.
    pub(crate) bytes: Range<usize>,
    /// The number of the segment that is passed.
    pub(crate) segment: u32,
}

/// Requests of a client that the recorder read at once. Rare properties are stored separately, because a batch may
/// have a hundred thousand requests.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) client: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: u64,
    /// The recorded sequence number of the first.
    pub(crate) first: u64,
    pub(crate) patches: Vec<(u32, Patch)>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) passed: Vec<Passed>,
    /// The client had the reply (or error) of this request, and of all before it.
    pub(crate) after_reply: u64,
    /// Events that the client got since its last batch.
    pub(crate) after_events: Vec<AwaitedEvent>,
    /// True if the batch grabs the server or makes input: the server must have handled others' earlier requests.
    pub(crate) after_all: bool,
    /// True if the batch leaves the server grabbed, false if it leaves the server free; `None` if it does neither.
    pub(crate) grabs: Option<bool>,
    /// The clients whose ids the batch uses: their requests come first.
    pub(crate) uses: Vec<usize>,
}
