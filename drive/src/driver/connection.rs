//! A connection to the display with a time limit for replies, because another client may grab the server and keep it.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
/// The time limit in seconds for the release of keys at the end. The server drops requests that it has not read when
/// the connection closes, so the driver waits for the end of a grab.
const RELEASE_PATIENCE: i64 = 8;

/// The longest message that the driver takes from the server, in bytes.
const LONGEST: u64 = 16 << 20;
/// The codes of messages that state their length (protocol, appendix B, "Common Types"; X Generic Event Extension).
const REPLY: u8 = 1;
const GENERIC_EVENT: u8 = 35;

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
    let stream = BoundedStream {
        stream,
        stop,
        lengths: Mutex::default(),
        is_releasing: AtomicBool::new(false),
    };
    let screen = usize::from(name.screen);
    let x = RustConnection::connect_to_stream_with_auth_info(stream, screen, kind, cookie);
    Ok((x.map_err(gone)?, screen))
}

#[derive(Debug)]
pub(super) struct BoundedStream {
    stream: DefaultStream,
    stop: Arc<AtomicBool>,
    lengths: Mutex<Lengths>,
    is_releasing: AtomicBool,
}

impl BoundedStream {
    /// Sets the time limit for the release of keys.
    pub(super) fn begin_release(&self) {
        self.is_releasing.store(true, Ordering::Release);
    }

    fn patience(&self) -> i64 {
        match self.is_releasing.load(Ordering::Acquire) {
            true => RELEASE_PATIENCE,
            false => PATIENCE[usize::from(self.stop.load(Ordering::Acquire))],
        }
    }
}

/// Checks the lengths that the server's messages state. `x11rb` allocates memory of that length.
#[derive(Debug, Default)]
struct Lengths {
    /// The first bytes of a message, as far as they have arrived.
    head: [u8; 8],
    filled: usize,
    /// The number of bytes of the message that have not arrived.
    left: u64,
    is_set_up: bool,
}

impl Lengths {
    /// Takes bytes that have arrived. Fails if a message is longer than [`LONGEST`].
    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let [first, rest @ ..] = bytes {
            if self.left > 0 {
                let skipped =
                    usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.filled] = *first;
            self.filled += 1;
            bytes = rest;
            if self.filled == self.head.len() {
                self.filled = 0;
                let length = self.length();
                if length > LONGEST {
                    let why = format!("it announced a reply of {length} bytes");
                    return Err(io::Error::new(ErrorKind::InvalidData, why));
                }
                self.left = length - self.head.len() as u64;
                self.is_set_up = true;
            }
        }
        Ok(())
    }

    /// The length of the message with this head in bytes (protocol, "Connection Setup" and appendix B, "Syntactic
    /// Conventions").
    fn length(&self) -> u64 {
        let [kind, .., a, b] = self.head;
        let units = u32::from_ne_bytes([self.head[4], self.head[5], a, b]);
        match (self.is_set_up, kind) {
            (false, _) => 8 + 4 * u64::from(u16::from_ne_bytes([a, b])),
            (true, REPLY | GENERIC_EVENT) => 32 + 4 * u64::from(units),
            (true, _) => 32,
        }
    }
}

impl Stream for BoundedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, mode.readable());
        flags.set(PollFlags::OUT, mode.writable());
        let mut ready = [PollFd::new(&self.stream, flags)];
        loop {
            let tv_sec = self.patience();
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
        let read = self.stream.read(bytes, fds)?;
        // A panic of another thread leaves a state that is as good as any.
        let mut lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        lengths.take(&bytes[..read])?;
        Ok(read)
    }

    fn write(&self, bytes: &[u8], fds: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.stream.write(bytes, fds)
    }
}

#[cfg(test)]
mod tests {
    use super::Lengths;

    #[test]
    fn reply_that_states_an_excessive_length_is_refused() {
        let setup = [&[1, 0, 11, 0, 0, 0][..], &2_u16.to_ne_bytes(), &[0; 8]].concat();
        let message = |kind: u8, units: u32| {
            let mut message = [&[kind, 0, 0, 0][..], &units.to_ne_bytes()].concat();
            message.resize(32 + 4 * units.min(9) as usize, 0);
            message
        };
        // An event has no length: its bytes may be any.
        let good = [setup, message(1, 9), message(12, 0), message(35, 2)].concat();
        let mut lengths = Lengths::default();
        for part in good.chunks(7) {
            lengths.take(part).unwrap();
        }
        assert_eq!((lengths.left, lengths.filled), (0, 0));
        assert!(lengths.take(&message(1, u32::MAX)).is_err());
    }
}
