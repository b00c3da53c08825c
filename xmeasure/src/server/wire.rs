//! Encodes requests as bytes, in this machine's byte order.

use x11rb_protocol::protocol::xproto::GetInputFocusRequest;
use x11rb_protocol::x11_utils::Request;

/// The bytes of a core request as sent to the server.
pub(crate) fn core(request: impl Request) -> Vec<u8> {
    Major::CORE.bytes(request)
}

/// The major opcode of an extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Major(pub(crate) u8);

impl Major {
    /// The value for requests of the core protocol, which have their own major opcodes.
    pub(crate) const CORE: Major = Major(0);

    /// The bytes of a request of the extension with this major opcode.
    pub(crate) fn bytes(self, request: impl Request) -> Vec<u8> {
        with_length(request.serialize(self.0).0)
    }
}

/// Writes the length of the request `bytes` into its header, and pads the request to four bytes.
pub(crate) fn with_length(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = bytes.len() / 4;
    let short = u16::try_from(words).unwrap_or(0);
    if let Some(length) = bytes.get_mut(2..4) {
        length.copy_from_slice(&short.to_ne_bytes());
        if short == 0 {
            // BIG-REQUESTS: a length of zero, followed by the 32-bit length, which includes its own word.
            let length = u32::try_from(words + 1).unwrap_or(u32::MAX);
            bytes.splice(4..4, length.to_ne_bytes());
        }
    }
    bytes
}

/// The bytes of a NoOperation with `words` words of 4 bytes in all. The protocol allows any length.
pub(crate) fn no_operation(words: u16) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(words.max(1)) * 4];
    if let Some(header) = bytes.get_mut(..4) {
        let [low, high] = words.max(1).to_ne_bytes();
        header.copy_from_slice(&[127, 0, low, high]);
    }
    bytes
}

/// The bytes of GetInputFocus, the cheapest request with a reply.
pub(crate) fn input_focus() -> Vec<u8> {
    core(GetInputFocusRequest)
}

#[cfg(test)]
mod tests {
    use super::{core, no_operation};
    use std::borrow::Cow;
    use x11rb_protocol::protocol::xproto::{GetInputFocusRequest, ImageFormat, PutImageRequest};

    #[test]
    fn short_requests_follow_the_core_protocol() {
        assert_eq!(
            core(GetInputFocusRequest),
            [43, 0, 1_u16.to_ne_bytes()[0], 1_u16.to_ne_bytes()[1]]
        );
        assert_eq!(no_operation(3).len(), 12);
        assert_eq!(no_operation(3)[2..4], 3_u16.to_ne_bytes());
    }

    #[test]
    fn long_requests_use_the_big_requests_length() {
        let image = PutImageRequest {
            format: ImageFormat::Z_PIXMAP,
            drawable: 1,
            gc: 2,
            width: 300,
            height: 300,
            dst_x: 0,
            dst_y: 0,
            left_pad: 0,
            depth: 24,
            data: Cow::Owned(vec![7; 300 * 300 * 4]),
        };
        let bytes = core(image);
        assert_eq!(bytes.len(), 28 + 360_000);
        assert_eq!(bytes[2..4], [0, 0]);
        assert_eq!(bytes[4..8], ((28 + 360_000) / 4_u32).to_ne_bytes());
        assert_eq!(bytes[8..12], 1_u32.to_ne_bytes());
    }
}
