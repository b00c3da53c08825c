//! A raw protocol client: either byte order, any kind of socket, with file descriptors.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, n: u16) -> [u8; 2] {
        match self {
            Order::Little => n.to_le_bytes(),
            Order::Big => n.to_be_bytes(),
        }
    }

    pub(crate) fn u32(self, n: u32) -> [u8; 4] {
        match self {
            Order::Little => n.to_le_bytes(),
            Order::Big => n.to_be_bytes(),
        }
    }

    pub(crate) fn read_u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = bytes[at..at + 4].try_into().expect("four bytes");
        match self {
            Order::Little => u32::from_le_bytes(four),
            Order::Big => u32::from_be_bytes(four),
        }
    }

    pub(crate) fn read_u16(self, bytes: &[u8], at: usize) -> u16 {
        let two = bytes[at..at + 2].try_into().expect("two bytes");
        match self {
            Order::Little => u16::from_le_bytes(two),
            Order::Big => u16::from_be_bytes(two),
        }
    }
}

/// The cookie in an authority file that x11prof wrote: the last 16 bytes.
pub(crate) fn cookie(authority: &Path) -> Vec<u8> {
    let file = std::fs::read(authority).expect("the authority file");
    // The recorder's entries come before those of the user's file.
    let protocol = b"MIT-MAGIC-COOKIE-1\0\x10";
    let at = file
        .windows(protocol.len())
        .position(|bytes| bytes == protocol);
    let at = at.expect("a cookie") + protocol.len();
    file[at..at + 16].to_vec()
}

/// A connected client.
pub(crate) struct Client {
    pub(crate) socket: File,
    pub(crate) order: Order,
    /// The server's setup reply.
    pub(crate) setup: Vec<u8>,
}

/// The bytes of a setup with a cookie.
pub(crate) fn setup(order: Order, cookie: &[u8]) -> Vec<u8> {
    let name = b"MIT-MAGIC-COOKIE-1";
    let mut bytes = vec![if order == Order::Big { b'B' } else { b'l' }, 0];
    for n in [11, 0, name.len() as u16, cookie.len() as u16, 0] {
        bytes.extend(order.u16(n));
    }
    bytes.extend(name);
    bytes.extend([0; 2]);
    bytes.extend(cookie);
    bytes
}

impl Client {
    /// Sets up a connection and asserts that it is accepted.
    pub(crate) fn set_up(socket: OwnedFd, order: Order, cookie: &[u8]) -> Client {
        let mut socket = File::from(socket);
        socket
            .write_all(&setup(order, cookie))
            .expect("the setup is sent");
        let mut head = [0; 8];
        socket
            .read_exact(&mut head)
            .expect("an answer to the setup");
        let mut rest = vec![0; usize::from(order.read_u16(&head, 6)) * 4];
        socket.read_exact(&mut rest).expect("all of the answer");
        let reason = String::from_utf8_lossy(&rest).into_owned();
        assert_eq!(head[0], 1, "the setup is accepted: {reason}");
        Client {
            socket,
            order,
            setup: [&head[..], &rest].concat(),
        }
    }

    /// A resource id in this client's range.
    pub(crate) fn id(&self, n: u32) -> u32 {
        self.order.read_u32(&self.setup, 12) | n
    }

    /// The root window of the first screen.
    pub(crate) fn root(&self) -> u32 {
        let vendor = usize::from(self.order.read_u16(&self.setup, 24)).next_multiple_of(4);
        let formats = usize::from(self.setup[29]);
        self.order.read_u32(&self.setup, 40 + vendor + 8 * formats)
    }

    /// Sends a request: opcode, the byte after it, and 32-bit fields.
    pub(crate) fn request(&mut self, major: u8, data: u8, fields: &[u32]) {
        let bytes = self.bytes(major, data, fields);
        self.socket.write_all(&bytes).expect("a request is sent");
    }

    /// Sends a request with a file descriptor attached to its first byte.
    pub(crate) fn request_with(&mut self, major: u8, data: u8, fields: &[u32], fd: BorrowedFd<'_>) {
        let bytes = self.bytes(major, data, fields);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [fd];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let parts = [IoSlice::new(&bytes)];
        let sent = sendmsg(
            self.socket.as_fd(),
            &parts,
            &mut control,
            SendFlags::NOSIGNAL,
        );
        assert_eq!(
            sent.expect("a request with a descriptor is sent"),
            bytes.len()
        );
    }

    fn bytes(&self, major: u8, data: u8, fields: &[u32]) -> Vec<u8> {
        let mut bytes = vec![major, data];
        bytes.extend(self.order.u16(1 + fields.len() as u16));
        for &field in fields {
            bytes.extend(self.order.u32(field));
        }
        bytes
    }

    /// Returns the next reply and the file descriptors that came with it. Skips events and panics on an error.
    pub(crate) fn reply(&mut self) -> (Vec<u8>, Vec<OwnedFd>) {
        let mut fds = Vec::new();
        loop {
            let mut message = vec![0; 32];
            self.read(&mut message, &mut fds);
            let more = match message[0] {
                1 | 35 => self.order.read_u32(&message, 4) as usize * 4,
                _ => 0,
            };
            message.resize(32 + more, 0);
            self.read(&mut message[32..], &mut fds);
            assert_ne!(message[0], 0, "no error: {message:?}");
            if message[0] == 1 {
                return (message, fds);
            }
        }
    }

    fn read(&self, mut room: &mut [u8], fds: &mut Vec<OwnedFd>) {
        while !room.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let got = recvmsg(
                self.socket.as_fd(),
                &mut [IoSliceMut::new(room)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            );
            for part in control.drain() {
                if let RecvAncillaryMessage::ScmRights(rights) = part {
                    fds.extend(rights);
                }
            }
            let n = got.expect("a message is read").bytes;
            assert!(n > 0, "the connection goes on");
            room = &mut room[n..];
        }
    }

    /// The major opcode of an extension.
    pub(crate) fn extension(&mut self, name: &str) -> u8 {
        let mut bytes = vec![98, 0];
        let padded = name.len().next_multiple_of(4);
        bytes.extend(self.order.u16((2 + padded / 4) as u16));
        bytes.extend(self.order.u16(name.len() as u16));
        bytes.extend([0; 2]);
        bytes.extend(name.as_bytes());
        bytes.resize(8 + padded, 0);
        self.socket
            .write_all(&bytes)
            .expect("QueryExtension is sent");
        let (reply, _) = self.reply();
        assert_eq!(reply[8], 1, "the server has {name}");
        reply[9]
    }

    /// Makes a round trip (GetInputFocus), so that the server has processed all earlier requests.
    pub(crate) fn sync(&mut self) {
        self.request(43, 0, &[]);
        self.reply();
    }
}
