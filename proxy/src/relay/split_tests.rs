//! Tests that the relay's output and the trace do not depend on how a stream is split into reads.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use x11prof_trace::{Block, Direction, Part, Record};

use super::tests::{number, numbered, relay};
use crate::recorder::record_queue::{DEFAULT_QUEUE_BYTES, memory};

/// A little-endian client's setup without authorization, and the shortest success reply.
const SETUPS: [&[u8]; 2] = [b"l\0\x0b\0\0\0\0\0\0\0\0\0", b"\x01\0\x0b\0\0\0\0\0"];

/// The bytes that one side sends repeatedly.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// Descriptors, and the offsets of the bytes that they are sent with.
    fds: Vec<(usize, OwnedFd)>,
    /// The ranges that are omitted from the trace.
    left_out: Vec<Range<usize>>,
}

impl Stream {
    /// Adds a message that begins with `start` and has `len` bytes.
    fn message(&mut self, start: &[u8], len: usize) -> &mut Stream {
        let at = self.bytes.len();
        self.bytes.extend(start);
        self.bytes
            .extend((start.len()..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8));
        assert_eq!(self.bytes.len(), at + len);
        self
    }

    /// Sends a descriptor with the byte at the offset `at` from here.
    fn fd(&mut self, at: usize) -> &mut Stream {
        let fd = numbered(self.fds.len() as u32);
        self.fds.push((self.bytes.len() + at, fd));
        self
    }

    /// Expects the last `len` bytes to be omitted.
    fn left_out(&mut self, len: usize) -> &mut Stream {
        self.left_out.push(self.bytes.len() - len..self.bytes.len());
        self
    }

    /// Requests, including a BIG-REQUESTS request, with an image of this many bytes.
    fn requests(image: usize) -> Stream {
        let mut stream = Stream::default();
        let words = |len: usize| u32::try_from(len / 4).unwrap().to_le_bytes();
        let [a, b, c, d] = words(image);
        stream
            .message(&[16, 0, 6, 0], 24)
            .message(&[127, 0, 1, 0], 4);
        stream.fd(0).message(&[149, 2, 6, 0], 24);
        stream.message(&[98, 0, 0, 0, 11, 0, 0, 0], 44);
        stream
            .message(&[72, 2, 0, 0, a, b, c, d], image)
            .left_out(image - 28);
        stream.fd(0).fd(0).message(&[130, 6, 2, 0], 8);
        stream.fd(8).message(&[127, 0, 4, 0], 16);
        stream
    }

    /// The messages of a server: an error, events, and replies, one of them with a descriptor.
    fn answers() -> Stream {
        let mut stream = Stream::default();
        stream
            .message(&[0, 3, 1, 0], 32)
            .message(&[12, 0, 1, 0], 32);
        stream.message(&[35, 131, 1, 0, 5, 0, 0, 0], 52);
        stream.fd(0).message(&[1, 1, 2, 0, 0, 0, 0, 0], 32);
        stream.message(&[1, 0, 3, 0, 250, 0, 0, 0], 1032);
        stream
    }

    fn send(&self, socket: &UnixStream, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let fds: Vec<_> = (self.fds.iter().filter(|(of, _)| *of == at))
                .map(|(_, fd)| fd.as_fd())
                .collect();
            let next = self.fds.iter().map(|&(of, _)| of).find(|&of| of > at);
            let end = next.unwrap_or(range.end).min(range.end);
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(&fds)));
            let bytes = [IoSlice::new(&self.bytes[at..end])];
            at += sendmsg(socket, &bytes, &mut control, SendFlags::NOSIGNAL).unwrap();
        }
    }

    /// Reads these bytes from `socket`, and checks them and the received descriptors. `come` counts the descriptors.
    fn receive(&self, socket: &UnixStream, range: Range<usize>, come: &mut usize) {
        let mut at = range.start;
        let mut room = vec![0; range.len()];
        while at < range.end {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut room[..range.end - at])];
            let got = recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
            for part in control.drain() {
                let RecvAncillaryMessage::ScmRights(rights) = part else {
                    continue;
                };
                for fd in rights {
                    assert_eq!(number(fd) as usize, *come, "order");
                    assert!(at <= self.fds[*come].0, "descriptor {come} came late");
                    *come += 1;
                }
            }
            assert!(got.bytes > 0);
            assert!(room[..got.bytes] == self.bytes[at..at + got.bytes]);
            at += got.bytes;
        }
        let due = self.fds.iter().filter(|(of, _)| *of < range.end).count();
        assert!(*come >= due, "a descriptor is missing at {}", range.end);
    }
}

/// Sends `stream` through a separate relay for each of `splits`. The second part is sent after the first has arrived.
/// Checks the received bytes and the trace.
fn check(direction: Direction, stream: &Stream, splits: &[usize], small_buffers: bool) {
    let (client, client_side) = UnixStream::pair().unwrap();
    let (server, server_side) = UnixStream::pair().unwrap();
    if small_buffers {
        // Most writes are then partial.
        for socket in [&client, &client_side, &server, &server_side] {
            set_socket_send_buffer_size(socket, 1).unwrap();
        }
    }
    let (drain, run) = relay(client_side, server_side, DEFAULT_QUEUE_BYTES, false);
    let tapped = thread::spawn(move || {
        let (mut entries, mut blocks) = (Vec::new(), Vec::new());
        while drain.take(&mut entries, Duration::from_millis(10)) {
            for entry in entries.drain(..) {
                drain.release(memory(&entry));
                if let Record::Block(block) = entry
                    && block.direction == direction
                {
                    blocks.push(block);
                }
            }
        }
        blocks
    });
    for (setup, (from, to)) in SETUPS.iter().zip([(&client, &server), (&server, &client)]) {
        let setup = Stream {
            bytes: setup.to_vec(),
            ..Stream::default()
        };
        setup.send(from, 0..setup.bytes.len());
        setup.receive(to, 0..setup.bytes.len(), &mut 0);
    }
    let (from, to) = match direction {
        Direction::ToServer => (&client, &server),
        Direction::ToClient => (&server, &client),
    };
    let len = stream.bytes.len();
    thread::scope(|scope| {
        let (received, acknowledged) = mpsc::channel();
        scope.spawn(move || {
            for &split in splits {
                for part in [0..split, split..len] {
                    stream.send(from, part);
                    acknowledged.recv().unwrap();
                }
            }
        });
        for &split in splits {
            let mut come = 0;
            for part in [0..split, split..len] {
                stream.receive(to, part, &mut come);
                received.send(()).unwrap();
            }
            assert_eq!(come, stream.fds.len());
        }
    });
    drop((client, server));
    run.join().unwrap();
    let setup = match direction {
        Direction::ToServer => SETUPS[0],
        Direction::ToClient => SETUPS[1],
    };
    check_trace(stream, splits.len(), setup, &tapped.join().unwrap());
}

/// Checks that the trace has all bytes in the right positions, except for the omitted ranges.
fn check_trace(stream: &Stream, times: usize, setup: &[u8], blocks: &[Block]) {
    let (mut offset, mut fds) = (0, 0);
    for block in blocks {
        assert_eq!(block.offset as usize, offset);
        fds += usize::from(block.fds);
        for part in block.parts() {
            let (bytes, n) = match part {
                Part::Kept(bytes) => (Some(bytes), bytes.len()),
                Part::Left(n) => (None, n as usize),
            };
            for n in 0..n {
                let at = offset + n;
                let Some(at) = at.checked_sub(setup.len()) else {
                    assert_eq!(bytes.map(|bytes| bytes[n]), Some(setup[at]));
                    continue;
                };
                let at = at % stream.bytes.len();
                let left_out = stream.left_out.iter().any(|left| left.contains(&at));
                let expected = (!left_out).then(|| stream.bytes[at]);
                assert_eq!(bytes.map(|bytes| bytes[n]), expected, "byte {at}");
            }
            offset += n;
        }
    }
    assert_eq!(offset, setup.len() + times * stream.bytes.len());
    assert_eq!(fds, times * stream.fds.len());
}

#[test]
fn requests_are_relayed_at_any_split() {
    let stream = Stream::requests(4100);
    let splits: Vec<usize> = (0..=stream.bytes.len()).collect();
    check(Direction::ToServer, &stream, &splits, false);
}

#[test]
fn replies_are_relayed_at_any_split() {
    let stream = Stream::answers();
    let splits: Vec<usize> = (0..=stream.bytes.len()).collect();
    for small_buffers in [false, true] {
        check(Direction::ToClient, &stream, &splits, small_buffers);
    }
}

/// The bodies of these images are omitted from the trace.
#[test]
fn long_images_are_relayed_at_many_splits() {
    const IMAGE: usize = 100_000;
    let mut stream = Stream::requests(IMAGE);
    let end = stream.bytes.len();
    let splits: Vec<usize> = (0..300)
        .chain((300..end - 100).step_by(1021))
        .chain(end - 100..=end)
        .collect();
    check(Direction::ToServer, &stream, &splits, false);
    check(Direction::ToServer, &stream, &splits, true);
    // No known client sends descriptors inside an image, but a client may.
    let (at, fd) = (50_000, numbered(0));
    stream.fds.insert(1, (at, fd));
    for (n, (_, fd)) in stream.fds.iter_mut().enumerate() {
        *fd = numbered(n as u32);
    }
    check(Direction::ToServer, &stream, &splits, false);
}
