//! Message headers: how long a message is, from its first bytes.

use crate::ByteOrder;

/// The sender of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Client to server.
    Client,
    /// Server to client.
    Server,
}

/// The kind of message that a head opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadKind {
    /// The client's connection setup.
    ClientSetup,
    /// The server's reply to the client's setup.
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

/// The head of a message: all that its header reports without decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The kind of message.
    pub kind: HeadKind,
    /// The message's first byte: major opcode, event or error code; 1 for a reply; for setups the first byte.
    pub code: u8,
    /// The message's second byte: minor opcode or data.
    pub data: u8,
    /// Bytes of the header: 4 or 8 for a request, 12 and 8 for setups, 32 otherwise.
    pub header_len: u32,
    /// Bytes of the whole message, header included.
    pub len: u64,
}

/// The number of bytes that determine the length of any message. The setup of a client needs the most.
pub(crate) const LONGEST: usize = 12;

/// The code of a GenericEvent, without the SendEvent bit (Generic Event Extension, section 3).
pub(crate) const GENERIC_EVENT: u8 = 35;

/// The phase of one direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The next message is the setup.
    Setup,
    /// The setup is done.
    Messages,
    /// The boundaries cannot be found any more, for this reason.
    Lost(&'static str),
}

/// The result of reading the first bytes of a message.
pub(crate) enum Found {
    /// The message's head.
    Head(Head),
    /// The bytes are too few.
    Short,
    /// The bytes begin no message, for this reason.
    Lost(&'static str),
}

/// Reads the head of the message that starts with `bytes`. A client's setup sets `order`; `big`
/// is whether the client may use BIG-REQUESTS.
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

/// Protocol, section "Connection Setup": 12 bytes, then the authorization protocol's name and
/// its data, each padded to 4.
fn client_setup(order: ByteOrder, bytes: &[u8]) -> Option<Head> {
    let padded = |at| Some(u64::from(order.u16(bytes, at)?.div_ceil(4)) * 4);
    let len = 12 + padded(6)? + padded(8)?;
    // The header is whole only with its two unused bytes.
    let header = bytes.get(..12)?;
    Some(Head {
        kind: HeadKind::ClientSetup,
        code: header[0],
        data: header[1],
        header_len: 12,
        len,
    })
}

/// The server's answer to a setup (same section): all three have their additional length, in units of 4 bytes, at 6.
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

/// Section "Request Format"; length 0: a CARD32 with the length follows, if the client has enabled
/// BIG-REQUESTS. If not, the server takes no more than the header.
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
        // A length that does not even cover the header is nonsense; the header was sent anyway.
        len: (u64::from(units) * 4).max(u64::from(header_len)),
    })
}

/// Sections "Reply Format", "Error Format", "Event Format".
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
