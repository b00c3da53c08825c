//! Decodes whole messages into the types of `x11rb-protocol`.

use std::borrow::Cow;

use x11rb_protocol::errors::ParseError;
use x11rb_protocol::protocol::{self, xproto};
use x11rb_protocol::x11_utils::{
    BigRequests, Request as AnyRequest, TryParse, parse_request_header,
};

use crate::counts::{device_changed_fits, reply_fits, request_fits};
use crate::header::GENERIC_EVENT;
use crate::{ByteOrder, Event, Extensions, Reply, Request, ServerSetup, SetupStatus, swap};

/// The first major opcode of extensions (protocol, section "Request Format").
const FIRST_EXTENSION: u8 = 128;

/// The event DeviceChanged of XI2, which contains device classes.
const DEVICE_CHANGED: (&str, &str, u8) = ("XInputExtension", "generic", 1);

/// The reasons why a message could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message has the other byte order than this machine, and its layout depends on its contents. `x11rb-protocol`
    /// only reads the byte order of this machine.
    #[error("an extension's message in the opposite byte order")]
    ByteOrder,
    /// The recorder dropped part of the message.
    #[error("part of the message was left out of the recording")]
    Omitted,
    /// The message has file descriptors, which the trace does not contain.
    #[error("the message came with file descriptors, which are not recorded")]
    Fds,
    /// The request of the reply, or the layout of the message, is unknown.
    #[error("the layout of the message is not known")]
    Unknown,
    /// The server did not accept the connection, so its reply describes no display.
    #[error("the server refused the connection")]
    Refused,
    /// A list claims to be longer than the message, or the message is of a kind whose lists cannot be checked in
    /// advance.
    #[error("the lengths of the lists in the message cannot be relied on")]
    Lists,
    /// The bytes do not have the layout of the message's type.
    #[error("the message is malformed: {0}")]
    Malformed(ParseError),
}

impl From<ParseError> for DecodeError {
    fn from(error: ParseError) -> DecodeError {
        match error {
            ParseError::MissingFileDescriptors => DecodeError::Fds,
            error => DecodeError::Malformed(error),
        }
    }
}

/// The message in this machine's byte order. `turned` converts a message of the other byte order.
fn whole<'a>(
    order: ByteOrder,
    bytes: &'a [u8],
    wire_len: u64,
    turned: impl FnOnce() -> Option<Vec<u8>>,
) -> Result<Cow<'a, [u8]>, DecodeError> {
    if bytes.len() as u64 != wire_len {
        Err(DecodeError::Omitted)
    } else if order == ByteOrder::native() {
        Ok(Cow::Borrowed(bytes))
    } else {
        turned().map(Cow::Owned).ok_or(DecodeError::ByteOrder)
    }
}

impl<'a> Request<'a> {
    /// Decodes the fields of the request.
    pub fn decode(&self, extensions: &Extensions) -> Result<protocol::Request<'a>, DecodeError> {
        let turned = || {
            let (bytes, header) = (self.bytes, self.header_len);
            if self.major < FIRST_EXTENSION {
                return Some(swap::request(bytes, header));
            }
            let name = extensions.by_major(self.major)?.name;
            swap::extension(bytes, header, name.as_str(), "request", self.minor)
        };
        match whole(self.order, self.bytes, self.wire_len, turned)? {
            Cow::Borrowed(bytes) => self.parse(bytes, extensions),
            Cow::Owned(bytes) => Ok(self.parse(&bytes, extensions)?.into_owned()),
        }
    }

    /// Decodes `bytes`, the request in this machine's byte order.
    fn parse<'b>(
        &self,
        bytes: &'b [u8],
        extensions: &Extensions,
    ) -> Result<protocol::Request<'b>, DecodeError> {
        let (header, body) = parse_request_header(bytes, BigRequests::Enabled)?;
        let extension = extensions.by_major(self.major).map(|one| one.name.as_str());
        if !request_fits(extension, self.minor, ByteOrder::native(), body) {
            return Err(DecodeError::Lists);
        }
        Ok(protocol::Request::parse(
            header,
            body,
            &mut Vec::new(),
            extensions,
        )?)
    }
}

impl Reply<'_> {
    /// Decodes the fields of the reply according to the type of its request.
    pub fn decode(&self, extensions: &Extensions) -> Result<protocol::Reply, DecodeError> {
        let (major, minor) = self.opcode.ok_or(DecodeError::Unknown)?;
        let bytes = whole(self.order, self.bytes, self.wire_len, || {
            if major < FIRST_EXTENSION {
                return Some(swap::reply(self.order, self.bytes, major));
            }
            let name = extensions.by_major(major)?.name;
            swap::extension(self.bytes, 4, name.as_str(), "reply", minor)
        })?;
        let parser = extensions.opcode(major, minor).parser;
        let parser = parser.ok_or(DecodeError::Unknown)?;
        let extension = extensions.by_major(major).map(|one| one.name.as_str());
        let opcode = if extension.is_some() { minor } else { major };
        if !reply_fits(extension, opcode, ByteOrder::native(), &bytes) {
            return Err(DecodeError::Lists);
        }
        Ok(parser(&bytes, &mut Vec::new())?.0)
    }
}

/// Parses the reply to `request` from an untrusted server, in this machine's byte order. `None` if it is malformed, or
/// if a list claims to be longer than the reply.
pub fn parse_reply<Q: AnyRequest, A: TryParse>(request: &[u8], reply: &[u8]) -> Option<A> {
    let extension = Q::EXTENSION_NAME;
    let opcode = *request.get(usize::from(extension.is_some()))?;
    if !reply_fits(extension, opcode, ByteOrder::native(), reply) {
        return None;
    }
    Some(A::try_parse(reply).ok()?.0)
}

impl Event<'_> {
    /// The key of the event in the tables of layouts: the name of the extension (`-` for the core protocol), the form
    /// (`event` or `generic`), and the number of the event in the extension. `None` if the extension is unknown.
    pub(crate) fn layout_key<'a>(
        &self,
        extensions: &'a Extensions,
    ) -> Option<(&'a str, &'static str, u8)> {
        let second = *self.bytes.get(1)?;
        if self.code == GENERIC_EVENT {
            let number = u8::try_from(self.order.u16(self.bytes, 8)?).ok()?;
            return Some((
                extensions.by_major(second)?.name.as_str(),
                "generic",
                number,
            ));
        }
        if self.code < GENERIC_EVENT {
            return Some(("-", "event", self.code));
        }
        let extension = extensions.by_event(self.code)?;
        Some(match extension.name.as_str() {
            name @ "XKEYBOARD" => (name, "event", second),
            name => (name, "event", self.code - extension.first_event),
        })
    }

    /// Decodes the fields of the event.
    pub fn decode(&self, extensions: &Extensions) -> Result<protocol::Event, DecodeError> {
        let bytes = whole(self.order, self.bytes, self.wire_len, || {
            match self.layout_key(extensions)? {
                ("-", ..) => Some(swap::event(self.bytes)),
                (extension, form, number) => {
                    swap::extension(self.bytes, 4, extension, form, number)
                }
            }
        })?;
        let is_device_changed = self.layout_key(extensions) == Some(DEVICE_CHANGED);
        if is_device_changed && !device_changed_fits(ByteOrder::native(), &bytes) {
            return Err(DecodeError::Lists);
        }
        Ok(protocol::Event::parse(&bytes, extensions)?)
    }
}

impl<'a> ServerSetup<'a> {
    /// The bytes of a connection setup to send to a server, in this byte order.
    pub fn request(order: ByteOrder, name: &[u8], data: &[u8]) -> Vec<u8> {
        let mut request = match order {
            ByteOrder::Little => vec![b'l', 0],
            ByteOrder::Big => vec![b'B', 0],
        };
        for number in [11, 0, name.len(), data.len(), 0] {
            request.extend(order.u16_bytes(number as u16));
        }
        for text in [name, data] {
            request.extend_from_slice(text);
            request.resize(request.len().next_multiple_of(4), 0);
        }
        request
    }

    /// Parses the server's complete reply to [`ServerSetup::request`].
    pub fn of_answer(answer: &'a [u8]) -> ServerSetup<'a> {
        ServerSetup {
            status: SetupStatus::of(answer.first().copied().unwrap_or_default()),
            order: ByteOrder::native(),
            bytes: answer,
            wire_len: answer.len() as u64,
        }
    }

    /// The text of [`ServerSetup::reason`], without padding. The text is truncated after 255 characters, the limit for
    /// a refusal. `None` if the server accepted the connection.
    pub fn refusal(&self) -> Option<String> {
        let reason = String::from_utf8_lossy(self.reason()?);
        let text = reason.trim_matches(['\0', '\n', ' ']).chars();
        Some(text.take(255).collect())
    }

    /// Decodes the description of the display: its roots, visuals and formats.
    pub fn decode(&self) -> Result<xproto::Setup, DecodeError> {
        let bytes = whole(self.order, self.bytes, self.wire_len, || {
            Some(swap::setup(self.order, self.bytes))
        })?;
        if self.status != SetupStatus::Success {
            return Err(DecodeError::Refused);
        }
        Ok(xproto::Setup::try_parse(&bytes)?.0)
    }

    /// The reason that the server gave for refusing the connection, as bytes; `None` if the server accepted the
    /// connection.
    pub fn reason(&self) -> Option<&'a [u8]> {
        let len = match self.status {
            SetupStatus::Success => return None,
            SetupStatus::Failed => usize::from(*self.bytes.get(1)?),
            // The rest of the message, including padding (section "Connection Setup").
            SetupStatus::Authenticate => self.bytes.len(),
        };
        let text = self.bytes.get(8..)?;
        Some(text.get(..len).unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use x11rb_protocol::protocol::{Event as AnyEvent, Reply as AnyReply, Request as AnyRequest};

    use super::DecodeError;
    use crate::{ByteOrder, Event, Extension, Extensions, Reply, Request, SequenceNumber, Symbol};

    fn request(bytes: &[u8], header_len: usize) -> Request<'_> {
        Request {
            sequence: SequenceNumber(1),
            name: Symbol::new("a request"),
            major: bytes[0],
            minor: bytes[1],
            order: ByteOrder::native(),
            bytes,
            wire_len: bytes.len() as u64,
            header_len,
            has_reply: false,
        }
    }

    fn reply(bytes: &[u8], opcode: (u8, u8)) -> Reply<'_> {
        Reply {
            sequence: SequenceNumber(1),
            request: None,
            opcode: Some(opcode),
            last: true,
            order: ByteOrder::native(),
            bytes,
            wire_len: bytes.len() as u64,
        }
    }

    fn with(name: &str, major: u8) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(Extension {
            name: Symbol::new(name),
            major,
            first_event: 0,
            first_error: 0,
        });
        extensions
    }

    /// MapWindow of window 0x400001.
    fn map_window() -> Vec<u8> {
        let mut bytes = vec![8, 0];
        bytes.extend(2_u16.to_ne_bytes());
        bytes.extend(0x40_0001_u32.to_ne_bytes());
        bytes
    }

    #[test]
    fn request_is_decoded_with_either_header_length() {
        let short = map_window();
        let mut long = vec![8, 0, 0, 0];
        long.extend(3_u32.to_ne_bytes());
        long.extend(0x40_0001_u32.to_ne_bytes());
        for (bytes, header_len) in [(short, 4), (long, 8)] {
            match request(&bytes, header_len).decode(&Extensions::new()) {
                Ok(AnyRequest::MapWindow(map)) => assert_eq!(map.window, 0x40_0001),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn truncated_or_byte_swapped_request_is_not_decoded() {
        let bytes = map_window();
        let mut cut = request(&bytes, 4);
        cut.wire_len += 4;
        assert_eq!(
            cut.decode(&Extensions::new()).err(),
            Some(DecodeError::Omitted)
        );
        let mut foreign = request(&bytes, 4);
        foreign.order = match ByteOrder::native() {
            ByteOrder::Little => ByteOrder::Big,
            ByteOrder::Big => ByteOrder::Little,
        };
        // RENDER AddGlyphs has lists whose lengths depend on the contents.
        (foreign.major, foreign.minor) = (139, 20);
        assert_eq!(
            foreign.decode(&with("RENDER", 139)).err(),
            Some(DecodeError::ByteOrder)
        );
    }

    #[test]
    fn request_with_a_file_descriptor_is_not_decoded() {
        // DRI3 PixmapFromBuffer.
        let mut bytes = vec![150, 2];
        bytes.extend(6_u16.to_ne_bytes());
        bytes.resize(24, 0);
        let decoded = request(&bytes, 4).decode(&with("DRI3", 150));
        assert_eq!(decoded.err(), Some(DecodeError::Fds));
    }

    #[test]
    fn lists_with_excessive_counts_are_rejected() {
        // RENDER AddGlyphs: glyph set, and 2^32-1 glyphs.
        let mut bytes = vec![139, 20];
        bytes.extend(4_u16.to_ne_bytes());
        bytes.extend([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
        let decoded = request(&bytes, 4).decode(&with("RENDER", 139));
        assert_eq!(decoded.err(), Some(DecodeError::Lists));
    }

    #[test]
    fn query_pict_formats_reply_is_decoded() {
        // RENDER QueryPictFormats: one format, one screen with one depth and its one visual.
        let mut bytes = vec![1, 0, 1, 0];
        for number in [14_u32, 1, 1, 1, 1, 1, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(0x21_u32.to_ne_bytes());
        bytes.resize(32 + 28, 0);
        bytes[32] = 0x25;
        bytes.extend(1_u32.to_ne_bytes());
        bytes.extend(0x25_u32.to_ne_bytes());
        bytes.extend([24, 0]);
        bytes.extend(1_u16.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend([0x26, 0, 0, 0, 0x25, 0, 0, 0]);
        // The subpixel order of the screen.
        bytes.extend(0_u32.to_ne_bytes());
        match reply(&bytes, (139, 1)).decode(&with("RENDER", 139)) {
            Ok(AnyReply::RenderQueryPictFormats(reply)) => {
                assert_eq!(reply.formats.len(), 1);
                assert_eq!(reply.screens[0].depths[0].depth, 24);
                assert_eq!(reply.screens[0].depths[0].visuals.len(), 1);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reply_is_decoded_by_its_request_opcodes() {
        // GetInputFocus: revert to 2, focus 0x400001.
        let mut bytes = vec![1, 2, 1, 0, 0, 0, 0, 0];
        bytes.extend(0x40_0001_u32.to_ne_bytes());
        bytes.resize(32, 0);
        match reply(&bytes, (43, 0)).decode(&Extensions::new()) {
            Ok(AnyReply::GetInputFocus(reply)) => assert_eq!(reply.focus, 0x40_0001),
            other => panic!("{other:?}"),
        }
        let mut unpaired = reply(&bytes, (43, 0));
        unpaired.opcode = None;
        assert_eq!(
            unpaired.decode(&Extensions::new()).err(),
            Some(DecodeError::Unknown)
        );
    }

    #[test]
    fn event_is_decoded() {
        let mut bytes = vec![12, 0, 1, 0];
        bytes.extend(0x40_0001_u32.to_ne_bytes());
        bytes.resize(32, 0);
        let event = Event {
            name: Symbol::new("Expose"),
            code: 12,
            sent: false,
            sequence: None,
            order: ByteOrder::native(),
            bytes: &bytes,
            wire_len: 32,
        };
        match event.decode(&Extensions::new()) {
            Ok(AnyEvent::Expose(expose)) => assert_eq!(expose.window, 0x40_0001),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn device_classes_state_their_whole_length() {
        let mut extensions = Extensions::new();
        extensions.insert(Extension {
            name: Symbol::new("XInputExtension"),
            major: 131,
            first_event: 0,
            first_error: 0,
        });
        let half = u16::to_ne_bytes;
        // Two classes of one key each, and of a touch device.
        let class = |kind, length, elements| {
            let fields = [half(kind), half(length), half(2), half(elements)];
            [fields.concat(), vec![0; 4 * usize::from(kind == 0)]].concat()
        };
        let decode = |classes: [Vec<u8>; 3]| {
            let classes = classes.concat();
            let mut event = vec![35, 131, 0, 0];
            event.extend((classes.len() as u32 / 4).to_ne_bytes());
            event.extend([half(1), half(3)].concat());
            event.extend([0; 4]);
            event.extend(half(3));
            event.resize(32, 0);
            event.extend(classes);
            let event = Event {
                name: Symbol::new("an event"),
                code: 35,
                sent: false,
                sequence: None,
                order: ByteOrder::native(),
                bytes: &event,
                wire_len: event.len() as u64,
            };
            event.decode(&extensions).map(drop)
        };
        let whole = || class(0, 3, 1);
        assert_eq!(decode([whole(), whole(), class(8, 2, 5)]), Ok(()));
        let wrong = Err(DecodeError::Lists);
        assert_eq!(decode([whole(), whole(), class(8, 0, 5)]), wrong);
        assert_eq!(decode([class(0, 2, 1), whole(), class(8, 2, 5)]), wrong);
    }
}
