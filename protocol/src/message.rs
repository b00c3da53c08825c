//! The messages of one connection, as `Connection` returns them.

use crate::{ByteOrder, SequenceNumber, Symbol};

/// One message of a connection. Messages of one direction are in stream order.
///
/// `bytes` is the recorded part of the message, from its first byte. `wire_len` is its length on the wire in bytes. The
/// two differ only if the recorder dropped the end of a long body.
#[derive(Debug, Clone, Copy)]
pub enum Message<'a> {
    /// The connection setup, the first message of a client.
    ClientSetup(ClientSetup<'a>),
    /// The reply of the server to the client's connection setup.
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

/// A client's connection setup. The recorder removed its authorization data.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup<'a> {
    /// The byte order that the client chose for the connection.
    pub order: ByteOrder,
    /// The protocol version that the client requested: major and minor version.
    pub version: (u16, u16),
    /// The name of the authorization protocol, such as `MIT-MAGIC-COOKIE-1`.
    pub authorization: &'a [u8],
    /// The recorded bytes of the client's setup.
    pub bytes: &'a [u8],
    /// The length on the wire in bytes.
    pub wire_len: u64,
}

/// The status in the server's reply to a connection setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetupStatus {
    /// Status 0: the server refused the connection.
    Failed,
    /// Status 1: the server accepted the connection.
    Success,
    /// Status 2: the server requires further authentication.
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

/// The server's reply to a connection setup.
#[derive(Debug, Clone, Copy)]
pub struct ServerSetup<'a> {
    /// The status: whether the server accepted the connection.
    pub status: SetupStatus,
    /// The byte order of the connection.
    pub order: ByteOrder,
    /// The recorded bytes of the reply. `ServerSetup::decode` returns roots, visuals and formats.
    pub bytes: &'a [u8],
    /// The length on the wire in bytes.
    pub wire_len: u64,
}

/// A request of a client.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The sequence number of the request on its connection.
    pub sequence: SequenceNumber,
    /// The name, such as `PolyLine` or `RENDER:Composite`; `FOO:17` for an extension without known names;
    /// `Unknown:<major>.<minor>` for an opcode of no known extension.
    pub name: Symbol,
    /// The major opcode of the request.
    pub major: u8,
    /// The second byte of the request: the minor opcode of an extension's request, or data of a core request.
    pub minor: u8,
    /// The byte order of the connection.
    pub order: ByteOrder,
    /// The recorded bytes, including the header.
    pub bytes: &'a [u8],
    /// The length on the wire in bytes, including the header.
    pub wire_len: u64,
    /// The length of the header in bytes: 4, or 8 with a BIG-REQUESTS length.
    pub header_len: usize,
    /// True if the protocol defines a reply to this request (the Xprof paper's `blocking`). False if too many earlier
    /// requests wait for a reply, because the connection then ignores the reply.
    pub has_reply: bool,
}

/// A reply of the server to a request.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The sequence number of the request that the reply belongs to; 0 if there is no such request.
    pub sequence: SequenceNumber,
    /// The name of the request; `None` if no pending request matches the reply.
    pub request: Option<Symbol>,
    /// The major and minor opcode of the request; `None` if no pending request matches the reply.
    pub opcode: Option<(u8, u8)>,
    /// True if this is the last reply to its request (ListFontsWithInfo has several replies).
    pub last: bool,
    /// The byte order of the connection.
    pub order: ByteOrder,
    /// The recorded bytes, including the header.
    pub bytes: &'a [u8],
    /// The length on the wire in bytes, including the header.
    pub wire_len: u64,
}

/// An event from the server.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// The name, such as `Expose`, `XInputExtension:Motion` or `Present:CompleteNotify`, or `Unknown:<code>`.
    pub name: Symbol,
    /// The code of the event, without the SendEvent bit.
    pub code: u8,
    /// True if another client sent the event (SendEvent).
    pub sent: bool,
    /// The number of the last request that the server had handled; `None` for KeymapNotify, which has no sequence
    /// number.
    pub sequence: Option<SequenceNumber>,
    /// The byte order of the connection.
    pub order: ByteOrder,
    /// The recorded bytes of the event.
    pub bytes: &'a [u8],
    /// The length on the wire in bytes: 32, more for a GenericEvent.
    pub wire_len: u64,
}

/// An error that the server reports for a request.
#[derive(Debug, Clone, Copy)]
pub struct ErrorMessage<'a> {
    /// The name, such as `BadWindow` or `RENDER:BadPicture`, or `Unknown:<code>`.
    pub name: Symbol,
    /// The code of the error.
    pub code: u8,
    /// The sequence number of the request that failed; 0 if there is no such request.
    pub sequence: SequenceNumber,
    /// The name of the request that failed, derived from the opcodes in the error.
    pub request: Symbol,
    /// The resource, atom or value that the error reports.
    pub bad_value: u32,
    /// The byte order of the connection.
    pub order: ByteOrder,
    /// The 32 bytes of the error.
    pub bytes: &'a [u8],
}

/// Bytes in which no message boundaries were found.
#[derive(Debug, Clone, Copy)]
pub struct Malformed<'a> {
    /// A description of the problem with the bytes.
    pub why: &'static str,
    /// The first of the skipped bytes, at most 32.
    pub bytes: &'a [u8],
    /// The number of bytes that were skipped.
    pub wire_len: u64,
}
