//! The memory that sockets are read into: few buffers, which stay in the processor's caches.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Bytes of one buffer, and so of the longest read: more than a sender's socket buffer holds by
/// default, so that one read takes all that there is.
pub(crate) const READ: usize = 256 << 10;
/// Buffers that are kept when they are not in use.
const SPARE: usize = 4;
/// When more than this are in use, most of their holders wait for peers that do not read.
const MANY: usize = 16;

/// The read buffers of all connections of one thread.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffers {
    spare: RefCell<Vec<Box<[u8]>>>,
    in_use: std::cell::Cell<usize>,
}

/// A buffer in use; it goes back on drop.
#[derive(Debug)]
pub(crate) struct Lease<'a> {
    buffers: &'a ReadBuffers,
    buffer: Box<[u8]>,
}

impl ReadBuffers {
    /// A buffer, with whatever is in it.
    pub(crate) fn lease(&self) -> Lease<'_> {
        let spare = self.spare.borrow_mut().pop();
        self.in_use.set(self.in_use.get() + 1);
        Lease {
            buffers: self,
            buffer: spare.unwrap_or_else(|| vec![0; READ].into_boxed_slice()),
        }
    }

    /// Whether who has to wait should copy what is left and give the buffer back.
    pub(crate) fn are_scarce(&self) -> bool {
        self.in_use.get() > MANY
    }
}

impl Deref for Lease<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.buffers.in_use.set(self.buffers.in_use.get() - 1);
        let mut spare = self.buffers.spare.borrow_mut();
        if spare.len() < SPARE {
            spare.push(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MANY, ReadBuffers, SPARE};

    #[test]
    fn buffers_are_used_again_and_few_are_kept() {
        let buffers = ReadBuffers::default();
        let first = buffers.lease().as_ptr();
        assert_eq!(buffers.lease().as_ptr(), first);
        let many: Vec<_> = (0..=MANY).map(|_| buffers.lease()).collect();
        assert!(buffers.are_scarce());
        drop(many);
        assert!(!buffers.are_scarce());
        assert_eq!(buffers.spare.borrow().len(), SPARE);
    }
}
