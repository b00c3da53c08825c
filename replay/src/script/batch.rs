//! A batch: the requests that a client sent at once.

use std::ops::Range;

use x11prof_protocol::IdKind;

use super::AwaitedEvent;

/// A value in a batch's bytes that must be replaced by the display's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patch {
    Id(IdKind),
    /// A number that is an id if it lies in a client's id range (in properties and events).
    IdIfKnown,
    /// A number that is a time if an event had this time, otherwise an id or an atom (in messages between clients).
    AnyIfKnown,
    /// The major opcode of an extension.
    Major,
    /// The identifier of a shared memory segment, given by the segment's number in the script.
    Segment(u32),
}

/// A request to which the recorded server replied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepliedRequest {
    /// The recorded sequence number.
    pub(crate) sequence: u64,
    /// The offset of the request in the batch's bytes.
    pub(crate) at: u32,
}

/// A request with a descriptor.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    /// The request's bytes in the batch.
    pub(crate) bytes: Range<usize>,
    /// The number of the passed segment.
    pub(crate) segment: u32,
}

/// Requests of a client that the recorder read at once. Rare properties are stored separately, because a batch may
/// have a hundred thousand requests.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) client: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: u64,
    /// The recorded sequence number of the first request.
    pub(crate) first: u64,
    pub(crate) patches: Vec<(u32, Patch)>,
    pub(crate) asked: Vec<RepliedRequest>,
    pub(crate) passed: Vec<Passed>,
    /// The client had received the reply to (or error of) this request, and of all earlier requests.
    pub(crate) after_reply: u64,
    /// Events that the client received since its last batch.
    pub(crate) after_events: Vec<AwaitedEvent>,
    /// True if the batch grabs the server or sends input: the server must first have handled earlier requests of other
    /// clients.
    pub(crate) after_all: bool,
    /// True if the batch leaves the server grabbed, false if it leaves the server free; `None` if it does neither.
    pub(crate) grabs: Option<bool>,
    /// The clients whose ids the batch uses. Their requests must come first.
    pub(crate) uses: Vec<usize>,
}
