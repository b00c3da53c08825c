//! A connection to the display with a time limit for replies, because another client may grab the server and keep it.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

use crate::DriveError;

/// The time limits in seconds for the server's replies: the first normally, the second after the user has interrupted
/// the driver, when it only releases the pressed keys.
const PATIENCE: [i64; 2] = [20, 1];

pub(super) fn gone(error: impl std::fmt::Display) -> DriveError {
    DriveError::Display(format!("does not answer: {error}"))
}

/// A connection on which a read or write fails if the server does not react within the time limit.
pub(super) type BoundedConnection = RustConnection<BoundedStream>;

/// Connects to `$DISPLAY`. Returns the connection and the number of the screen. `stop` becomes true when the user
/// interrupts the driver; the time limit for replies is then shorter.
pub(super) fn connect(stop: Arc<AtomicBool>) -> Result<(BoundedConnection, usize), DriveError> {
    let name = parse_display(None).map_err(gone)?;
    let mut addresses = name.connect_instruction();
    let stream = addresses.find_map(|address| DefaultStream::connect(&address).ok());
    let (stream, (family, address)) = stream.ok_or_else(|| gone("it has no socket"))?;
    // Like any X client, the driver connects without a cookie if it finds none.
    let cookie = get_auth(family, &address, name.display).ok().flatten();
    let (kind, cookie) = cookie.unwrap_or_default();
    let (stream, screen) = (BoundedStream { stream, stop }, usize::from(name.screen));
    let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, kind, cookie);
    Ok((x.map_err(gone)?, screen))
}

#[derive(Debug)]
pub(super) struct BoundedStream {
    stream: DefaultStream,
    stop: Arc<AtomicBool>,
}

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, mode.readable());
        flags.set(PollFlags::OUT, mode.writable());
        let mut ready = [PollFd::new(&self.stream, flags)];
        loop {
            let tv_sec = PATIENCE[usize::from(self.stop.load(Ordering::Acquire))];
            match poll(&mut ready, Some(&Timespec { tv_sec, tv_nsec: 0 })) {
                // A signal interrupted the poll and may have set `stop`, so the time limit is read again.
                Err(Errno::INTR) => {}
                Ok(0) => {
                    let why =
                        format!("no reply within {tv_sec} s; a client may have grabbed the server");
                    return Err(io::Error::new(ErrorKind::TimedOut, why));
                }
                ready => return Ok(ready.map(drop)?),
            }
        }
    }

    fn read(&self, bytes: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.read(bytes, fds)
    }

    fn write(&self, bytes: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write(bytes, fds)
    }
}
