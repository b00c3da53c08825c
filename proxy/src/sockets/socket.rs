//! The sockets of the relay. They transfer bytes with file descriptors, in calls that block the thread.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_send_buffer_size, socket_send_buffer_size};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};
use rustix::time::Timespec;

use crate::sockets::passed_fds::PassedFds;

/// The maximum number of descriptors in one message (SCM_MAX_FD of the kernel).
const MAX_FDS: usize = 253;

/// A connected stream socket (Unix or TCP).
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

/// Whether a call on a socket may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The call blocks until the operation is possible.
    Yes,
    /// The call returns the error `WouldBlock` if the operation is not possible now.
    No,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket {
    pub(crate) fn new(fd: impl Into<OwnedFd>) -> io::Result<Socket> {
        let fd = fd.into();
        let flags = fcntl_getfl(&fd)?;
        if flags.contains(OFlags::NONBLOCK) {
            fcntl_setfl(&fd, flags - OFlags::NONBLOCK)?;
        }
        Ok(Socket(fd))
    }

    /// Requests a send buffer of at least `bytes` bytes. The system limits the size (net.core.wmem_max).
    pub(crate) fn enlarge_send_buffer(&self, bytes: usize) {
        // The kernel reports twice the size that was set. A failure is harmless, because the relay works with any size.
        if socket_send_buffer_size(&self.0).is_ok_and(|now| now / 2 < bytes) {
            let _ = set_socket_send_buffer_size(&self.0, bytes);
        }
    }

    /// Reads the available bytes into `room`. Returns the number of bytes (0 at the end of the stream), and the
    /// descriptors received with them.
    pub(crate) fn receive(&self, room: &mut [u8], wait: Wait) -> io::Result<(usize, PassedFds)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC
            | match wait {
                Wait::Yes => RecvFlags::empty(),
                Wait::No => RecvFlags::DONTWAIT,
            };
        let message = loop {
            match recvmsg(&self.0, &mut [IoSliceMut::new(room)], &mut control, flags) {
                Err(Errno::INTR) => {}
                done => break done?,
            }
        };
        let mut fds = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = part {
                fds.extend(rights);
            }
        }
        if message.flags.contains(ReturnFlags::CTRUNC) {
            // Descriptors were lost, usually because of this process's limit on open files. All later ones would be
            // assigned to the wrong messages.
            return Err(io::Error::other(
                "file descriptors of a message were lost; raise the limit on open files (ulimit -n)",
            ));
        }
        Ok((message.bytes, PassedFds(fds)))
    }

    /// Sends bytes, with the descriptors `fds` attached to the first byte. Returns the number of bytes that were sent.
    pub(crate) fn send(&self, bytes: &[u8], fds: &[OwnedFd], wait: Wait) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(io::Error::other("too many file descriptors in one message"));
        }
        let flags = SendFlags::NOSIGNAL
            | match wait {
                Wait::Yes => SendFlags::empty(),
                Wait::No => SendFlags::DONTWAIT,
            };
        loop {
            match sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, flags) {
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    /// Sends all of `bytes` with the descriptors `fds`, and blocks as long as necessary.
    pub(crate) fn send_all(&self, mut bytes: &[u8], mut fds: &[OwnedFd]) -> io::Result<()> {
        while !bytes.is_empty() {
            let n = self.send(bytes, fds, Wait::Yes)?;
            // The descriptors were sent with the first byte, even if only part of the bytes was sent.
            fds = &[];
            bytes = bytes.get(n..).unwrap_or_default();
        }
        Ok(())
    }

    /// Waits until bytes are available or the peer has closed. Returns false if `until` passes first.
    pub(crate) fn is_readable_until(&self, until: Instant) -> io::Result<bool> {
        self.is_so_until(PollFlags::IN, until)
    }

    /// Waits until bytes can be sent or the peer has closed. Returns false if `until` passes first.
    pub(crate) fn is_writable_until(&self, until: Instant) -> io::Result<bool> {
        self.is_so_until(PollFlags::OUT, until)
    }

    fn is_so_until(&self, flags: PollFlags, until: Instant) -> io::Result<bool> {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        Ok(!self.poll(flags, Some(&left))?.is_empty())
    }

    /// Shuts down the sending direction, so that the peer reads an end of file.
    pub(crate) fn shut_down_writing(&self) {
        // The call fails if the peer is gone already.
        let _ = shutdown(&self.0, Shutdown::Write);
    }

    /// Shuts down both directions of the connection. This also wakes threads that block in a call on this socket.
    pub(crate) fn shut_down(&self) {
        // The call fails if the peer is gone already.
        let _ = shutdown(&self.0, Shutdown::Both);
    }

    /// Ends the connection as the exit of a client does. Only the sending direction is shut down if the peer has not
    /// read all: Xvfb drops unread requests when both directions end.
    pub(crate) fn end(&self) {
        match self.has_unread() {
            true => self.shut_down_writing(),
            false => self.shut_down(),
        }
    }

    /// Waits at most as long as `patience` until the peer has closed both directions, then shuts them down.
    pub(crate) fn await_hang_up(&self, patience: Duration) {
        // After an error there is nothing to wait for.
        let _ = self.is_so_until(PollFlags::empty(), Instant::now() + patience);
        self.shut_down();
    }

    /// True if the peer has not read (TCP: not acknowledged) all bytes that were sent.
    fn has_unread(&self) -> bool {
        let mut unread: libc::c_int = 0;
        // SAFETY: the kernel writes one integer into `unread`.
        #[expect(unsafe_code, reason = "rustix does not have this call")]
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TIOCOUTQ, &raw mut unread) };
        result == 0 && unread > 0
    }

    /// True if the peer has closed both directions, and not only its sending direction.
    pub(crate) fn is_hung_up(&self) -> bool {
        let now = Timespec::default();
        let polled = self.poll(PollFlags::empty(), Some(&now));
        polled.is_ok_and(|flags| flags.intersects(PollFlags::HUP | PollFlags::ERR))
    }

    /// The members of `flags` that become ready within `time`; empty if none does.
    fn poll(&self, flags: PollFlags, time: Option<&Timespec>) -> io::Result<PollFlags> {
        let mut fds = [PollFd::new(&self.0, flags)];
        loop {
            match poll(&mut fds, time) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    return Ok(fds
                        .iter()
                        .fold(PollFlags::empty(), |all, fd| all | fd.revents()));
                }
            }
        }
    }
}

/// Waits until one of the sockets is ready as its flags request, its peer has closed, or `until` has passed.
pub(crate) fn await_any<'a>(
    wanted: impl Iterator<Item = (&'a Socket, PollFlags)>,
    until: Option<Instant>,
) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> = wanted
        .map(|(socket, flags)| PollFd::new(&socket.0, flags))
        .collect();
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.map(Timespec::try_from).transpose();
        match poll(&mut fds, left.map_err(io::Error::other)?.as_ref()) {
            Err(Errno::INTR) => {}
            done => return Ok(done.map(|_| ())?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn end_cuts_off_only_a_peer_that_has_read_all() {
        let (ours, peer) = UnixStream::pair().unwrap();
        let (ours, peer) = (Socket::new(ours).unwrap(), Socket::new(peer).unwrap());
        ours.send_all(b"last request", &[]).unwrap();
        ours.end();
        assert!(!peer.is_hung_up());
        let mut room = [0; 64];
        assert_eq!(peer.receive(&mut room, Wait::No).unwrap().0, 12);
        ours.end();
        assert!(peer.is_hung_up());
    }
}
