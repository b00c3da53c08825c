//! Access to the bytes of a message.

use x11prof_protocol::ByteOrder;

/// The bytes from index `at` on; empty beyond the end.
pub(super) fn from(bytes: &mut [u8], at: usize) -> &mut [u8] {
    bytes.get_mut(at..).unwrap_or_default()
}

/// Splits the bytes after the first `len` bytes, or at the end if there are fewer.
pub(super) fn split(bytes: &mut [u8], len: usize) -> (&mut [u8], &mut [u8]) {
    let len = len.min(bytes.len());
    bytes.split_at_mut(len)
}

/// Writes `number` as a CARD32 at index `at`, in this byte order.
pub(super) fn put_u32(order: ByteOrder, bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&match order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        });
    }
}
