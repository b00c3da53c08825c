//! The memory that sockets are read into, shared with the recorder and used again.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes of one allocation. Small reads share it; a long read takes what is left of one.
const CHUNK: usize = 256 << 10;
/// Below this, the rest of a chunk is given up, so that reads do not get ever shorter.
const SMALLEST_READ: usize = 32 << 10;
/// Used-up chunks that are kept for the time when the recorder has let go of them.
const SPARE_CHUNKS: usize = 32;

/// A read buffer for all connections of one thread. What was read is handed out as shared
/// `Bytes` without copying; a chunk is used again once all of its `Bytes` are gone.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffer {
    /// All of it is initialised, none of it handed out.
    room: BytesMut,
    used_up: VecDeque<BytesMut>,
}

impl ReadBuffer {
    /// Room to read into, `SMALLEST_READ` bytes at least.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.room.len() < SMALLEST_READ {
            let next = self.next_chunk();
            let mut old = std::mem::replace(&mut self.room, next);
            old.clear();
            if self.used_up.len() == SPARE_CHUNKS {
                self.used_up.pop_front();
            }
            self.used_up.push_back(old);
        }
        &mut self.room
    }

    /// Takes the first `n` bytes of the room, at most all of it.
    pub(crate) fn take(&mut self, n: usize) -> Bytes {
        self.room.split_to(n.min(self.room.len())).freeze()
    }

    fn next_chunk(&mut self) -> BytesMut {
        for _ in 0..self.used_up.len().min(4) {
            let Some(mut chunk) = self.used_up.pop_front() else {
                break;
            };
            if chunk.try_reclaim(CHUNK) {
                // SAFETY: the chunk was allocated by `zeroed` below, of which every byte is
                // initialised; reclaiming gives the same allocation back from its start.
                #[expect(
                    unsafe_code,
                    reason = "zeroing 256 KiB again would cost a fifth of a relay's time"
                )]
                unsafe {
                    chunk.set_len(CHUNK);
                }
                return chunk;
            }
            self.used_up.push_back(chunk);
        }
        BytesMut::zeroed(CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, ReadBuffer, SMALLEST_READ};

    #[test]
    fn what_was_taken_stays_as_it_was() {
        let mut buffer = ReadBuffer::default();
        let taken: Vec<_> = (0..100u8)
            .map(|n| {
                buffer.room()[..20_000].fill(n);
                buffer.take(20_000)
            })
            .collect();
        for (n, bytes) in taken.iter().enumerate() {
            assert!(bytes.iter().all(|&b| usize::from(b) == n));
        }
    }

    #[test]
    fn chunks_are_used_again() {
        let mut buffer = ReadBuffer::default();
        let mut addresses = std::collections::HashSet::new();
        for _ in 0..200 {
            assert!(buffer.room().len() >= SMALLEST_READ);
            let bytes = buffer.take(CHUNK);
            addresses.insert(bytes.as_ptr());
        }
        assert!(addresses.len() <= 2, "{}", addresses.len());
    }

    #[test]
    fn memory_kept_back_is_bounded() {
        let mut buffer = ReadBuffer::default();
        let mut held = Vec::new();
        for _ in 0..100 {
            buffer.room();
            held.push(buffer.take(CHUNK));
        }
        assert!(buffer.used_up.len() <= super::SPARE_CHUNKS);
    }
}
