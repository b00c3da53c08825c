//! Bytes that are cleared by what the decoder makes of them: the unused bytes of requests, which libraries do not clear,
//! so that they may have text of an earlier request; and the modifiers in extended events.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Event, Extensions, Message, Request, Symbol, Value};

use super::answers::GENERIC_HEADER;

/// The fields of an XI2 event that have modifiers and the keyboard's group (XI2proto, "ModifierInfo", "GroupInfo").
const MODIFIERS: [&str; 2] = ["mods", "group"];
/// The length of the fixed part of an XI2 event, in bytes, is below this.
const LONGEST_EVENT: usize = 128;

/// For each kind of request or event, the offsets of the bytes before the last list that are cleared.
#[derive(Debug, Default)]
pub(super) struct ClearedBytes(FxHashMap<Symbol, Vec<usize>>);

impl ClearedBytes {
    /// Zeroes the unused bytes of a request; `bytes` is the whole request.
    pub(super) fn clear_unused(
        &mut self,
        request: &Request<'_>,
        extensions: &Extensions,
        bytes: &mut [u8],
    ) {
        self.clear(request.name, bytes, || unused_bytes(request, extensions));
    }

    /// Zeroes the modifiers of a generic event; `bytes` is the whole event. Returns false if it cannot be decoded.
    pub(super) fn clear_modifiers(
        &mut self,
        event: &Event<'_>,
        extensions: &Extensions,
        bytes: &mut [u8],
    ) -> bool {
        self.clear(event.name, bytes, || modifier_bytes(event, extensions))
    }

    fn clear(
        &mut self,
        name: Symbol,
        bytes: &mut [u8],
        found: impl FnOnce() -> Option<Vec<usize>>,
    ) -> bool {
        if !self.0.contains_key(&name)
            && let Some(found) = found()
        {
            self.0.insert(name, found);
        }
        let known = self.0.get(&name);
        for at in known.into_iter().flatten() {
            if let Some(byte) = bytes.get_mut(*at) {
                *byte = 0;
            }
        }
        known.is_some()
    }
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
    let offsets = header.into_iter().chain(request.header_len..end);
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

    /// The body of a core request after its unused bytes were cleared, and the byte after the opcode.
    fn cleared(name: &str, opcode: u8, minor: u8, body: &[u8]) -> (u8, Vec<u8>) {
        let units = u8::try_from(1 + body.len() / 4).expect("a short request");
        let mut bytes = vec![opcode, minor, units, 0];
        bytes.extend_from_slice(body);
        let request = Request {
            sequence: SequenceNumber(1),
            name: Symbol::new(name),
            major: opcode,
            minor,
            order: ByteOrder::Little,
            bytes: &bytes,
            wire_len: bytes.len() as u64,
            header_len: 4,
            has_reply: false,
        };
        let mut scrubbed = bytes.clone();
        ClearedBytes::default().clear_unused(&request, &Extensions::default(), &mut scrubbed);
        (scrubbed[1], scrubbed[4..].to_vec())
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
