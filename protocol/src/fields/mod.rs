//! The fields of any message, by name, for dumps.
//!
//! The fields are parsed from the `Debug` text of `x11rb-protocol`'s types, which names every field,
//! flag and constant. Tables here describe the few layouts that `x11rb-protocol` cannot parse.

mod bools;
mod by_hand;
mod debug_text;
mod number_kind;
mod value;

pub use number_kind::NumberKind;
pub use value::Value;

use compact_str::format_compact;
use x11rb_protocol::protocol;

use crate::header::GENERIC_EVENT;
use crate::{
    DecodeError, ErrorMessage, Event, Extensions, Message, Reply, Request, ServerSetup, swap,
};

/// Core opcodes of the messages with pixels (protocol, appendix B).
const PUT_IMAGE: u8 = 72;
const GET_IMAGE: u8 = 73;
/// The maximum number of bytes shown of a message with an unknown layout.
const LONGEST_RAW: usize = 1024;

/// Replaces the pixels in `fields`, which the recorder dropped, by [`Value::Cut`].
fn without_pixels(mut fields: Value) -> Value {
    if let Value::Fields(fields) = &mut fields
        && let Some((_, data)) = fields.iter_mut().find(|(name, _)| name == "data")
    {
        *data = Value::List(vec![Value::Cut]);
    }
    fields
}

/// Returns the first 1024 bytes of a message with an unknown layout, as a list with the name `data`.
fn raw(bytes: &[u8]) -> Value {
    let mut data: Vec<Value> = bytes
        .iter()
        .take(LONGEST_RAW)
        .map(|byte| Value::Number((*byte).into()))
        .collect();
    if bytes.len() > LONGEST_RAW {
        data.push(Value::Cut);
    }
    Value::fields([("data", Value::List(data))])
}

/// The key of a request or reply in the tables of layouts, as in [`Event::layout_key`].
fn key<'a>(
    extensions: &'a Extensions,
    form: &'static str,
    (major, minor): (u8, u8),
) -> (&'a str, &'static str, u8) {
    match extensions.by_major(major) {
        Some(extension) => (extension.name.as_str(), form, minor),
        None => ("-", form, major),
    }
}

impl Request<'_> {
    /// The length in bytes of the header and the fields before the last list; `None` if it is not known.
    pub fn fixed_len(&self, extensions: &Extensions) -> Option<usize> {
        let key = key(extensions, "request", (self.major, self.minor));
        swap::last_list(key, self.header_len).map(|(at, _)| at)
    }
}

impl Message<'_> {
    /// The fields of the message by name. Long lists are truncated (`Value::Cut`).
    pub fn fields(&self, extensions: &Extensions) -> Result<Value, DecodeError> {
        self.first_fields(extensions, debug_text::LONGEST)
    }

    /// The offset of the list at the end of the message, if the items of the list are not ids. `None` if they may be ids,
    /// or without a known list. The list of a property with a format of 32 bits may contain ids.
    pub fn list_without_ids(&self, extensions: &Extensions) -> Option<usize> {
        match self {
            Message::Request(request) if !request.has_lists_of_ids(extensions) => {
                request.fixed_len(extensions)
            }
            Message::Reply(reply) => {
                let (at, item) = swap::last_list(key(extensions, "reply", reply.opcode?), 8)?;
                (!item.contains(['4', '8'])).then_some(at)
            }
            _ => None,
        }
    }

    /// The first fields of the message by name, up to about `longest` bytes of text. Faster than all fields.
    pub fn first_fields(
        &self,
        extensions: &Extensions,
        longest: usize,
    ) -> Result<Value, DecodeError> {
        match self {
            Message::ClientSetup(setup) => Ok(Value::fields([
                (
                    "byte_order",
                    Value::Name(format_compact!("{:?}", setup.order)),
                ),
                (
                    "protocol_major_version",
                    Value::Number(setup.version.0.into()),
                ),
                (
                    "protocol_minor_version",
                    Value::Number(setup.version.1.into()),
                ),
                (
                    "authorization_protocol_name",
                    Value::of_text(setup.authorization),
                ),
            ])),
            Message::ServerSetup(setup) => setup.fields(longest),
            Message::Request(request) => request.fields(extensions, longest),
            Message::Reply(reply) => reply.fields(extensions, longest),
            Message::Event(event) => event.fields(extensions, longest),
            Message::Error(error) => Ok(error.fields()),
            Message::Malformed(malformed) => {
                Ok(Value::fields([("why", Value::Text(malformed.why.into()))]))
            }
        }
    }
}

impl Request<'_> {
    /// The request's fields by name.
    fn fields(&self, extensions: &Extensions, longest: usize) -> Result<Value, DecodeError> {
        if let Some(extension) = extensions.by_major(self.major)
            && let Some(layout) = by_hand::request(extension.name.as_str(), self.minor)
        {
            return layout.read(self.order, self.bytes, self.wire_len, self.header_len);
        }
        if self.major == PUT_IMAGE
            && self.wire_len > self.bytes.len() as u64
            && let Some(bytes) = self.bytes.get(..self.header_len + 20)
        {
            let wire_len = bytes.len() as u64;
            let empty = Request {
                bytes,
                wire_len,
                ..*self
            };
            let fields = debug_text::read(&empty.decode(extensions)?, longest);
            return Ok(without_pixels(fields));
        }
        let mut fields = match self.decode(extensions)? {
            protocol::Request::Unknown(_, body) => return Ok(raw(&body)),
            decoded => debug_text::read(&decoded, longest),
        };
        let key = key(extensions, "request", (self.major, self.minor));
        bools::restore(&mut fields, self.bytes, self.header_len, key);
        Ok(fields)
    }
}

impl Reply<'_> {
    /// The reply's fields by name.
    fn fields(&self, extensions: &Extensions, longest: usize) -> Result<Value, DecodeError> {
        if let Some((major, minor)) = self.opcode
            && let Some(extension) = extensions.by_major(major)
            && let Some(layout) = by_hand::reply(extension.name.as_str(), minor)
        {
            return layout.read(self.order, self.bytes, self.wire_len, 8);
        }
        // Only the names of the extension's messages are known, not their layouts.
        if let Some((major, minor)) = self.opcode
            && extensions.opcode(major, minor).parser.is_none()
        {
            return Ok(raw(self.bytes.get(8..).unwrap_or_default()));
        }
        let mut fields = match self.bytes.first_chunk::<32>() {
            Some(&header)
                if self.opcode.is_some_and(|(major, _)| major == GET_IMAGE)
                    && self.wire_len > self.bytes.len() as u64 =>
            {
                let mut bytes = header;
                // The reply's length, in either byte order.
                bytes[4..8].fill(0);
                let empty = Reply {
                    bytes: &bytes,
                    wire_len: 32,
                    ..*self
                };
                without_pixels(debug_text::read(&empty.decode(extensions)?, longest))
            }
            _ => debug_text::read(&self.decode(extensions)?, longest),
        };
        if let Some(opcode) = self.opcode {
            bools::restore(&mut fields, self.bytes, 4, key(extensions, "reply", opcode));
        }
        fields.remove(&["sequence", "length"]);
        Ok(fields)
    }
}

impl Event<'_> {
    /// The event's fields by name.
    fn fields(&self, extensions: &Extensions, longest: usize) -> Result<Value, DecodeError> {
        let decoded = self.decode(extensions)?;
        if let protocol::Event::Unknown(bytes) = decoded {
            return Ok(raw(bytes.get(4..).unwrap_or_default()));
        }
        let mut fields = debug_text::read(&decoded, longest);
        if let Some(key) = self.layout_key(extensions) {
            bools::restore(&mut fields, self.bytes, 4, key);
        }
        fields.remove(&["response_type", "sequence"]);
        if self.code == GENERIC_EVENT {
            fields.remove(&["length", "extension", "event_type"]);
        }
        Ok(fields)
    }
}

impl ErrorMessage<'_> {
    /// The error's fields by name, in either byte order.
    fn fields(&self) -> Value {
        let byte = |at| Value::Number(self.bytes.get(at).copied().unwrap_or(0).into());
        let minor = self.order.u16(self.bytes, 8).unwrap_or(0);
        Value::fields([
            ("bad_value", Value::Number(self.bad_value.into())),
            ("minor_opcode", Value::Number(minor.into())),
            ("major_opcode", byte(10)),
        ])
    }
}

impl ServerSetup<'_> {
    fn fields(&self, longest: usize) -> Result<Value, DecodeError> {
        if let Some(reason) = self.reason() {
            return Ok(Value::fields([("reason", Value::of_text(reason))]));
        }
        let mut fields = debug_text::read(&self.decode()?, longest);
        fields.remove(&["status", "length"]);
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::debug_text;
    use crate::{ByteOrder, Extensions, Request, SequenceNumber, Symbol, Value};

    #[test]
    fn put_image_fields_are_read_without_pixels() {
        let mut bytes = vec![72, 2];
        bytes.extend(2054_u16.to_le_bytes());
        for word in [0x40_0001_u32, 0x40_0002] {
            bytes.extend(word.to_le_bytes());
        }
        for half in [64_u16, 32, 1, 2, 24 << 8] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend([0; 2]);
        let request = Request {
            sequence: SequenceNumber(1),
            name: Symbol::new("PutImage"),
            major: 72,
            minor: 2,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: 2054 * 4,
            header_len: 4,
            has_reply: false,
        };
        let fields = request
            .fields(&Extensions::new(), debug_text::LONGEST)
            .unwrap();
        assert_eq!(fields.get("height"), Some(&Value::Number(32)));
        assert_eq!(fields.get("data"), Some(&Value::List(vec![Value::Cut])));
    }
}
