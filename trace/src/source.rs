//! A source of bytes that counts the bytes and stores the last few bytes.

use std::io::{self, BufReader, ErrorKind, Read};

use mcap::MAGIC;

/// A buffered source that stores the last bytes that were read.
pub(crate) struct Source<R> {
    inner: BufReader<R>,
    read: u64,
    /// The last bytes read, at most as many as MCAP's magic number has.
    tail: Vec<u8>,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(inner: R) -> Source<R> {
        Source {
            inner: BufReader::with_capacity(1 << 16, inner),
            read: 0,
            tail: Vec::with_capacity(2 * MAGIC.len()),
        }
    }

    /// Reads some bytes into `into`. Returns their number, 0 at the end of the file.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = loop {
            match self.inner.read(into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.read += len as u64;
        let last = &into[len.saturating_sub(MAGIC.len())..len];
        self.tail.extend_from_slice(last);
        self.tail
            .drain(..self.tail.len().saturating_sub(MAGIC.len()));
        Ok(len)
    }

    /// The number of bytes that have been read.
    pub(crate) fn position(&self) -> u64 {
        self.read
    }

    /// True if the bytes read so far, the whole of a very short file, could be the start of an MCAP file.
    pub(crate) fn is_begin_of_magic(&self) -> bool {
        MAGIC.starts_with(&self.tail)
    }

    /// True if the bytes read so far end with MCAP's magic number. A truncated file does not end with it. A file that
    /// ends with it may still be damaged.
    pub(crate) fn ends_finished(&self) -> bool {
        self.read > MAGIC.len() as u64 && self.tail == MAGIC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_magic_is_found_for_any_read_size() {
        let mut file = b"xyz".to_vec();
        file.extend_from_slice(MAGIC);
        for step in 1..file.len() {
            let mut source = Source::new(&file[..]);
            let mut into = vec![0; step];
            while source.read(&mut into).unwrap() > 0 {}
            assert_eq!(source.position(), file.len() as u64);
            assert!(source.ends_finished(), "in steps of {step}");
        }
    }

    #[test]
    fn magic_at_the_start_is_not_the_end_magic() {
        let mut source = Source::new(MAGIC);
        assert_eq!(source.read(&mut [0; 20]).unwrap(), 8);
        assert!(!source.ends_finished());
        assert!(source.is_begin_of_magic());
    }
}
