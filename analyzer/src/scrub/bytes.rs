//! Places within a message.

use x11prof_protocol::ByteOrder;

/// The bytes from `at` on.
pub(super) fn from(bytes: &mut [u8], at: usize) -> &mut [u8] {
    bytes.get_mut(at..).unwrap_or_default()
}

/// The first `len` bytes, or fewer at the end, and the rest.
pub(super) fn split(bytes: &mut [u8], len: usize) -> (&mut [u8], &mut [u8]) {
    let len = len.min(bytes.len());
    bytes.split_at_mut(len)
}

/// Writes a CARD32.
pub(super) fn put_u32(order: ByteOrder, bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&match order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        });
    }
}
