//! Access to the bytes of a message.

/// Returns the bytes from index `at` on; an empty slice if `at` is beyond the end.
pub(super) fn from(bytes: &mut [u8], at: usize) -> &mut [u8] {
    bytes.get_mut(at..).unwrap_or_default()
}

/// Splits the bytes after the first `len` bytes, or at the end if there are fewer.
pub(super) fn split(bytes: &mut [u8], len: usize) -> (&mut [u8], &mut [u8]) {
    let len = len.min(bytes.len());
    bytes.split_at_mut(len)
}
