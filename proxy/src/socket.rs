//! Sockets as the relay needs them: bytes with the file descriptors that travel along.

use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, recvmsg, sendmsg, shutdown,
};
use rustix::time::Timespec;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::buffer::ReadBuffer;

/// The most descriptors that one message can carry (SCM_MAX_FD of the kernel).
const MOST_FDS: usize = 253;

/// A connected stream socket, Unix or TCP, in the running runtime.
#[derive(Debug)]
pub(crate) struct Socket(AsyncFd<OwnedFd>);

/// What one read gave.
#[derive(Debug)]
pub(crate) struct Received {
    /// Empty at the end of the stream.
    pub(crate) bytes: Bytes,
    pub(crate) fds: Vec<OwnedFd>,
}

impl Socket {
    pub(crate) fn new(fd: impl Into<OwnedFd>) -> io::Result<Socket> {
        let fd = fd.into();
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        // SAFETY: an `OwnedFd` is open and stays the same one, and this module neither replaces
        // nor takes it out while it is registered.
        #[expect(unsafe_code, reason = "tokio cannot know what owns the descriptor")]
        let registered = unsafe { AsyncFd::register(fd) };
        Ok(Socket(registered?))
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }

    /// Reads what is there, at most `most` bytes, once something is there.
    pub(crate) async fn receive(
        &self,
        buffer: &RefCell<ReadBuffer>,
        most: usize,
    ) -> io::Result<Received> {
        loop {
            let mut ready = self.0.readable().await?;
            let attempt = ready.try_io(|fd| {
                let mut buffer = buffer.borrow_mut();
                let room = buffer.room();
                let asked = room.len().min(most);
                let room = room.get_mut(..asked).unwrap_or_default();
                let (n, fds) = receive(fd.as_fd(), room)?;
                Ok((buffer.take(n), fds, n < asked))
            });
            if let Ok(result) = attempt {
                let (bytes, fds, short) = result?;
                // A short read has emptied the socket, which saves the call that would say so.
                // Not so where descriptors came: the kernel stops behind them.
                if short && fds.is_empty() && !bytes.is_empty() {
                    ready.clear_ready();
                }
                return Ok(Received { bytes, fds });
            }
        }
    }

    /// Writes all of `bytes`; the descriptors go with the first of them.
    pub(crate) async fn send(&self, mut bytes: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
        let mut fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        while !bytes.is_empty() {
            let write = |fd: &OwnedFd| send(fd.as_fd(), bytes, &fds);
            let n = self.0.async_io(Interest::WRITABLE, write).await?;
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
