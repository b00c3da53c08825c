//! Bytes that are cleared by what the decoder makes of them: the unused bytes of requests, which libraries do not clear,
//! so that they may have text of an earlier request; and the modifiers in extended events.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Event, Extensions, Message, Request, Symbol, Value};

use super::answers::GENERIC_HEADER;

/// The fields of an XI2 event that have modifiers and the keyboard's group (XI2proto, "ModifierInfo", "GroupInfo").
const MODIFIERS: [&str; 2] = ["mods", "group"];
/// The length of the fixed part of an XI2 event, in bytes, is below this.
const LONGEST_EVENT: usize = 128;

/// The kind of a request or event, the length of the request's header, and true if no list begins in the bytes after the
/// fixed part, which then are unused.
type Kind = (Symbol, usize, bool);

/// For each kind of request and of event, the offsets of the bytes before the last list that are cleared.
#[derive(Debug, Default)]
pub(super) struct ClearedBytes(FxHashMap<Kind, Vec<usize>>);

impl ClearedBytes {
    /// Zeroes the unused bytes of a request; `bytes` is the whole request.
    pub(super) fn clear_unused(
        &mut self,
        request: &Request<'_>,
        extensions: &Extensions,
        bytes: &mut [u8],
    ) {
        let is_short = request
            .fixed_len(extensions)
            .is_some_and(|len| len % 4 != 0 && bytes.len() <= len.next_multiple_of(4));
        let is_empty = is_short && !has_items(request, extensions);
        let kind = (request.name, request.header_len, is_empty);
        self.clear(kind, bytes, || unused_bytes(request, extensions));
    }

    /// Zeroes the modifiers of a generic event; `bytes` is the whole event. Returns false if it cannot be decoded.
    pub(super) fn clear_modifiers(
        &mut self,
        event: &Event<'_>,
        extensions: &Extensions,
        bytes: &mut [u8],
    ) -> bool {
        self.clear((event.name, 0, false), bytes, || {
            modifier_bytes(event, extensions)
        })
    }

    fn clear(
        &mut self,
        kind: Kind,
        bytes: &mut [u8],
        found: impl FnOnce() -> Option<Vec<usize>>,
    ) -> bool {
        if !self.0.contains_key(&kind)
            && let Some(found) = found()
        {
            self.0.insert(kind, found);
        }
        let known = self.0.get(&kind);
        known.is_some_and(|offsets| {
            zero(bytes, offsets);
            true
        })
    }
}

fn zero(bytes: &mut [u8], offsets: &[usize]) {
    for at in offsets {
        if let Some(byte) = bytes.get_mut(*at) {
            *byte = 0;
        }
    }
}

/// True if the request has a list or text that is not empty.
fn has_items(request: &Request<'_>, extensions: &Extensions) -> bool {
    let Ok(Value::Fields(fields)) = Message::Request(*request).fields(extensions) else {
        return false;
    };
    fields.iter().any(|(_, value)| match value {
        Value::List(items) => !items.is_empty(),
        Value::Text(text) => !text.is_empty(),
        _ => false,
    })
}

/// A byte is unused if the decoded fields are the same for each of its values. `None` if the request cannot be decoded.
fn unused_bytes(request: &Request<'_>, extensions: &Extensions) -> Option<Vec<usize>> {
    let fields = |bytes: &[u8]| {
        let request = Request { bytes, ..*request };
        Message::Request(request).fields(extensions).ok()
    };
    let (all, end) = (fields(request.bytes)?, request.fixed_len(extensions)?);
    // The second byte of an extension's request is its opcode.
    let header = (request.major < 128).then_some(1);
    // Lists begin at a multiple of four bytes.
    let body = request.header_len..end.next_multiple_of(4).min(request.bytes.len());
    let offsets = header.into_iter().chain(body);
    let found = bytes_that(request.bytes, offsets, fields, |changed| *changed == all);
    Some(found)
}

/// A byte is of the modifiers if no other field depends on it. `None` if the event cannot be decoded.
fn modifier_bytes(event: &Event<'_>, extensions: &Extensions) -> Option<Vec<usize>> {
    let fields = |bytes: &[u8]| {
        Message::Event(Event { bytes, ..*event })
            .fields(extensions)
            .ok()
    };
    let others = |value: &Value| match value {
        Value::Fields(fields) => {
            let fields = fields.iter();
            let fields = fields.filter(|(name, _)| !MODIFIERS.contains(&name.as_str()));
            Some(fields.cloned().collect::<Vec<_>>())
        }
        _ => None,
    };
    let all = fields(event.bytes)?;
    let rest = others(&all);
    let offsets = GENERIC_HEADER..event.bytes.len().min(LONGEST_EVENT);
    let unused = bytes_that(event.bytes, offsets.clone(), fields, |changed| {
        *changed == all
    });
    let mut found = bytes_that(event.bytes, offsets, fields, |changed| {
        others(changed) == rest
    });
    // Behind the fields may be a list in other events.
    found.retain(|at| !unused.contains(at));
    Some(found)
}

/// Returns those of the `offsets` for whose byte `is_cleared` is true with each value, as far as tried.
fn bytes_that(
    message: &[u8],
    offsets: impl Iterator<Item = usize>,
    fields: impl Fn(&[u8]) -> Option<Value>,
    is_cleared: impl Fn(&Value) -> bool,
) -> Vec<usize> {
    let holds = |at: &usize| {
        let mut bytes = message.to_vec();
        [0, 1, 0xFF].into_iter().all(|value| {
            bytes.get_mut(*at).is_some_and(|byte| {
                *byte = value;
                true
            }) && fields(&bytes).as_ref().is_some_and(&is_cleared)
        })
    };
    offsets.filter(holds).collect()
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, Extensions, Request, SequenceNumber, Symbol};

    use super::ClearedBytes;

    /// The body of a core request after its unused bytes were cleared, and the byte after the opcode. `header_len` is 4,
    /// or 8 for a long request.
    fn cleared_after(
        earlier: &mut ClearedBytes,
        header_len: usize,
        (name, opcode, minor): (&str, u8, u8),
        body: &[u8],
    ) -> (u8, Vec<u8>) {
        let units = u8::try_from((header_len + body.len()) / 4).expect("a short request");
        let mut bytes = match header_len {
            4 => vec![opcode, minor, units, 0],
            _ => vec![opcode, minor, 0, 0, units, 0, 0, 0],
        };
        bytes.extend_from_slice(body);
        let request = Request {
            sequence: SequenceNumber(1),
            name: Symbol::new(name),
            major: opcode,
            minor,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: bytes.len() as u64,
            header_len,
            has_reply: false,
        };
        let mut scrubbed = bytes.clone();
        earlier.clear_unused(&request, &Extensions::default(), &mut scrubbed);
        (scrubbed[1], scrubbed[header_len..].to_vec())
    }

    fn cleared(name: &str, opcode: u8, minor: u8, body: &[u8]) -> (u8, Vec<u8>) {
        cleared_after(&mut ClearedBytes::default(), 4, (name, opcode, minor), body)
    }

    #[test]
    fn offsets_follow_a_long_header() {
        let mut earlier = ClearedBytes::default();
        let configure = ("ConfigureWindow", 12, 76);
        let body = [1, 0, 0, 0, 4, 0, 77, 78, 9, 0, 0, 0];
        let expected = vec![1, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0];
        for header_len in [8, 4, 8] {
            let (_, after) = cleared_after(&mut earlier, header_len, configure, &body);
            assert_eq!(after, expected, "{header_len}");
        }
    }

    #[test]
    fn unused_bytes_before_a_list_are_cleared_also_after_an_empty_list() {
        let mut earlier = ClearedBytes::default();
        // OpenFont: the id, the length, two unused bytes, the name.
        for name in [&b""[..], b"6x13", b"", b"6x13"] {
            let len = name.len() as u8;
            let (head, unused) = ([1, 0, 0, 0, len, 0], [77, 78]);
            let body = [&head[..], &unused, name].concat();
            let (_, after) = cleared_after(&mut earlier, 4, ("OpenFont", 45, 0), &body);
            assert_eq!(after, [&head[..], &[0, 0], name].concat());
            // The bytes are looked for once for each kind, which takes many decodings.
            assert!(earlier.0.len() <= 2);
        }
    }

    #[test]
    fn bytes_without_a_field_are_cleared() {
        // ConfigureWindow: the window, the mask, two unused bytes, the width.
        let body = [1, 0, 0, 0, 4, 0, 77, 78, 9, 0, 0, 0];
        let expected = vec![1, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0];
        assert_eq!(cleared("ConfigureWindow", 12, 76, &body), (0, expected));
        // InternAtom: only-if-exists, the length, two unused bytes, the name.
        let body = [3, 0, 77, 78, 65, 66, 67, 0];
        let expected = vec![3, 0, 0, 0, 65, 66, 67, 0];
        assert_eq!(cleared("InternAtom", 16, 1, &body), (1, expected));
    }
}
