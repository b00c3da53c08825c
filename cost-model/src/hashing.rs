//! A hasher for keys of a few machine words, such as interned names: the tables are bounded,
//! so that it need not withstand chosen keys, and a price is looked up for every request.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with the hasher.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// Multiplicative hashing, a word at a time (Knuth, The Art of Computer Programming 3, 6.4).
#[derive(Debug, Clone, Copy, Default)]
pub struct WordHasher(u64);

/// 2^64 divided by the golden ratio, made odd.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let word = chunk
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.write_u64(word);
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        // Multiplication mixes upwards, and the map takes its buckets from the low bits.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::WordHasher;

    #[test]
    fn near_keys_spread() {
        let build = BuildHasherDefault::<WordHasher>::default();
        let buckets: std::collections::HashSet<u64> = (0..256_u64)
            .map(|word| build.hash_one(word << 4) % 1024)
            .collect();
        assert!(buckets.len() > 128, "{}", buckets.len());
    }
}
