//! Sockets as the relay needs them: bytes with the file descriptors that travel along.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_send_buffer_size, socket_send_buffer_size};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};
use rustix::time::Timespec;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::buffer::{self, Lease, ReadBuffers};

/// The most descriptors that one message can carry (SCM_MAX_FD of the kernel).
const MOST_FDS: usize = 253;

/// A connected stream socket, Unix or TCP, in the running runtime.
#[derive(Debug)]
pub(crate) struct Socket(AsyncFd<OwnedFd>);

/// What one read gave.
#[derive(Debug)]
pub(crate) struct Received<'a> {
    buffer: Lease<'a>,
    len: usize,
    pub(crate) fds: Vec<OwnedFd>,
}

impl Received<'_> {
    /// The bytes, none at the end of the stream.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// The descriptors alone; the bytes' buffer is given back.
    pub(crate) fn into_fds(self) -> Vec<OwnedFd> {
        self.fds
    }
}

impl Socket {
    pub(crate) fn new(fd: impl Into<OwnedFd>) -> io::Result<Socket> {
        let fd = fd.into();
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        // For reading alone: otherwise each read of the peer would wake us, to tell that there is
        // more room for what nobody wants to write.
        Ok(Socket(registered(fd, Interest::READABLE)?))
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }

    /// Asks for a send buffer of this size, of which the system grants what it allows
    /// (net.core.wmem_max); never for a smaller one than there is.
    pub(crate) fn enlarge_send_buffer(&self, bytes: usize) {
        // The kernel gives twice of what was set. Any size works.
        if socket_send_buffer_size(self.as_fd()).is_ok_and(|now| now / 2 < bytes) {
            let _ = set_socket_send_buffer_size(self.as_fd(), bytes);
        }
    }

    /// Reads what is there, once something is there.
    pub(crate) async fn receive<'a>(&self, buffers: &'a ReadBuffers) -> io::Result<Received<'a>> {
        self.receive_at_most(buffers, buffer::READ).await
    }

    /// The same, but not more than `most` bytes.
    pub(crate) async fn receive_at_most<'a>(
        &self,
        buffers: &'a ReadBuffers,
        most: usize,
    ) -> io::Result<Received<'a>> {
        loop {
            let mut ready = self.0.readable().await?;
            let mut buffer = buffers.lease();
            let asked = buffer.len().min(most);
            let attempt = ready.try_io(|fd| {
                let room = buffer.get_mut(..asked).unwrap_or_default();
                receive(fd.as_fd(), room)
            });
            if let Ok(result) = attempt {
                let (len, fds) = result?;
                // A short read has emptied the socket, which saves the call that would say so.
                // Not so where descriptors came: the kernel stops behind them.
                if len < asked && fds.is_empty() && len > 0 {
                    ready.clear_ready();
                }
                return Ok(Received { buffer, len, fds });
            }
        }
    }

    /// Writes what the socket takes at once; the descriptors go with the first byte. How many
    /// bytes were written.
    pub(crate) fn send_now(&self, bytes: &[u8], fds: &[OwnedFd]) -> io::Result<usize> {
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            let fds = if sent == 0 { fds.as_slice() } else { &[] };
            match send(self.as_fd(), rest, fds) {
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Writes all of `bytes`; the descriptors go with the first of them.
    pub(crate) async fn send(&self, mut bytes: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
        let mut fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        // A descriptor is registered once at a time, and this one is for reading.
        let same = self.as_fd().try_clone_to_owned()?;
        let room = registered(same, Interest::WRITABLE)?;
        while !bytes.is_empty() {
            let write = |fd: &OwnedFd| send(fd.as_fd(), bytes, &fds);
            let n = room.async_io(Interest::WRITABLE, write).await?;
            // They went with the first byte, however many of the bytes did.
            fds.clear();
            bytes = bytes.get(n..).unwrap_or_default();
        }
        Ok(())
    }

    /// Ends our direction; the peer reads an end of file.
    pub(crate) fn shut_down_writing(&self) {
        // It fails where the peer is gone already.
        let _ = shutdown(self.as_fd(), Shutdown::Write);
    }

    /// Whether the peer has closed both directions and not only its own.
    pub(crate) fn is_hung_up(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::empty())];
        let now = Timespec::default();
        let polled = poll(&mut fds, Some(&now));
        polled.is_ok()
            && fds
                .iter()
                .any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
    }
}

fn registered(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same one, and this module neither replaces
    // nor takes it out while it is registered.
    #[expect(unsafe_code, reason = "tokio cannot know what owns the descriptor")]
    let registered = unsafe { AsyncFd::register_with_interest(fd, interest) };
    Ok(registered?)
}

fn receive(fd: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let mut parts = [IoSliceMut::new(room)];
        match recvmsg(fd, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
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
        // Descriptors were lost (most often: our limit on open files): nothing behind them
        // would mean what the sender meant.
        return Err(io::Error::other(
            "file descriptors of a message were lost; raise the limit on open files (ulimit -n)",
        ));
    }
    Ok((message.bytes, fds))
}

fn send(fd: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many file descriptors in one message"));
    }
    loop {
        match sendmsg(
            fd,
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        ) {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
