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
/// The number of bytes of noise that are made at a time.
const PIECE: usize = 1 << 20;

#[expect(unsafe_code, reason = "rustix has no System V shared memory")]
unsafe extern "C" {
    fn shmget(key: c_int, size: usize, flags: c_int) -> c_int;
    fn shmat(id: c_int, address: *const c_void, flags: c_int) -> *mut c_void;
    fn shmctl(id: c_int, command: c_int, buffer: *mut c_void) -> c_int;
}

/// A shared memory segment (System V). It has no name any more, so the kernel frees it when this process, however it
/// ends, and the display have detached it.
#[derive(Debug)]
pub(super) struct Segment(c_int);

impl Segment {
    pub(super) fn new(len: usize) -> io::Result<Segment> {
        #[expect(unsafe_code, reason = "system calls")]
        let (id, at) = unsafe {
            let id = shmget(IPC_PRIVATE, len, IPC_CREAT | 0o600);
            let at = shmat(id, ptr::null(), 0);
            shmctl(id, IPC_RMID, ptr::null_mut());
            (id, at)
        };
        if id < 0 || at.addr() == usize::MAX {
            return Err(io::Error::last_os_error());
        }
        let mut to = at.cast::<u8>();
        noise(len, |piece| {
            #[expect(
                unsafe_code,
                reason = "shmat gives `len` bytes, as many as the pieces have, and no other process has the segment"
            )]
            unsafe {
                ptr::copy_nonoverlapping(piece.as_ptr(), to, piece.len());
                to = to.add(piece.len());
            }
            Ok(())
        })?;
        Ok(Segment(id))
    }

    /// The System V identifier of the segment, with which the display attaches it.
    pub(super) fn id(&self) -> u32 {
        self.0.cast_unsigned()
    }
}

/// Creates a memory file of `len` bytes, for a request that passes a file descriptor.
pub(super) fn file(len: usize) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("x11prof-replay", MemfdFlags::CLOEXEC)?);
    noise(len, |piece| file.write_all(piece))?;
    Ok(file.into())
}

/// Passes `len` bytes of noise to `on`, in pieces.
fn noise(len: usize, mut on: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut noise, mut piece) = (Noise::default(), Vec::new());
    for at in (0..len).step_by(PIECE) {
        piece.clear();
        noise.fill(&mut piece, PIECE.min(len - at));
        on(&piece)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Segment;

    #[test]
    fn a_killed_replay_leaves_no_shared_memory() {
        let segment = Segment::new(3 << 20).unwrap();
        let all = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let line = all.lines().find(|line| {
            let id = line.split_whitespace().nth(1);
            id == Some(segment.id().to_string().as_str())
        });
        // SHM_DEST: the kernel destroys the segment after the last detach (shmctl(2)).
        let mode = line.unwrap().split_whitespace().nth(2).unwrap();
        assert_eq!(u32::from_str_radix(mode, 8).unwrap() & 0o1000, 0o1000);
    }
}
