//! The memory into which sockets are read. Each direction has a small buffer for messages whose receiver waits. All
//! connections share a few large buffers, which stay in the processor's caches.

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::{Deref, DerefMut, Range};

use crate::sockets::passed_fds::PassedFds;
use crate::sockets::socket::{Socket, Wait};

/// The length in bytes of a large buffer, and therefore of the longest read. The buffer has space for the contents of
/// a sender's default socket buffer, so that one read empties it.
const LARGE: usize = 256 << 10;
/// The length in bytes of a direction's own buffer.
const OWN: usize = 16 << 10;
/// The number of unused large buffers that are kept.
const SPARE: usize = 4;
/// If more large buffers than this are in use, most of them belong to peers that do not read.
const MANY: usize = 16;

/// The large buffers that all connections share.
#[derive(Debug, Default)]
pub(crate) struct LargeBuffers {
    spare: RefCell<Vec<Box<[u8]>>>,
    in_use: Cell<usize>,
}

/// A large buffer in use. The buffer returns to the pool on drop.
#[derive(Debug)]
struct Lease<'a> {
    buffers: &'a LargeBuffers,
    buffer: Box<[u8]>,
}

impl LargeBuffers {
    /// Returns a buffer from the pool, or a new buffer. A buffer from the pool has its old content.
    fn lease(&self) -> Lease<'_> {
        let spare = self.spare.borrow_mut().pop();
        self.in_use.update(|in_use| in_use + 1);
        Lease {
            buffers: self,
            buffer: spare.unwrap_or_else(|| vec![0; LARGE].into_boxed_slice()),
        }
    }

    /// True if so many large buffers are in use that waiting bytes should be copied out of them.
    fn are_scarce(&self) -> bool {
        self.in_use.get() > MANY
    }
}

impl Deref for Lease<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.buffers.in_use.update(|in_use| in_use - 1);
        let mut spare = self.buffers.spare.borrow_mut();
        if spare.len() < SPARE {
            spare.push(std::mem::take(&mut self.buffer));
        }
    }
}

/// Reads one direction of a connection into a buffer. A direction that waits for bytes holds no large buffer.
#[derive(Debug)]
pub(crate) struct Intake<'a> {
    large: &'a LargeBuffers,
    own: Box<[u8]>,
    /// True if the last read was long, so that the next read uses a large buffer.
    much: bool,
}

/// The bytes and descriptors that one read of a socket returned.
#[derive(Debug)]
pub(crate) struct Received<'own, 'large> {
    room: ReadBuffer<'own, 'large>,
    /// The range of the unsent bytes in the buffer.
    range: Range<usize>,
    pub(crate) fds: PassedFds,
}

#[derive(Debug)]
enum ReadBuffer<'own, 'large> {
    Own(&'own mut [u8]),
    Large(Lease<'large>),
    Copy(Vec<u8>),
}

impl<'large> Intake<'large> {
    pub(crate) fn new(large: &'large LargeBuffers) -> Intake<'large> {
        Intake {
            large,
            own: vec![0; OWN].into_boxed_slice(),
            much: false,
        }
    }

    /// Reads the bytes that are available. If there are none, the error is `WouldBlock`.
    pub(crate) fn receive(&mut self, from: &Socket) -> io::Result<Received<'_, 'large>> {
        if self.much {
            let mut lease = self.large.lease();
            let (len, fds) = from.receive(&mut lease, Wait::No)?;
            self.much = len > OWN / 2;
            return Ok(Received::new(ReadBuffer::Large(lease), len, fds));
        }
        let (len, fds) = from.receive(&mut self.own, Wait::No)?;
        self.much = len == OWN;
        Ok(Received::new(ReadBuffer::Own(&mut self.own), len, fds))
    }
}

impl<'own, 'large> Received<'own, 'large> {
    fn new(room: ReadBuffer<'own, 'large>, len: usize, fds: PassedFds) -> Received<'own, 'large> {
        Received {
            room,
            range: 0..len,
            fds,
        }
    }

    /// Creates a read from bytes in separately allocated memory, and their descriptors.
    pub(crate) fn copied(bytes: Vec<u8>, fds: PassedFds) -> Received<'own, 'large> {
        let len = bytes.len();
        Received::new(ReadBuffer::Copy(bytes), len, fds)
    }

    /// The bytes of the read; empty at the end of the stream.
    pub(crate) fn bytes(&self) -> &[u8] {
        let room = match &self.room {
            ReadBuffer::Own(own) => own,
            ReadBuffer::Large(lease) => &lease[..],
            ReadBuffer::Copy(copy) => copy,
        };
        room.get(self.range.clone()).unwrap_or_default()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let room = match &mut self.room {
            ReadBuffer::Own(own) => own,
            ReadBuffer::Large(lease) => &mut lease[..],
            ReadBuffer::Copy(copy) => copy,
        };
        room.get_mut(self.range.clone()).unwrap_or_default()
    }

    /// The remaining bytes after `sent` bytes were sent. The descriptors were sent with the first byte. If large
    /// buffers are scarce, the remaining bytes are copied out of their large buffer, because a peer that never reads
    /// must not keep one forever.
    pub(crate) fn after(mut self, sent: usize) -> Received<'large, 'large> {
        self.range.start += sent;
        if sent > 0 {
            self.fds = PassedFds::default();
        }
        let copy = |bytes: &[u8]| (ReadBuffer::Copy(bytes.to_vec()), 0..bytes.len());
        let (room, range) = match self.room {
            ReadBuffer::Large(lease) if !lease.buffers.are_scarce() => {
                (ReadBuffer::Large(lease), self.range)
            }
            ReadBuffer::Copy(bytes) => (ReadBuffer::Copy(bytes), self.range),
            ReadBuffer::Own(_) | ReadBuffer::Large(_) => copy(self.bytes()),
        };
        Received {
            room,
            range,
            fds: self.fds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Intake, LARGE, LargeBuffers, MANY, OWN, SPARE};
    use crate::sockets::socket::Socket;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn buffers_are_reused_and_few_are_kept() {
        let buffers = LargeBuffers::default();
        let first = buffers.lease().as_ptr();
        assert_eq!(buffers.lease().as_ptr(), first);
        let many: Vec<_> = (0..=MANY).map(|_| buffers.lease()).collect();
        assert!(buffers.are_scarce());
        drop(many);
        assert!(!buffers.are_scarce());
        assert_eq!(buffers.spare.borrow().len(), SPARE);
    }

    #[test]
    fn large_buffers_are_used_only_for_bulk_reads() {
        let (mut peer, socket) = UnixStream::pair().unwrap();
        let (socket, large) = (Socket::new(socket).unwrap(), LargeBuffers::default());
        let mut intake = Intake::new(&large);
        let read = |intake: &mut Intake<'_>, len| {
            let received = intake.receive(&socket).unwrap();
            assert_eq!(received.bytes().len(), len);
            large.in_use.get()
        };
        peer.write_all(&[1; OWN + 50_000]).unwrap();
        assert_eq!(read(&mut intake, OWN), 0);
        assert_eq!(read(&mut intake, 50_000), 1);
        peer.write_all(&[2; 32]).unwrap();
        assert_eq!(read(&mut intake, 32), 1);
        peer.write_all(&[3; 32]).unwrap();
        assert_eq!(read(&mut intake, 32), 0);
    }

    #[test]
    fn unsent_bytes_release_scarce_large_buffers() {
        let (mut peer, socket) = UnixStream::pair().unwrap();
        let (socket, large) = (Socket::new(socket).unwrap(), LargeBuffers::default());
        let mut intake = Intake::new(&large);
        let bytes: Vec<u8> = (0..OWN + 1000).map(|n| n as u8).collect();
        peer.write_all(&bytes).unwrap();
        assert_eq!(
            intake.receive(&socket).unwrap().after(10).bytes(),
            &bytes[10..OWN]
        );
        let _others: Vec<_> = (0..=MANY).map(|_| large.lease()).collect();
        let rest = intake.receive(&socket).unwrap().after(100);
        assert_eq!(rest.bytes(), &bytes[OWN + 100..]);
        assert_eq!(large.in_use.get(), MANY + 1);
        assert_eq!(rest.after(LARGE).bytes(), b"");
    }
}
