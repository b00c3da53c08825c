//! System V shared memory, to which MIT-SHM refers by its id.

use std::{io, ptr};

/// A shared memory segment. It has no name any more, so the kernel removes it when all processes have detached it, or
/// have been killed.
#[derive(Debug)]
pub struct SharedMemory {
    id: i32,
    /// The address at which this process has attached the segment.
    address: usize,
    len: usize,
}

impl SharedMemory {
    /// Creates a segment of `len` bytes that only its owner may read and write.
    ///
    /// # Errors
    /// Fails if the system provides no such segment.
    pub fn new(len: usize) -> io::Result<SharedMemory> {
        // SAFETY: the kernel chooses an unused address. IPC_RMID ignores the buffer: it marks the segment, which stays
        // until it is detached. Other processes can still attach it (Linux).
        #[expect(unsafe_code, reason = "rustix has no System V shared memory")]
        let (id, address) = unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, len, libc::IPC_CREAT | 0o600);
            let address = libc::shmat(id, ptr::null(), 0);
            libc::shmctl(id, libc::IPC_RMID, ptr::null_mut());
            (id, address.expose_provenance())
        };
        match id < 0 || address == usize::MAX {
            true => Err(io::Error::last_os_error()),
            false => Ok(SharedMemory { id, address, len }),
        }
    }

    /// The id of the segment, as in MIT-SHM requests.
    pub fn id(&self) -> u32 {
        self.id.cast_unsigned()
    }

    /// Writes `bytes` at the offset `at`. Call this before another process attaches the segment.
    ///
    /// # Errors
    /// Fails if the segment is too short.
    pub fn write(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        if at.checked_add(bytes.len()).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let to = ptr::with_exposed_provenance_mut::<u8>(self.address + at);
        // SAFETY: the segment has `len` bytes at its address until it is dropped, and nothing refers to them.
        #[expect(unsafe_code, reason = "memory of a system call")]
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Ok(())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the memory at this address.
        #[expect(unsafe_code, reason = "a system call")]
        unsafe {
            libc::shmdt(ptr::without_provenance(self.address))
        };
    }
}

#[cfg(test)]
mod tests {
    use super::SharedMemory;

    #[test]
    fn segments_end_with_their_process() {
        let mode = |id: u32| {
            let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
            let mut rows = table.lines().map(|row| row.split_whitespace().skip(1));
            let row = rows.find(|row| row.clone().next() == Some(&id.to_string()));
            row.and_then(|mut row| row.nth(1).map(str::to_owned))
        };
        let mut segment = SharedMemory::new(4096).unwrap();
        let other = SharedMemory::new(4096).unwrap();
        assert_ne!(segment.id(), other.id());
        segment.write(4000, &[7; 96]).unwrap();
        assert!(segment.write(4000, &[7; 97]).is_err());
        assert!(segment.write(usize::MAX, &[7]).is_err());
        let id = segment.id();
        // The bit 01000 marks a segment that the kernel removes when it is detached (SHM_DEST, shmctl(2)).
        assert_eq!(mode(id).as_deref(), Some("1600"));
        drop(segment);
        assert_eq!(mode(id), None);
    }
}
