//! The messages of one connection, as `Connection` returns them.

use crate::{ByteOrder, SequenceNumber, Symbol};

/// One message, in stream order of its direction.
///
/// `bytes` is the recorded part of the message, from its first byte. `wire_len` is its length on the wire. The two
/// differ only if the recorder dropped the tail of a long body.
#[derive(Debug, Clone, Copy)]
pub enum Message<'a> {
    /// The first message of a client.
    ClientSetup(ClientSetup<'a>),
    /// The server's reply to the client's setup.
    ServerSetup(ServerSetup<'a>),
    /// A request.
    Request(Request<'a>),
    /// A reply, paired with its request by sequence number.
    Reply(Reply<'a>),
    /// An event.
    Event(Event<'a>),
    /// An error, paired with the request that failed.
    Error(ErrorMessage<'a>),
    /// Bytes that are not a message. Decoding of this direction continues after them if possible.
    Malformed(Malformed<'a>),
}

/// A client's connection setup. The recorder blanked its authority data.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup<'a> {
    /// The byte order that the client chose.
    pub order: ByteOrder,
    /// The protocol version that the client requested: major, minor.
    pub version: (u16, u16),
    /// Name of the authorization protocol, such as `MIT-MAGIC-COOKIE-1`.
    pub authorization: &'a [u8],
    /// The bytes kept.
    pub bytes: &'a [u8],
    /// Bytes on the wire.
    pub wire_len: u64,
}

/// The status in the server's reply to a setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetupStatus {
    /// Status 0.
    Failed,
    /// Status 1.
    Success,
    /// Status 2: further authentication is needed.
    Authenticate,
}

impl SetupStatus {
    pub(crate) fn of(code: u8) -> SetupStatus {
        match code {
            0 => SetupStatus::Failed,
            1 => SetupStatus::Success,
            _ => SetupStatus::Authenticate,
        }
    }
}

/// The server's reply to a setup.
#[derive(Debug, Clone, Copy)]
pub struct ServerSetup<'a> {
    /// Whether the server accepted the connection.
    pub status: SetupStatus,
    /// The connection's byte order.
    pub order: ByteOrder,
    /// The recorded bytes. `ServerSetup::decode` returns roots, visuals and formats.
    pub bytes: &'a [u8],
    /// Bytes on the wire.
    pub wire_len: u64,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The request's number on the connection.
    pub sequence: SequenceNumber,
    /// `PolyLine` or `RENDER:Composite`; `FOO:17` for an extension without known names; `Unknown:<major>.<minor>` for
    /// an opcode of no known extension.
    pub name: Symbol,
    /// Major opcode.
    pub major: u8,
    /// The request's second byte: the minor opcode of an extension's request, or data of a core request.
    pub minor: u8,
    /// The connection's byte order.
    pub order: ByteOrder,
    /// The bytes kept, header included.
    pub bytes: &'a [u8],
    /// Bytes on the wire, header included.
    pub wire_len: u64,
    /// Bytes of the header: 4, or 8 with a BIG-REQUESTS length.
    pub header_len: usize,
    /// True if the protocol defines a reply to this request (the paper's `blocking`, by type), and not too many requests
    /// wait for a reply already.
    pub has_reply: bool,
}

/// A reply.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The number of the request that this reply belongs to; 0 if no request has the number on the wire.
    pub sequence: SequenceNumber,
    /// The name of the request; `None` for an unpaired reply, if no pending request matches it.
    pub request: Option<Symbol>,
    /// The major and minor opcode of the request, if the reply is paired.
    pub opcode: Option<(u8, u8)>,
    /// True if this is the last reply to its request (ListFontsWithInfo has several replies).
    pub last: bool,
    /// The connection's byte order.
    pub order: ByteOrder,
    /// The bytes kept, header included.
    pub bytes: &'a [u8],
    /// Bytes on the wire, header included.
    pub wire_len: u64,
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// `Expose`, `XInputExtension:Motion`, `Present:CompleteNotify`, or `Unknown:<code>`.
    pub name: Symbol,
    /// The event code without the SendEvent bit.
    pub code: u8,
    /// True if another client sent the event (SendEvent).
    pub sent: bool,
    /// The last request that the server had handled; `None` for KeymapNotify, which has no sequence number.
    pub sequence: Option<SequenceNumber>,
    /// The connection's byte order.
    pub order: ByteOrder,
    /// The bytes kept.
    pub bytes: &'a [u8],
    /// Length on the wire: 32 bytes, more for a GenericEvent.
    pub wire_len: u64,
}

/// An error.
#[derive(Debug, Clone, Copy)]
pub struct ErrorMessage<'a> {
    /// `BadWindow`, `RENDER:BadPicture`, or `Unknown:<code>`.
    pub name: Symbol,
    /// The error code.
    pub code: u8,
    /// The number of the request that failed; 0 if no request has the number on the wire.
    pub sequence: SequenceNumber,
    /// The name of the request that failed, from the opcodes in the error.
    pub request: Symbol,
    /// The resource, atom or value that the error reports.
    pub bad_value: u32,
    /// The connection's byte order.
    pub order: ByteOrder,
    /// The bytes kept: 32.
    pub bytes: &'a [u8],
}

/// Bytes that could not be framed.
#[derive(Debug, Clone, Copy)]
pub struct Malformed<'a> {
    /// A description of the problem.
    pub why: &'static str,
    /// The first of the bytes, at most 32.
    pub bytes: &'a [u8],
    /// The number of skipped bytes.
    pub wire_len: u64,
}
