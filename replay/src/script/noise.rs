//! Noise: pseudo-random bytes that replace bytes that are missing from the recording.

/// A generator of pseudo-random bytes (Marsaglia, "Xorshift RNGs", 2003). Each replay gets the same sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise(u64);

impl Default for Noise {
    fn default() -> Noise {
        Noise(0x9E37_79B9_7F4A_7C15)
    }
}

impl Noise {
    /// Extends `bytes` with pseudo-random bytes to the length `len`.
    pub(crate) fn fill(&mut self, bytes: &mut Vec<u8>, len: usize) {
        bytes.reserve(len.saturating_sub(bytes.len()));
        while bytes.len() < len {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            let some = self.0.to_le_bytes();
            let more = (len - bytes.len()).min(some.len());
            bytes.extend_from_slice(&some[..more]);
        }
    }
}
