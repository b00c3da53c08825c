//! Memory that the player shares with the display, in place of the recorded clients' memory. It contains pseudo-random bytes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use x11prof_proxy::SharedMemory;

use crate::script::Noise;

/// The size in bytes of the blocks in which noise is generated.
const PIECE: usize = 1 << 20;

/// Creates a System V shared memory segment of `len` bytes, filled with noise. The display attaches it by its identifier.
pub(super) fn segment(len: usize) -> io::Result<SharedMemory> {
    let mut segment = SharedMemory::new(len)?;
    noise(len, |at, piece| segment.write(at, piece))?;
    Ok(segment)
}

/// Creates a memory file of `len` bytes, filled with noise, for a request that passes a file descriptor.
pub(super) fn file(len: usize) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("x11prof-replay", MemfdFlags::CLOEXEC)?);
    noise(len, |_, piece| file.write_all(piece))?;
    Ok(file.into())
}

/// Generates `len` bytes of noise in blocks. Passes the offset and the bytes of each block to `on`.
fn noise(len: usize, mut on: impl FnMut(usize, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut noise, mut piece) = (Noise::default(), Vec::new());
    for at in (0..len).step_by(PIECE) {
        piece.clear();
        noise.fill(&mut piece, PIECE.min(len - at));
        on(at, &piece)?;
    }
    Ok(())
}
