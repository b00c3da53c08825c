//! The unused bytes of requests. Libraries do not clear them, so they may have text of an earlier request.

use rustc_hash::FxHashMap;
use x11prof_protocol::{Extensions, Message, Request, Symbol};

/// For each kind of request, the offsets of the bytes before the last list that no field has.
#[derive(Debug, Default)]
pub(super) struct UnusedBytes(FxHashMap<Symbol, Vec<usize>>);

impl UnusedBytes {
    /// Zeroes the unused bytes of a request; `bytes` is the whole request.
    pub(super) fn clear(
        &mut self,
        request: &Request<'_>,
        extensions: &Extensions,
        bytes: &mut [u8],
    ) {
        let unused = self.0.entry(request.name);
        for at in unused.or_insert_with(|| unused_bytes(request, extensions)) {
            if let Some(byte) = bytes.get_mut(*at) {
                *byte = 0;
            }
        }
    }
}

/// A byte is unused if the decoded fields are the same for each of its values.
fn unused_bytes(request: &Request<'_>, extensions: &Extensions) -> Vec<usize> {
    let fields = |bytes: &[u8]| {
        let request = Request { bytes, ..*request };
        Message::Request(request).fields(extensions).ok()
    };
    let (Some(all), Some(end)) = (fields(request.bytes), request.fixed_len(extensions)) else {
        return Vec::new();
    };
    // The second byte of an extension's request is its opcode.
    let header = (request.major < 128).then_some(1);
    let is_unused = |at: &usize| {
        let mut bytes = request.bytes.to_vec();
        [0, 1, 0xFF].into_iter().all(|value| {
            bytes.get_mut(*at).is_some_and(|byte| {
                *byte = value;
                true
            }) && fields(&bytes).as_ref() == Some(&all)
        })
    };
    let offsets = header.into_iter().chain(request.header_len..end);
    offsets.filter(is_unused).collect()
}

#[cfg(test)]
mod tests {
    use x11prof_protocol::{ByteOrder, Extensions, Request, SequenceNumber, Symbol};

    use super::UnusedBytes;

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
        UnusedBytes::default().clear(&request, &Extensions::default(), &mut scrubbed);
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
