//! Reusable memory between the relay and the recorder, for the bytes that the trace keeps.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use x11prof_trace::{Gap, Part, cut};

/// The size in bytes of one allocation, which many blocks share.
const CHUNK: usize = 256 << 10;
/// The number of used chunks that are kept until the recorder has released them.
const SPARE_CHUNKS: usize = 16;

/// Copies bytes into chunks of memory. A chunk is reused once all blocks in it have been dropped.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes {
    open: BytesMut,
    used_up: VecDeque<BytesMut>,
}

impl KeptBytes {
    /// Copies the bytes of `wire` except the bytes in `gaps`.
    pub(crate) fn keep(&mut self, wire: &[u8], gaps: &[Gap]) -> Bytes {
        let left: usize = gaps.iter().map(|gap| gap.len as usize).sum();
        let len = wire.len().saturating_sub(left);
        if self.open.capacity() < len {
            let next = self.next_chunk(len.max(CHUNK));
            let old = std::mem::replace(&mut self.open, next);
            if self.used_up.len() == SPARE_CHUNKS {
                self.used_up.pop_front();
            }
            self.used_up.push_back(old);
        }
        for part in cut(wire, gaps) {
            if let Part::Kept(bytes) = part {
                self.open.extend_from_slice(bytes);
            }
        }
        self.open.split().freeze()
    }

    fn next_chunk(&mut self, len: usize) -> BytesMut {
        for _ in 0..self.used_up.len().min(4) {
            let Some(mut chunk) = self.used_up.pop_front() else {
                break;
            };
            if chunk.try_reclaim(len) {
                return chunk;
            }
            self.used_up.push_back(chunk);
        }
        BytesMut::with_capacity(len)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, KeptBytes, SPARE_CHUNKS};
    use x11prof_trace::Gap;

    #[test]
    fn kept_bytes_never_change() {
        let mut kept = KeptBytes::default();
        let all: Vec<_> = (0..100_u8)
            .map(|n| kept.keep(&[n; 20_000], &[Gap { at: 5, len: 95 }]))
            .collect();
        for (n, bytes) in all.iter().enumerate() {
            assert_eq!(bytes.len(), 19_905);
            assert!(bytes.iter().all(|&b| usize::from(b) == n));
        }
    }

    #[test]
    fn chunks_are_reused_and_spares_are_bounded() {
        let mut kept = KeptBytes::default();
        let wire = vec![1; CHUNK];
        let mut addresses = std::collections::HashSet::new();
        for _ in 0..200 {
            addresses.insert(kept.keep(&wire, &[]).as_ptr());
        }
        assert!(addresses.len() <= 2, "{}", addresses.len());
        let held: Vec<_> = (0..100).map(|_| kept.keep(&wire, &[])).collect();
        assert!(kept.used_up.len() <= SPARE_CHUNKS);
        drop(held);
    }
}
