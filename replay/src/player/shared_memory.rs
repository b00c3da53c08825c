//! Memory that the player shares with the display, instead of the recorded clients' memory. It contains noise.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use x11prof_proxy::SharedMemory;

use crate::script::Noise;

/// The number of bytes of noise that are made at a time.
const PIECE: usize = 1 << 20;

/// Creates a segment of `len` bytes, which the display attaches by its id.
pub(super) fn segment(len: usize) -> io::Result<SharedMemory> {
    let mut segment = SharedMemory::new(len)?;
    noise(len, |at, piece| segment.write(at, piece))?;
    Ok(segment)
}

/// Creates a memory file of `len` bytes, for a request that passes a file descriptor.
pub(super) fn file(len: usize) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("x11prof-replay", MemfdFlags::CLOEXEC)?);
    noise(len, |_, piece| file.write_all(piece))?;
    Ok(file.into())
}

/// Passes `len` bytes of noise to `on`, in pieces with their offsets.
fn noise(len: usize, mut on: impl FnMut(usize, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut noise, mut piece) = (Noise::default(), Vec::new());
    for at in (0..len).step_by(PIECE) {
        piece.clear();
        noise.fill(&mut piece, PIECE.min(len - at));
        on(at, &piece)?;
    }
    Ok(())
}
