//! The fields of any message, by name: what a dump shows, whatever the message's type.
//!
//! What `x11rb-protocol` decodes is read off its types' `Debug` text, which names every field,
//! flag and constant; the few layouts that it cannot be given are tables here.

mod by_hand;
mod debug_text;
mod value;

pub use value::Value;

use crate::{DecodeError, ErrorMessage, Event, Extensions, Message, Reply, Request, ServerSetup};

impl Message<'_> {
    /// The message's fields by name. Lists longer than a page are cut off (`Value::Cut`).
    pub fn fields(&self, extensions: &Extensions) -> Result<Value, DecodeError> {
        match self {
            Message::ClientSetup(setup) => Ok(Value::fields([
                ("byte_order", Value::Name(format!("{:?}", setup.order))),
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
            Message::ServerSetup(setup) => setup.fields(),
            Message::Request(request) => request.fields(extensions),
            Message::Reply(reply) => reply.fields(extensions),
            Message::Event(event) => event.fields(extensions),
            Message::Error(error) => Ok(error.fields()),
            Message::Malformed(malformed) => {
                Ok(Value::fields([("why", Value::Text(malformed.why.into()))]))
            }
        }
    }
}

impl Request<'_> {
    /// The request's fields by name.
    pub fn fields(&self, extensions: &Extensions) -> Result<Value, DecodeError> {
        if let Some(extension) = extensions.by_major(self.major)
            && let Some(layout) = by_hand::request(extension.name.as_str(), self.minor)
        {
            return layout.read(self.order, self.bytes, self.wire_len, self.header_len);
        }
        Ok(debug_text::read(&self.decode(extensions)?))
    }
}

impl Reply<'_> {
    /// The reply's fields by name.
    pub fn fields(&self, extensions: &Extensions) -> Result<Value, DecodeError> {
        if let Some((major, minor)) = self.opcode
            && let Some(extension) = extensions.by_major(major)
            && let Some(layout) = by_hand::reply(extension.name.as_str(), minor)
        {
            return layout.read(self.order, self.bytes, self.wire_len, 8);
        }
        let mut fields = debug_text::read(&self.decode(extensions)?);
        fields.remove(&["sequence", "length"]);
        Ok(fields)
    }
}

impl Event<'_> {
    /// The event's fields by name.
    pub fn fields(&self, extensions: &Extensions) -> Result<Value, DecodeError> {
        let mut fields = debug_text::read(&self.decode(extensions)?);
        fields.remove(&[
            "response_type",
            "sequence",
            "length",
            "extension",
            "event_type",
        ]);
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
    fn fields(&self) -> Result<Value, DecodeError> {
        if let Some(reason) = self.reason() {
            return Ok(Value::fields([("reason", Value::of_text(reason))]));
        }
        let mut fields = debug_text::read(&self.decode()?);
        fields.remove(&["status", "length"]);
        Ok(fields)
    }
}
