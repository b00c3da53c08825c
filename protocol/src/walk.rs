//! Message boundaries by lengths alone, with no buffering beyond a message's header.

/// Who sent the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Client to server.
    Client,
    /// Server to client.
    Server,
}

/// What kind of message a head opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadKind {
    /// The client's connection setup.
    ClientSetup,
    /// The server's answer to it.
    ServerSetup,
    /// A request.
    Request,
    /// A reply.
    Reply,
    /// An event.
    Event,
    /// An error.
    Error,
}

/// The head of a message: all that its header tells without decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The kind of message.
    pub kind: HeadKind,
    /// Its first byte: major opcode, event or error code; 1 for a reply; for setups the first byte.
    pub code: u8,
    /// Its second byte: minor opcode or data.
    pub data: u8,
    /// Bytes of the header: 4 or 8 for a request, 12 and 8 for setups, 32 otherwise.
    pub header_len: u32,
    /// Bytes of the whole message, header included.
    pub len: u64,
}
