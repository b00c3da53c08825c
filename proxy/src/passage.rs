//! Bytes that nobody needs to see go from socket to socket inside the kernel, by splice(2): most
//! of their pages are handed on, where reading and writing would copy them twice.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::socket::Socket;

/// Fewer bytes than this are read and written as all others are.
pub(crate) const WORTH: u64 = 16 << 10;
/// Asked for as a pipe's size, which bounds what goes at once.
const PIPE: usize = 1 << 20;
/// Pipes that there are at most: more are in use only where many peers do not read.
const MOST: usize = 16;

/// The pipes that bytes go through, of all connections of one thread.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    idle: RefCell<Vec<Pipe>>,
    made: Cell<usize>,
}

/// An empty pipe when it is idle.
#[derive(Debug)]
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

/// Bytes on their way, in a pipe. Where they are dropped, their connection is over.
pub(crate) struct Passage<'a> {
    pipes: &'a Pipes,
    /// Some until it is dropped.
    pipe: Option<Pipe>,
    left: usize,
}

impl Pipes {
    /// Takes at most `most` of the bytes that wait in `from`, where there are enough of them and
    /// no descriptors are among them. `None` where they are to be read instead.
    pub(crate) async fn take(&self, from: &Socket, most: u64) -> io::Result<Option<Passage<'_>>> {
        let Some(there) = from.plain_bytes().await? else {
            return Ok(None);
        };
        let len = usize::try_from(there.min(most)).unwrap_or(usize::MAX);
        if (len as u64) < WORTH {
            return Ok(None);
        }
        let Some(pipe) = self.pipe() else {
            return Ok(None);
        };
        let taken = moved(from.as_fd(), pipe.into.as_fd(), len.min(PIPE));
        let passage = Passage {
            pipes: self,
            pipe: Some(pipe),
            left: *taken.as_ref().unwrap_or(&0),
        };
        match taken {
            Ok(1..) => Ok(Some(passage)),
            // What is wrong, reading will tell as well.
            _ => Ok(None),
        }
    }

    fn pipe(&self) -> Option<Pipe> {
        if let Some(pipe) = self.idle.borrow_mut().pop() {
            return Some(pipe);
        }
        if self.made.get() == MOST {
            return None;
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // Any size serves.
        let _ = fcntl_setpipe_size(&into, PIPE);
        self.made.set(self.made.get() + 1);
        Some(Pipe { out, into })
    }
}

impl Passage<'_> {
    /// How many bytes are still to be given.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Gives what `to` takes at once. True where that was all.
    pub(crate) fn give_now(&mut self, to: &Socket) -> io::Result<bool> {
        while self.left > 0 {
            match self.give_some(to.as_fd()) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Gives all of it.
    pub(crate) async fn give(&mut self, to: &Socket) -> io::Result<()> {
        while self.left > 0 {
            to.with_room(|fd| self.give_some(fd)).await?;
        }
        Ok(())
    }

    fn give_some(&mut self, to: BorrowedFd<'_>) -> io::Result<()> {
        let Some(pipe) = &self.pipe else {
            return Ok(());
        };
        match moved(pipe.out.as_fd(), to, self.left)? {
            0 => Err(io::Error::from(io::ErrorKind::WriteZero)),
            n => {
                self.left -= n.min(self.left);
                Ok(())
            }
        }
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        match self.pipe.take() {
            Some(pipe) if self.left == 0 => self.pipes.idle.borrow_mut().push(pipe),
            // There are bytes in it: it cannot be used again.
            _ => self.pipes.made.set(self.pipes.made.get() - 1),
        }
    }
}

fn moved(from: BorrowedFd<'_>, to: BorrowedFd<'_>, len: usize) -> io::Result<usize> {
    loop {
        match splice(from, None, to, None, len, SpliceFlags::NONBLOCK) {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}
