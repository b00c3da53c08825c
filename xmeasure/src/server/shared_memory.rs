//! A System V shared memory segment, to which MIT-SHM refers by its id.

use std::ffi::{c_int, c_void};
use std::ptr;

/// A shared memory segment. The kernel removes it when all processes have detached it.
#[derive(Debug)]
pub(crate) struct Segment {
    id: c_int,
}

#[expect(unsafe_code, reason = "rustix has no System V shared memory")]
unsafe extern "C" {
    fn shmget(key: c_int, size: usize, flags: c_int) -> c_int;
    fn shmctl(id: c_int, command: c_int, buffer: *mut c_void) -> c_int;
}

/// Constants of `sys/ipc.h`: a key of no other client's, create, remove.
const IPC_PRIVATE: c_int = 0;
const IPC_CREAT: c_int = 0o1000;
const IPC_RMID: c_int = 0;

impl Segment {
    /// Creates a segment of `length` bytes that only its owner may read and write; `None` if the system provides none.
    pub(crate) fn new(length: usize) -> Option<Segment> {
        // SAFETY: the call has three integer arguments and accesses no memory of this process.
        #[expect(unsafe_code, reason = "a system call")]
        let id = unsafe { shmget(IPC_PRIVATE, length, IPC_CREAT | 0o600) };
        (id >= 0).then_some(Segment { id })
    }

    /// The id of the segment, as in MIT-SHM requests.
    pub(crate) fn id(&self) -> u32 {
        self.id.cast_unsigned()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID ignores the buffer.
        #[expect(unsafe_code, reason = "a system call")]
        unsafe {
            shmctl(self.id, IPC_RMID, ptr::null_mut())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Segment;

    #[test]
    fn segment_ids_are_distinct() {
        let (one, other) = (Segment::new(4096).unwrap(), Segment::new(4096).unwrap());
        assert_ne!(one.id(), other.id());
    }
}
