//! A connection to the display that does not wait for ever: another client may grab the server and keep it.

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

/// The times in seconds within which the server must reply: usually, and after the user has interrupted the driver, which
/// then only releases keys.
const PATIENCE: [i64; 2] = [20, 1];

pub(super) fn gone(error: impl std::fmt::Display) -> DriveError {
    DriveError::Display(format!("does not answer: {error}"))
}

/// A connection whose server must reply in time.
pub(super) type BoundedConnection = RustConnection<BoundedStream>;

/// Connects to `$DISPLAY`. Returns the connection and the number of the screen. `stop` is true after an interruption.
pub(super) fn connect(stop: Arc<AtomicBool>) -> Result<(BoundedConnection, usize), DriveError> {
    let name = parse_display(None).map_err(gone)?;
    let mut addresses = name.connect_instruction();
    let stream = addresses.find_map(|address| DefaultStream::connect(&address).ok());
    let (stream, (family, address)) = stream.ok_or_else(|| gone("it has no socket"))?;
    // Like every client, connect without a cookie if there is none.
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
                // The signal may have set `stop`.
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
