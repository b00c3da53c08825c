//! The headers of messages. The first bytes of a message determine its length.

use crate::ByteOrder;

/// The side of a connection that sends bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The client sends, to the server.
    Client,
    /// The server sends, to the client.
    Server,
}

/// The kind of message that begins with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadKind {
    /// The connection setup that the client sends.
    ClientSetup,
    /// The reply of the server to the client's connection setup.
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

/// The header of a message, with the information that it contains without decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The kind of the message.
    pub kind: HeadKind,
    /// The first byte of the message: the major opcode of a request, the code of an event or error, 1 for a reply.
    pub code: u8,
    /// The second byte of the message: minor opcode or data.
    pub data: u8,
    /// The length of the header in bytes: 4 or 8 for a request, 12 for the client's setup, 8 for the server's, 32 for
    /// other messages.
    pub header_len: u32,
    /// The length of the whole message in bytes, including the header.
    pub len: u64,
}

/// The maximum number of bytes that are needed to determine the length of a message. A client's setup needs the most
/// bytes.
pub(crate) const LONGEST: usize = 12;

/// The event code of a GenericEvent, without the SendEvent bit (Generic Event Extension, section 3).
pub(crate) const GENERIC_EVENT: u8 = 35;

/// The phase of one direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The next message is the connection setup.
    Setup,
    /// The setup is complete; requests, replies, events and errors follow.
    Messages,
    /// The boundaries of messages can no longer be found; contains the reason.
    Lost(&'static str),
}

/// The result of parsing the first bytes of a message.
pub(crate) enum Found {
    /// The header of the message.
    Head(Head),
    /// There are too few bytes for a header.
    Short,
    /// The bytes do not begin a message; contains the reason.
    Lost(&'static str),
}

/// Reads the header of the message at the start of `bytes`, which `side` sent. A client's setup sets `order`. `big` is
/// true if the client may use BIG-REQUESTS.
#[inline]
pub(crate) fn find(
    side: Side,
    phase: Phase,
    big: bool,
    order: &mut Option<ByteOrder>,
    bytes: &[u8],
) -> Found {
    let head = match (side, phase) {
        (_, Phase::Lost(why)) => return Found::Lost(why),
        (Side::Client, Phase::Setup) => {
            let Some(&first) = bytes.first() else {
                return Found::Short;
            };
            let Some(chosen) = ByteOrder::from_setup_byte(first) else {
                return Found::Lost("the client's first byte names no byte order");
            };
            *order = Some(chosen);
            client_setup(chosen, bytes)
        }
        (side, phase) => {
            let Some(order) = *order else {
                return Found::Lost("the server spoke before the client chose a byte order");
            };
            match (side, phase) {
                (Side::Client, _) => request(order, big, bytes),
                (Side::Server, Phase::Messages) => answer(order, bytes),
                (Side::Server, _) => match bytes.first() {
                    Some(3..) => {
                        return Found::Lost("the server's answer to the setup has no known status");
                    }
                    _ => server_setup(order, bytes),
                },
            }
        }
    };
    head.map_or(Found::Short, Found::Head)
}

/// Parses the header of a client's setup (protocol, section "Connection Setup"). The setup has 12 bytes, then the name
/// and the data of the authorization protocol, each padded to a multiple of 4 bytes. `None` if there are too few bytes.
fn client_setup(order: ByteOrder, bytes: &[u8]) -> Option<Head> {
    let padded = |at| Some(u64::from(order.u16(bytes, at)?.div_ceil(4)) * 4);
    let len = 12 + padded(6)? + padded(8)?;
    // The header also includes two unused bytes.
    let header = bytes.get(..12)?;
    Some(Head {
        kind: HeadKind::ClientSetup,
        code: header[0],
        data: header[1],
        header_len: 12,
        len,
    })
}

/// Parses the header of the server's reply to a setup (same section). The reply's additional length is at offset 6 for
/// each status, in units of 4 bytes. `None` if there are too few bytes.
fn server_setup(order: ByteOrder, bytes: &[u8]) -> Option<Head> {
    let units = order.u16(bytes, 6)?;
    Some(Head {
        kind: HeadKind::ServerSetup,
        code: bytes[0],
        data: bytes[1],
        header_len: 8,
        len: 8 + u64::from(units) * 4,
    })
}

/// Parses the header of a request (section "Request Format"). If the length is 0 and the client has enabled
/// BIG-REQUESTS, a CARD32 with the length follows. If the length is 0 otherwise, the server reads only the header.
/// `None` if there are too few bytes.
#[inline]
fn request(order: ByteOrder, big: bool, bytes: &[u8]) -> Option<Head> {
    let (header_len, units) = match order.u16(bytes, 2)? {
        0 if big => (8, order.u32(bytes, 4)?),
        units => (4, u32::from(units)),
    };
    Some(Head {
        kind: HeadKind::Request,
        code: bytes[0],
        data: bytes[1],
        header_len,
        // A length that does not cover the header is invalid, but the header was sent.
        len: (u64::from(units) * 4).max(u64::from(header_len)),
    })
}

/// Parses the header of a reply, error or event (sections "Reply Format", "Error Format", "Event Format"). `None` if
/// there are too few bytes.
#[inline]
fn answer(order: ByteOrder, bytes: &[u8]) -> Option<Head> {
    let (&[code, data], _) = bytes.split_first_chunk()?;
    let kind = match code {
        0 => HeadKind::Error,
        1 => HeadKind::Reply,
        _ => HeadKind::Event,
    };
    let more = match kind {
        HeadKind::Reply => order.u32(bytes, 4)?,
        HeadKind::Event if code & 0x7F == GENERIC_EVENT => order.u32(bytes, 4)?,
        _ => 0,
    };
    Some(Head {
        kind,
        code,
        data,
        header_len: 32,
        len: 32 + u64::from(more) * 4,
    })
}
