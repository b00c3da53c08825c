//! A display as the bytes on its connections.

use x11prof_protocol::{
    ByteOrder, Connection, Extension, Extensions, Input, Message, SequenceNumber, Side,
};
use x11prof_session::{ClientId, NetworkSubstitute, Observed, Operation, Session};

/// The root of the first screen: 1000 by 800, depth 24.
pub(crate) const ROOT: u32 = 0x100;
/// The root of the second screen: 640 by 480, depth 8.
pub(crate) const SECOND_ROOT: u32 = 0x200;
/// The resources of `Display::ready`: a mapped window of 100 by 50 under the root, a pixmap of 64 by 64 and
/// depth 1, and a GC with the defaults.
pub(crate) const WINDOW: u32 = 0x20_0001;
pub(crate) const PIXMAP: u32 = 0x20_0002;
pub(crate) const GC: u32 = 0x20_0003;
/// An id without a resource.
pub(crate) const STRANGER: u32 = 0x20_FFFF;

/// An owned copy of a message's meaning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    Operation(Operation),
    Failed(SequenceNumber),
    Nothing,
}

/// A display with some clients; the first one is 0.
pub(crate) struct Display {
    pub(crate) session: Session,
    order: ByteOrder,
    extensions: Extensions,
    connections: Vec<Connection>,
}

/// Bytes in a byte order.
pub(crate) struct Bytes {
    order: ByteOrder,
    bytes: Vec<u8>,
}

impl Bytes {
    pub(crate) fn u8(mut self, value: u8) -> Bytes {
        self.bytes.push(value);
        self
    }
    pub(crate) fn u16(self, value: u16) -> Bytes {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        self.raw(&bytes)
    }
    pub(crate) fn u32(self, value: u32) -> Bytes {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        self.raw(&bytes)
    }
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Bytes {
        self.bytes.extend_from_slice(bytes);
        self
    }
    pub(crate) fn zeros(mut self, count: usize) -> Bytes {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }
    pub(crate) fn i16s(mut self, values: &[i16]) -> Bytes {
        for value in values {
            self = self.u16(value.cast_unsigned());
        }
        self
    }
}

impl Display {
    /// A display with one client, which has been set up.
    pub(crate) fn new(order: ByteOrder) -> Display {
        let mut display = Display {
            session: Session::new(),
            order,
            extensions: Extensions::new(),
            connections: Vec::new(),
        };
        display.connect();
        display
    }

    /// A display with a window, a pixmap and a GC.
    pub(crate) fn ready() -> Display {
        Display::ready_in(ByteOrder::Little)
    }

    pub(crate) fn ready_in(order: ByteOrder) -> Display {
        let mut display = Display::new(order);
        display.create_window(0, WINDOW, ROOT, (0, 0, 100, 50));
        display.request(0, 8, 0, |b| b.u32(WINDOW));
        display.request(0, 53, 1, |b| b.u32(PIXMAP).u32(ROOT).u16(64).u16(64));
        display.create_gc(0, GC, &[]);
        display
    }

    /// Connects one more client and gives its number. Its ids begin at 0x20_0000 times 1 and
    /// its number.
    pub(crate) fn connect(&mut self) -> u32 {
        let client = self.connections.len() as u32;
        self.connections.push(Connection::new());
        let first = match self.order {
            ByteOrder::Little => b'l',
            ByteOrder::Big => b'B',
        };
        let hello = self.bytes().u8(first).u8(0).u16(11).zeros(8);
        self.feed(client, Side::Client, Input::Bytes(&hello.bytes));
        let screen = |bytes: Bytes, root: u32, width: u16, height: u16, depth: u8| {
            let bytes = bytes
                .u32(root)
                .zeros(16)
                .u16(width)
                .u16(height)
                .zeros(14)
                .u8(depth)
                .u8(2);
            // A depth without visuals and one with two.
            bytes
                .u8(1)
                .u8(0)
                .u16(0)
                .zeros(4)
                .u8(depth)
                .u8(0)
                .u16(2)
                .zeros(4 + 48)
        };
        let body = self
            .bytes()
            .u32(12_101_011)
            .u32(0x20_0000 * (client + 1))
            .u32(0x1F_FFFF);
        let body = body
            .u32(256)
            .u16(5)
            .u16(0xFFFF)
            .u8(2)
            .u8(1)
            .zeros(10)
            .raw(b"Test.\0\0\0");
        let body = body.zeros(8);
        let body = screen(body, ROOT, 1000, 800, 24);
        let body = screen(body, SECOND_ROOT, 640, 480, 8);
        let length = (body.bytes.len() / 4) as u16;
        let answer = self
            .bytes()
            .u8(1)
            .u8(0)
            .u16(11)
            .u16(0)
            .u16(length)
            .raw(&body.bytes);
        self.feed(client, Side::Server, Input::Bytes(&answer.bytes));
        client
    }

    pub(crate) fn bytes(&self) -> Bytes {
        Bytes {
            order: self.order,
            bytes: Vec::new(),
        }
    }

    /// Sends a request, and returns its operation.
    pub(crate) fn request(
        &mut self,
        client: u32,
        major: u8,
        minor: u8,
        body: impl FnOnce(Bytes) -> Bytes,
    ) -> Operation {
        let bytes = self.encode(major, minor, body);
        one(self.feed(client, Side::Client, Input::Bytes(&bytes)))
    }

    /// The substitute of a request across a network.
    pub(crate) fn across(
        &mut self,
        major: u8,
        minor: u8,
        body: impl FnOnce(Bytes) -> Bytes,
    ) -> Option<NetworkSubstitute> {
        let bytes = self.encode(major, minor, body);
        let Display {
            session,
            extensions,
            connections,
            ..
        } = self;
        let mut across = None;
        connections[0].feed(
            Side::Client,
            Input::Bytes(&bytes),
            extensions,
            |message, extensions| {
                session.observe(ClientId(0), &message, extensions);
                if let Message::Request(request) = &message {
                    across = session.across(request, session.operation(), extensions);
                }
            },
        );
        across
    }

    /// A request of which the recorder kept only the first `kept` bytes.
    pub(crate) fn cut_request(
        &mut self,
        major: u8,
        minor: u8,
        kept: usize,
        body: impl FnOnce(Bytes) -> Bytes,
    ) -> Operation {
        let bytes = self.encode(major, minor, body);
        let mut seen = self.feed(0, Side::Client, Input::Bytes(&bytes[..kept]));
        seen.extend(self.feed(0, Side::Client, Input::Omitted((bytes.len() - kept) as u64)));
        one(seen)
    }

    /// A request with a BIG-REQUESTS length.
    pub(crate) fn big_request(
        &mut self,
        major: u8,
        minor: u8,
        body: impl FnOnce(Bytes) -> Bytes,
    ) -> Operation {
        let small = self.encode(major, minor, body);
        let big = self
            .bytes()
            .u8(major)
            .u8(minor)
            .u16(0)
            .u32((small.len() / 4 + 1) as u32);
        let big = big.raw(&small[4..]);
        one(self.feed(0, Side::Client, Input::Bytes(&big.bytes)))
    }

    /// An event or an error: its first byte, its second one, the request that it follows, and the bytes
    /// from 4 on.
    pub(crate) fn answer(
        &mut self,
        client: u32,
        code: u8,
        detail: u8,
        sequence: u16,
        body: impl FnOnce(Bytes) -> Bytes,
    ) -> Seen {
        let bytes = body(self.bytes().u8(code).u8(detail).u16(sequence));
        let missing = 32 - bytes.bytes.len();
        let bytes = bytes.zeros(missing).bytes;
        let mut seen = self.feed(client, Side::Server, Input::Bytes(&bytes));
        assert_eq!(seen.len(), 1, "one answer is one message");
        seen.remove(0)
    }

    /// A reply to the client's last request: its second byte, and the bytes from 8 on, which decide its
    /// length.
    pub(crate) fn reply(&mut self, data: u8, body: impl FnOnce(Bytes) -> Bytes) {
        self.reply_to(self.last(0), data, body);
    }

    /// A reply to an earlier request.
    pub(crate) fn reply_to(&mut self, sequence: u16, data: u8, body: impl FnOnce(Bytes) -> Bytes) {
        let mut body = body(self.bytes()).bytes;
        body.resize(body.len().max(24).next_multiple_of(4), 0);
        let bytes = self.bytes().u8(1).u8(data).u16(sequence);
        let bytes = bytes.u32((body.len() as u32 - 24) / 4).raw(&body).bytes;
        let seen = self.feed(0, Side::Server, Input::Bytes(&bytes));
        assert_eq!(seen, [Seen::Nothing]);
    }

    /// The server has an extension of this name at this major opcode.
    pub(crate) fn has(&mut self, name: &str, major: u8) {
        self.extensions.insert(Extension {
            name: name.into(),
            major,
            first_event: 0,
            first_error: 0,
        });
    }

    /// The number of the client's last request.
    pub(crate) fn last(&self, client: u32) -> u16 {
        self.connections[client as usize].last_sequence().0 as u16
    }

    pub(crate) fn create_window(
        &mut self,
        client: u32,
        id: u32,
        parent: u32,
        (x, y, width, height): (i16, i16, u16, u16),
    ) {
        self.request(client, 1, 0, |b| {
            let b = b
                .u32(id)
                .u32(parent)
                .i16s(&[x, y])
                .u16(width)
                .u16(height)
                .u16(0);
            b.u16(1).u32(0).u32(0)
        });
    }

    /// CreateGC with values given as bits of the mask, in their order.
    pub(crate) fn create_gc(&mut self, client: u32, id: u32, values: &[(u32, u32)]) {
        self.request(client, 55, 0, |b| value_list(b.u32(id).u32(ROOT), values));
    }

    pub(crate) fn change_gc(&mut self, id: u32, values: &[(u32, u32)]) {
        self.request(0, 56, 0, |b| value_list(b.u32(id), values));
    }

    pub(crate) fn open_font(&mut self, id: u32, name: &str) {
        self.request(0, 45, 0, |b| {
            b.u32(id).u16(name.len() as u16).u16(0).raw(name.as_bytes())
        });
    }

    fn encode(&self, major: u8, minor: u8, body: impl FnOnce(Bytes) -> Bytes) -> Vec<u8> {
        let body = body(self.bytes()).bytes;
        let units = 1 + body.len().div_ceil(4);
        let bytes = self
            .bytes()
            .u8(major)
            .u8(minor)
            .u16(units as u16)
            .raw(&body);
        bytes.zeros(units * 4 - 4 - body.len()).bytes
    }

    fn feed(&mut self, client: u32, side: Side, input: Input<'_>) -> Vec<Seen> {
        let Display {
            session,
            extensions,
            connections,
            ..
        } = self;
        let mut seen = Vec::new();
        connections[client as usize].feed(side, input, extensions, |message, extensions| {
            seen.push(
                match session.observe(ClientId(client), &message, extensions) {
                    Observed::Operation(operation) => Seen::Operation(operation.clone()),
                    Observed::Failed(sequence) => Seen::Failed(sequence),
                    Observed::Nothing => Seen::Nothing,
                },
            );
        });
        seen
    }
}

/// A value mask and its values.
pub(crate) fn value_list(bytes: Bytes, values: &[(u32, u32)]) -> Bytes {
    let mask = values.iter().fold(0, |mask, (bit, _)| mask | 1 << bit);
    values
        .iter()
        .fold(bytes.u32(mask), |bytes, (_, value)| bytes.u32(*value))
}

fn one(seen: Vec<Seen>) -> Operation {
    match <[Seen; 1]>::try_from(seen) {
        Ok([Seen::Operation(operation)]) => operation,
        other => panic!("a request is one operation, not {other:?}"),
    }
}
