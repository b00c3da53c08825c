//! A System V shared memory segment, to which MIT-SHM refers by its id.

use std::ffi::{c_int, c_void};
use std::ptr;

/// A shared memory segment. The kernel removes it when all processes have detached it, or have been killed.
#[derive(Debug)]
pub(crate) struct Segment {
    id: c_int,
    /// The address at which this process has attached the segment.
    address: usize,
}

#[expect(unsafe_code, reason = "rustix has no System V shared memory")]
unsafe extern "C" {
    fn shmget(key: c_int, size: usize, flags: c_int) -> c_int;
    fn shmat(id: c_int, address: *const c_void, flags: c_int) -> *mut c_void;
    fn shmdt(address: *const c_void) -> c_int;
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
        if id < 0 {
            return None;
        }
        // SAFETY: the kernel chooses an unused address, and nothing accesses the memory there. IPC_RMID ignores the
        // buffer: it marks the segment, which stays until it is detached. Other processes can still attach it (Linux).
        #[expect(unsafe_code, reason = "system calls")]
        let address = unsafe {
            let address = shmat(id, ptr::null(), 0);
            shmctl(id, IPC_RMID, ptr::null_mut());
            address.addr()
        };
        (address != usize::MAX).then_some(Segment { id, address })
    }

    /// The id of the segment, as in MIT-SHM requests.
    pub(crate) fn id(&self) -> u32 {
        self.id.cast_unsigned()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the memory at this address.
        #[expect(unsafe_code, reason = "a system call")]
        unsafe {
            shmdt(ptr::without_provenance(self.address))
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

    #[test]
    fn segments_end_with_their_process() {
        let mode = |id: u32| {
            let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
            let mut rows = table.lines().map(|row| row.split_whitespace().skip(1));
            let row = rows.find(|row| row.clone().next() == Some(&id.to_string()));
            row.and_then(|mut row| row.nth(1).map(str::to_owned))
        };
        let segment = Segment::new(4096).unwrap();
        let id = segment.id();
        // The bit 01000 marks a segment that the kernel removes when it is detached (SHM_DEST).
        assert_eq!(mode(id).as_deref(), Some("1600"));
        drop(segment);
        assert_eq!(mode(id), None);
    }
}
