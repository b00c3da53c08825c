//! The fields of a request behind its header, in its connection's byte order. The session has
//! its own; the layers below show none of it.

use x11prof_protocol::{ByteOrder, Request};

/// A request's body. Offsets are from its first byte; reading behind its end gives `None`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    order: ByteOrder,
    bytes: &'a [u8],
}

impl<'a> Body<'a> {
    pub(crate) fn of(request: &Request<'a>) -> Body<'a> {
        Body {
            order: request.order,
            bytes: request.bytes.get(request.header_len..).unwrap_or(&[]),
        }
    }

    pub(crate) fn u8(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(crate) fn u16(&self, at: usize) -> Option<u16> {
        self.order.u16(self.bytes, at)
    }

    pub(crate) fn u32(&self, at: usize) -> Option<u32> {
        self.order.u32(self.bytes, at)
    }

    /// `len` bytes at `at`.
    pub(crate) fn bytes(&self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(len)?)
    }
}
