//! A batch: requests of a client that are sent together, and the messages that must precede them in a replay.

use std::ops::Range;

use x11prof_protocol::IdKind;

use super::AwaitedEvent;

/// A value in a batch's bytes that the player must replace by the display's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patch {
    Id(IdKind),
    /// A number that is a resource id only if it lies in a client's id range (in properties and events).
    IdIfKnown,
    /// A number in a message between clients. It is a time if a recorded event had this time, otherwise a resource id
    /// if it lies in a client's id range, otherwise an atom.
    AnyIfKnown,
    /// The major opcode of an extension, one byte.
    Major,
    /// The code of an extension's event, one byte.
    EventCode,
    /// The System V identifier of the shared memory segment with this number in the script.
    Segment(u32),
}

/// A request that has a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepliedRequest {
    /// The number of requests before it in the batch.
    pub(crate) before: u32,
    /// The offset of the request in the batch's bytes.
    pub(crate) at: u32,
}

/// A request that passes a file descriptor.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    /// The range of the request in the batch's bytes.
    pub(crate) bytes: Range<usize>,
    /// The number in the script of the shared memory segment whose descriptor is passed.
    pub(crate) segment: u32,
}

/// Requests of a client that the recorder read at once. Rare properties of requests are stored for the batch, because
/// a batch may contain a hundred thousand requests.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) client: usize,
    pub(crate) bytes: Vec<u8>,
    /// The offsets in `bytes` at which bytes are missing from the recording, each with the number of missing bytes.
    pub(crate) omitted: Vec<(usize, usize)>,
    pub(crate) requests: u64,
    /// The recorded sequence number of the batch's first request.
    pub(crate) first: u64,
    pub(crate) patches: Vec<(u32, Patch)>,
    pub(crate) asked: Vec<RepliedRequest>,
    pub(crate) passed: Vec<Passed>,
    /// The recorded sequence number of the last request whose reply or error the client had received before the batch.
    pub(crate) after_reply: u64,
    /// The recorded sequence number of the client's BIG-REQUESTS:Enable; `None` before that request.
    pub(crate) enable: Option<u64>,
    /// True if the batch contains a request with a BIG-REQUESTS length.
    pub(crate) is_long: bool,
    /// Events that the client received after its previous batch and before this one.
    pub(crate) after_events: Vec<AwaitedEvent>,
    /// True if the batch grabs the server or sends input. The display must first have handled the earlier requests of
    /// all clients.
    pub(crate) after_all: bool,
    /// True if the batch leaves the server grabbed, false if the batch releases the grab; `None` if it does neither.
    pub(crate) grabs: Option<bool>,
    /// The indexes of other clients whose resource ids the batch uses. The display must handle their earlier requests first.
    pub(crate) uses: Vec<usize>,
}
