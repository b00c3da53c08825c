//! The body of a request. Fields are read in the client's byte order, and never beyond the recorded bytes.

use crate::byte_order::ByteOrder;
use crate::message::Request;

/// The bytes of a request after its header. An offset is the offset in the protocol's encoding tables minus the 4 bytes
/// of the header, so offsets are also valid for BIG-REQUESTS.
#[derive(Debug, Clone, Copy)]
pub struct Body<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
    whole: bool,
    wire_len: u64,
}

impl<'a> Body<'a> {
    /// The bytes of `request` after its header.
    #[inline]
    pub fn of(request: &Request<'a>) -> Body<'a> {
        Body {
            bytes: request.bytes.get(request.header_len..).unwrap_or_default(),
            order: request.order,
            whole: request.bytes.len() as u64 >= request.wire_len,
            wire_len: request.wire_len.saturating_sub(request.header_len as u64),
        }
    }

    /// False if the recorder dropped the end of the request's body.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// The length of the body on the wire in bytes, including bytes that the recorder dropped.
    pub fn wire_len(&self) -> u64 {
        self.wire_len
    }

    /// The byte at offset `at`; `None` past the end.
    #[inline]
    pub fn u8(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The unsigned 16-bit field at offset `at`; `None` past the end.
    #[inline]
    pub fn u16(&self, at: usize) -> Option<u16> {
        self.order.u16(self.bytes, at)
    }

    /// The signed 16-bit field at offset `at`; `None` past the end.
    #[inline]
    pub fn i16(&self, at: usize) -> Option<i16> {
        self.order.i16(self.bytes, at)
    }

    /// The unsigned 32-bit field at offset `at`; `None` past the end.
    #[inline]
    pub fn u32(&self, at: usize) -> Option<u32> {
        self.order.u32(self.bytes, at)
    }

    /// The recorded bytes from offset `at` on; empty past the end.
    #[inline]
    pub fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    /// The `len` bytes at offset `at`; `None` past the end.
    #[inline]
    pub fn bytes(&self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(len)?)
    }

    /// The structures of `size` bytes each from offset `at` to the end. A truncated last structure is left out.
    #[inline]
    pub fn list(&self, at: usize, size: usize) -> impl Iterator<Item = Body<'a>> + Clone + use<'a> {
        let (order, whole) = (self.order, self.whole);
        self.from(at).chunks_exact(size).map(move |bytes| Body {
            bytes,
            order,
            whole,
            wire_len: size as u64,
        })
    }

    /// The value of `bit` in the value list at offset `at`, which contains the values of the bits in `mask` (protocol,
    /// LISTofVALUE: one 32-bit unit for each set bit, lowest bit first). `None` if the bit is not set, or past the end.
    pub fn value(&self, at: usize, mask: u32, bit: u32) -> Option<u32> {
        if mask & bit == 0 {
            return None;
        }
        let before = (mask & (bit - 1)).count_ones() as usize;
        self.u32(at + 4 * before)
    }
}

#[cfg(test)]
mod tests {
    use super::Body;
    use crate::{ByteOrder, Request, SequenceNumber};

    fn request(bytes: &[u8], header_len: usize, wire_len: u64) -> Request<'_> {
        Request {
            sequence: SequenceNumber(1),
            name: "CreateGC".into(),
            major: 55,
            minor: 0,
            order: ByteOrder::Big,
            bytes,
            wire_len,
            header_len,
            has_reply: false,
        }
    }

    #[test]
    fn fields_start_after_the_header_and_end_with_the_data() {
        let bytes = [55, 0, 0, 0, 0, 0, 0, 3, 0, 0, 1, 2];
        let body = Body::of(&request(&bytes, 8, 12));
        assert!(body.is_whole());
        assert_eq!(body.u32(0), Some(0x0102));
        assert_eq!(body.u32(1), None);
        let cut = Body::of(&request(&bytes[..6], 8, 12));
        assert!(!cut.is_whole());
        assert_eq!(cut.u8(0), None);
        assert!(cut.from(3).is_empty());
    }

    #[test]
    fn mask_values_are_in_bit_order() {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9];
        let body = Body::of(&request(&bytes, 4, 12));
        assert_eq!(body.value(0, 0b1010, 0b0010), Some(7));
        assert_eq!(body.value(0, 0b1010, 0b1000), Some(9));
        assert_eq!(body.value(0, 0b1010, 0b0100), None);
        assert_eq!(body.value(0, u32::MAX, 1 << 31), None);
    }
}
