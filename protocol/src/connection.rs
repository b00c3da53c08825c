//! A connection. The bytes of both directions become numbered messages, and replies are paired with their requests.

use crate::assemble::{Assembler, ScratchBuffers, Whole};
use crate::header::GENERIC_EVENT;
use crate::header::{Head, HeadKind, Side};
use crate::names::{error_name, event_name};
use crate::opcode::Replies;
use crate::pending_replies::{Last, Pending, PendingReplies};
use crate::walk::Walker;
use crate::{
    ByteOrder, ClientSetup, ErrorMessage, Event, Extension, Extensions, Malformed, Message, Reply,
    Request, SequenceNumber, ServerSetup, SetupStatus, Symbol, request_name,
};

/// Core opcodes that need special treatment (protocol, appendix B).
const LIST_FONTS_WITH_INFO: u8 = 50;
const QUERY_EXTENSION: u8 = 98;
/// The event without a sequence number (section "KeymapNotify").
const KEYMAP_NOTIFY: u8 = 11;

/// The next part of one direction's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// Bytes that the trace contains.
    Bytes(&'a [u8]),
    /// Bytes of a message's body that the recorder dropped; contains their number.
    Omitted(u64),
}

/// The state of a connection at a point after its setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCheckpoint {
    /// The byte order that the client chose for the connection.
    pub order: ByteOrder,
    /// The number of the last request, which may be incomplete.
    pub last_request: SequenceNumber,
    /// True if the server's reply to the connection setup has not arrived.
    pub setup: bool,
    /// The requests that wait for a reply, in order: sequence number, major opcode, minor opcode.
    pub awaited: Vec<(SequenceNumber, u8, u8)>,
}

/// The protocol state of a connection. Feed it both directions in the order in which a relay between client and server
/// read them.
#[derive(Debug)]
pub struct Connection {
    client: Assembler,
    server: Assembler,
    order: Option<ByteOrder>,
    answers: PendingReplies,
}

impl Connection {
    /// Creates a connection before its setup.
    pub fn new() -> Connection {
        Connection {
            client: Assembler::new(Side::Client),
            server: Assembler::new(Side::Server),
            order: None,
            answers: PendingReplies::default(),
        }
    }

    /// Starts in the middle of a connection, at a message boundary in both directions. The next request has the number
    /// after `joint.last_request`.
    pub fn join(&mut self, joint: &ConnectionCheckpoint, extensions: &Extensions) {
        let order = joint.order;
        self.order = Some(order);
        self.client = Assembler::with(Walker::joined(Side::Client, order));
        self.server = match joint.setup {
            true => Assembler::new(Side::Server),
            false => Assembler::with(Walker::joined(Side::Server, order)),
        };
        for &(sequence, major, minor) in &joint.awaited {
            let opcode = extensions.opcode(major, minor);
            self.answers.expect(Pending {
                certain: opcode.has_reply(),
                sequence,
                name: opcode.name,
                major,
                minor,
                last: last_reply(major, opcode.name),
                asks_for: None,
            });
        }
        self.answers.go_on_after(joint.last_request);
    }

    /// Returns the state from which another [`Connection`] can continue, and the number of bytes of the current message
    /// that are still to come from the client and from the server. `None` before the setup, within the first bytes of a
    /// message, and after message boundaries were lost.
    pub fn joint(&self, extensions: &Extensions) -> Option<(ConnectionCheckpoint, [u64; 2])> {
        let (client, server) = (&self.client.walker, &self.server.walker);
        let under_way = [client.under_way()?, server.under_way()?];
        let setup = !server.is_set_up();
        // The message in transfer must not be the setup itself.
        if !client.is_set_up() || setup && under_way[1] > 0 {
            return None;
        }
        let mut joint = ConnectionCheckpoint {
            order: self.order?,
            last_request: self.last_sequence(),
            setup,
            awaited: self.answers.awaited().collect(),
        };
        if let Some(head) = client.head() {
            joint.last_request = joint.last_request.next();
            if extensions.opcode(head.code, head.data).has_reply() {
                let request = (joint.last_request, head.code, head.data);
                joint.awaited.push(request);
            }
        }
        Some((joint, under_way))
    }

    /// Processes the next part of one direction. Calls `on` for each message that the part completes, in order. Adds
    /// the extensions in replies to QueryExtension to `extensions`.
    pub fn feed(
        &mut self,
        side: Side,
        input: Input<'_>,
        extensions: &mut Extensions,
        mut on: impl FnMut(Message<'_>, &Extensions),
    ) {
        let on = |message: Message<'_>, _, extensions: &Extensions| on(message, extensions);
        self.feed_in(&mut ScratchBuffers::default(), side, input, extensions, on);
    }

    /// Sets the maximum number of stored bytes of a request that spans several slices; the default is 1 MiB. Recordings
    /// with whole images need a higher limit.
    pub fn keep_requests(&mut self, longest: usize) {
        self.client.longest = longest;
    }

    /// If `is_limited` is true, at most 4 requests wait for a reply at the same time, which saves memory in a reader of
    /// many connections.
    pub fn limit_pending(&mut self, is_limited: bool) {
        self.answers.limit(is_limited);
    }

    /// The number of pending requests: requests that wait for a reply, and unknown requests, which may have a reply.
    pub fn pending(&self) -> usize {
        self.answers.len()
    }

    /// Makes [`feed_in`](Connection::feed_in) coalesce equal consecutive requests, if `together` is `Some` and returns
    /// true for their major opcode. `together` must return true only for core requests that have no reply.
    pub fn take_together(&mut self, together: Option<fn(u8) -> bool>) {
        self.client.together = together;
    }

    /// Processes the next part of one direction like `feed`, but assembles messages in `room`, which connections can
    /// share. `on` also receives the number of equal messages in a row, of which the message is the first.
    pub fn feed_in(
        &mut self,
        room: &mut ScratchBuffers,
        side: Side,
        input: Input<'_>,
        extensions: &mut Extensions,
        mut on: impl FnMut(Message<'_>, u64, &Extensions),
    ) {
        let Connection {
            client,
            server,
            order,
            answers,
        } = self;
        match side {
            Side::Client => {
                client.enter(room);
                // The extension is only set before the setup. If the extension becomes known later, the client may have
                // enabled it already.
                if order.is_none()
                    && let Some(extension) = extensions.by_name("BIG-REQUESTS")
                {
                    client.walker.set_big_requests(extension.major);
                }
                let on = |whole: Whole<'_>| {
                    let times = whole.times();
                    let message = sent(whole, order, answers, extensions);
                    answers.send_more(times - 1);
                    on(message, times, extensions);
                };
                match input {
                    Input::Bytes(bytes) => client.feed(bytes, on),
                    Input::Omitted(n) => client.omit(n, on),
                }
                client.leave(room);
            }
            Side::Server => {
                server.enter(room);
                if let Some(order) = *order {
                    server.walker.set_order(order);
                }
                let order = order.unwrap_or(ByteOrder::native());
                let on = |whole: Whole<'_>| {
                    let message = received(whole, order, answers, extensions);
                    on(message, 1, extensions);
                };
                match input {
                    Input::Bytes(bytes) => server.feed(bytes, on),
                    Input::Omitted(n) => server.omit(n, on),
                }
                server.leave(room);
            }
        }
    }

    /// True if the client has sent a part of a request, and the rest is still to come.
    pub fn is_within_request(&self) -> bool {
        matches!(self.client.walker.under_way(), Some(1..))
    }

    /// The number of the last request that the client sent; 0 before the first request.
    pub fn last_sequence(&self) -> SequenceNumber {
        self.answers.last_sequence()
    }

    /// The number of requests that wait for a reply.
    #[cfg(test)]
    fn awaiting_reply(&self) -> usize {
        self.answers.awaiting()
    }
}

impl Default for Connection {
    fn default() -> Connection {
        Connection::new()
    }
}

/// Decodes a message of the client.
#[inline]
fn sent<'a>(
    whole: Whole<'a>,
    order: &mut Option<ByteOrder>,
    answers: &mut PendingReplies,
    extensions: &Extensions,
) -> Message<'a> {
    let (head, bytes) = match whole {
        Whole::Message(head, bytes, _) => (head, bytes),
        Whole::Lost(why, bytes, wire_len) => return malformed(why, bytes, wire_len),
    };
    if head.kind == HeadKind::ClientSetup {
        *order = ByteOrder::from_setup_byte(head.code);
    }
    // The walker passes no message before the setup has set the byte order.
    let order = order.unwrap_or(ByteOrder::native());
    match head.kind {
        HeadKind::ClientSetup => client_setup(head, bytes, order),
        _ => request(head, bytes, order, answers, extensions),
    }
}

fn client_setup(head: Head, bytes: &[u8], order: ByteOrder) -> Message<'_> {
    let number = |at| order.u16(bytes, at).unwrap_or(0);
    let name_end = 12 + usize::from(number(6));
    Message::ClientSetup(ClientSetup {
        order,
        version: (number(2), number(4)),
        authorization: bytes.get(12..name_end).unwrap_or_default(),
        bytes,
        wire_len: head.len,
    })
}

#[inline]
fn request<'a>(
    head: Head,
    bytes: &'a [u8],
    order: ByteOrder,
    answers: &mut PendingReplies,
    extensions: &Extensions,
) -> Message<'a> {
    if head.header_len == 8 && order.u32(bytes, 4).is_none_or(|units| units < 2) {
        return malformed(
            "a request's BIG-REQUESTS length is below its header's",
            bytes,
            head.len,
        );
    }
    let sequence = answers.send();
    if head.len == 4 && order.u16(bytes, 2) == Some(0) {
        // The request has a number, and the server will report BadLength.
        return malformed(
            "a request's length is 0 without BIG-REQUESTS enabled",
            bytes,
            head.len,
        );
    }
    let opcode = extensions.opcode(head.code, head.data);
    let mut has_reply = opcode.has_reply();
    if opcode.replies != Replies::Never {
        has_reply &= answers.expect(Pending {
            certain: opcode.has_reply(),
            sequence,
            name: opcode.name,
            major: head.code,
            minor: head.data,
            last: last_reply(head.code, opcode.name),
            asks_for: queried_extension(head, bytes, order),
        });
    }
    Message::Request(Request {
        sequence,
        name: opcode.name,
        major: head.code,
        minor: head.data,
        order,
        bytes,
        wire_len: head.len,
        header_len: head.header_len as usize,
        has_reply,
    })
}

/// Returns the mark of the last reply to a request. Only two requests have several replies. In their last reply, the
/// second byte is the length 0 of a name (section "ListFontsWithInfo"), or the category EndOfData, 5 (RECORD, section
/// "EnableContext").
fn last_reply(major: u8, name: Symbol) -> Last {
    if major == LIST_FONTS_WITH_INFO {
        Last::Data(0)
    } else if major >= 128 && name.as_str() == "RECORD:EnableContext" {
        Last::Data(5)
    } else {
        Last::First
    }
}

fn queried_extension(head: Head, bytes: &[u8], order: ByteOrder) -> Option<Box<str>> {
    if head.code != QUERY_EXTENSION {
        return None;
    }
    let header = head.header_len as usize;
    let len = usize::from(order.u16(bytes, header)?);
    let name = bytes.get(header + 4..)?.get(..len)?;
    // A `Symbol` cannot contain a longer name.
    let name = std::str::from_utf8(name)
        .ok()
        .filter(|name| name.len() <= 256)?;
    Some(name.into())
}

/// Decodes a message of the server.
fn received<'a>(
    whole: Whole<'a>,
    order: ByteOrder,
    answers: &mut PendingReplies,
    extensions: &mut Extensions,
) -> Message<'a> {
    let (head, bytes) = match whole {
        Whole::Message(head, bytes, _) => (head, bytes),
        Whole::Lost(why, bytes, wire_len) => return malformed(why, bytes, wire_len),
    };
    match head.kind {
        HeadKind::ServerSetup => Message::ServerSetup(ServerSetup {
            status: SetupStatus::of(head.code),
            order,
            bytes,
            wire_len: head.len,
        }),
        HeadKind::Reply => reply(head, bytes, order, answers, extensions),
        HeadKind::Error => error(head, bytes, order, answers, extensions),
        _ => event(head, bytes, order, answers, extensions),
    }
}

fn reply<'a>(
    head: Head,
    bytes: &'a [u8],
    order: ByteOrder,
    answers: &mut PendingReplies,
    extensions: &mut Extensions,
) -> Message<'a> {
    let (sequence, answered) = answers.reply(order.u16(bytes, 2).unwrap_or(0), head.data);
    // Section "QueryExtension": present, major opcode, first event, first error.
    if let Some(name) = answered
        .as_ref()
        .and_then(|answered| answered.asks_for.as_deref())
        && let Some(&[1, major, first_event, first_error]) = bytes.get(8..12)
    {
        extensions.insert(Extension {
            name: Symbol::new(name),
            major,
            first_event,
            first_error,
        });
    }
    Message::Reply(Reply {
        sequence,
        request: answered.as_ref().map(|answered| answered.name),
        opcode: answered.as_ref().map(|answered| answered.opcode),
        last: answered.is_none_or(|answered| answered.last),
        order,
        bytes,
        wire_len: head.len,
    })
}

fn event<'a>(
    head: Head,
    bytes: &'a [u8],
    order: ByteOrder,
    answers: &mut PendingReplies,
    extensions: &Extensions,
) -> Message<'a> {
    let code = head.code & 0x7F;
    let sequence = match order.u16(bytes, 2) {
        Some(low) if code != KEYMAP_NOTIFY => answers.event(low),
        _ => None,
    };
    // Generic Event Extension, section 3: the extension's major opcode, the event type at 8.
    let generic = (code == GENERIC_EVENT)
        .then(|| order.u16(bytes, 8).map(|number| (head.data, number)))
        .flatten();
    Message::Event(Event {
        name: event_name(code, generic, head.data, extensions),
        code,
        sent: head.code & 0x80 != 0,
        sequence,
        order,
        bytes,
        wire_len: head.len,
    })
}

fn error<'a>(
    head: Head,
    bytes: &'a [u8],
    order: ByteOrder,
    answers: &mut PendingReplies,
    extensions: &Extensions,
) -> Message<'a> {
    let low = order.u16(bytes, 2).unwrap_or(0);
    let major = bytes.get(10).copied().unwrap_or(0);
    // A CARD16 on the wire, but a request's minor opcode is one byte.
    let minor = order.u16(bytes, 8).unwrap_or(0) as u8;
    Message::Error(ErrorMessage {
        name: error_name(head.data, extensions),
        code: head.data,
        sequence: answers.error(low).unwrap_or_default(),
        request: request_name(major, minor, extensions),
        bad_value: order.u32(bytes, 4).unwrap_or(0),
        order,
        bytes,
    })
}

fn malformed<'a>(why: &'static str, bytes: &'a [u8], wire_len: u64) -> Message<'a> {
    Message::Malformed(Malformed {
        why,
        bytes,
        wire_len,
    })
}

#[cfg(test)]
mod tests;
