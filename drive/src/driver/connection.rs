//! A connection to the display that does not wait for ever: another client may grab the server and keep it.

use std::io::{self, ErrorKind};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use x11rb::reexports::x11rb_protocol::parse_display::parse_display;
use x11rb::reexports::x11rb_protocol::xauth::get_auth;
use x11rb::rust_connection::{DefaultStream, PollMode, RustConnection, Stream};
use x11rb::utils::RawFdContainer;

use crate::DriveError;

/// The server must reply within this time.
const PATIENCE: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};

pub(super) fn gone(error: impl std::fmt::Display) -> DriveError {
    DriveError::Display(format!("does not answer: {error}"))
}

/// A connection whose server must reply in time.
pub(super) type BoundedConnection = RustConnection<BoundedStream>;

/// Connects to `$DISPLAY`. Returns the connection and the number of the screen.
pub(super) fn connect() -> Result<(BoundedConnection, usize), DriveError> {
    let name = parse_display(None).map_err(gone)?;
    let mut addresses = name.connect_instruction();
    let stream = addresses.find_map(|address| DefaultStream::connect(&address).ok());
    let (stream, (family, address)) = stream.ok_or_else(|| gone("it has no socket"))?;
    // Like every client, connect without a cookie if there is none.
    let cookie = get_auth(family, &address, name.display).ok().flatten();
    let (kind, cookie) = cookie.unwrap_or_default();
    let (stream, screen) = (BoundedStream(stream), usize::from(name.screen));
    let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, kind, cookie);
    Ok((x.map_err(gone)?, screen))
}

#[derive(Debug)]
pub(super) struct BoundedStream(DefaultStream);

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, mode.readable());
        flags.set(PollFlags::OUT, mode.writable());
        let mut ready = [PollFd::new(&self.0, flags)];
        match retry_on_intr(|| poll(&mut ready, Some(&PATIENCE)))? {
            0 => Err(io::Error::new(
                ErrorKind::TimedOut,
                "no reply within 20 s; a client may have grabbed the server",
            )),
            _ => Ok(()),
        }
    }

    fn read(&self, bytes: &mut [u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.read(bytes, fds)
    }

    fn write(&self, bytes: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.0.write(bytes, fds)
    }
}
