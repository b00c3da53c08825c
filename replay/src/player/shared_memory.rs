//! Memory that the player shares with the display, instead of the recorded clients' memory. It contains noise.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::ptr;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::script::Noise;

const IPC_PRIVATE: c_int = 0;
const IPC_CREAT: c_int = 0o1000;
const IPC_RMID: c_int = 0;

#[expect(unsafe_code, reason = "rustix has no System V shared memory")]
unsafe extern "C" {
    fn shmget(key: c_int, size: usize, flags: c_int) -> c_int;
    fn shmat(id: c_int, address: *const c_void, flags: c_int) -> *mut c_void;
    fn shmdt(address: *const c_void) -> c_int;
    fn shmctl(id: c_int, command: c_int, buffer: *mut c_void) -> c_int;
}

/// A shared memory segment (System V). It is freed after this value was dropped and the display has detached the
/// segment.
#[derive(Debug)]
pub(super) struct Segment(c_int);

impl Segment {
    pub(super) fn new(len: usize) -> io::Result<Segment> {
        let noise = noise(len);
        #[expect(unsafe_code, reason = "a system call")]
        let id = unsafe { shmget(IPC_PRIVATE, len, IPC_CREAT | 0o600) };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        let segment = Segment(id);
        #[expect(
            unsafe_code,
            reason = "shmat gives `len` bytes or -1, and nobody else has the segment"
        )]
        unsafe {
            let at = shmat(id, ptr::null(), 0);
            if at.addr() == usize::MAX {
                return Err(io::Error::last_os_error());
            }
            ptr::copy_nonoverlapping(noise.as_ptr(), at.cast::<u8>(), len);
            shmdt(at);
        }
        Ok(segment)
    }

    /// The System V identifier of the segment, with which the display attaches it.
    pub(super) fn id(&self) -> u32 {
        self.0.cast_unsigned()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a system call")]
        unsafe {
            shmctl(self.0, IPC_RMID, ptr::null_mut())
        };
    }
}

/// Creates a memory file of `len` bytes, for a request that passes a file descriptor.
pub(super) fn file(len: usize) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("x11prof-replay", MemfdFlags::CLOEXEC)?);
    file.write_all(&noise(len))?;
    Ok(file.into())
}

fn noise(len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    Noise::default().fill(&mut bytes, len);
    bytes
}
