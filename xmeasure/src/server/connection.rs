//! A connection that sends prepared bytes, and evaluates only the number and the lengths of the replies.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, send, sendmsg,
};
use x11prof_protocol::{ByteOrder, ServerSetup};
use x11prof_proxy::{Cookie, ServerLink, setup_request};
use x11rb_protocol::protocol::xproto::Setup;

use crate::error::MeasureError;
use crate::server::exchange::{Load, ReceivedMessages, Until};

/// A server that is silent for this long counts as stuck.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum length of an accepted message in bytes. Replies to the loads have a few MiB at most, so a longer message
/// comes from a broken or malicious server.
const LONGEST: usize = 64 << 20;
/// The maximum number of bytes that one read requests from the socket.
const READ: usize = 1 << 18;

/// The maximum number of file descriptors in flight in each direction. libxcb sends at most this number of descriptors
/// with one message, and servers accept only a few more.
pub(crate) const CARRYING: usize = 16;

/// A connection to the server, on which the loads are sent.
pub(crate) struct RawConnection {
    fd: OwnedFd,
    pub(crate) setup: Setup,
    /// The bytes of the connection setup in both directions, for the tracker, without the authorization.
    pub(crate) setup_bytes: (Vec<u8>, Vec<u8>),
    sequence: u64,
    input: Vec<u8>,
    /// The read buffer, which is allocated only once. Clearing a buffer for each read would take longer than a server's
    /// reply, and would evict data from the caches that the client shares with the server.
    room: Vec<u8>,
    /// Ends the calibration when it is set to true.
    pub(crate) stop: Arc<AtomicBool>,
}

impl RawConnection {
    /// Connects and performs the connection setup.
    pub(crate) fn open(
        link: &ServerLink,
        stop: &Arc<AtomicBool>,
    ) -> Result<RawConnection, MeasureError> {
        let (connected, cookie) = link.connect()?;
        RawConnection::over(connected.into(), cookie.as_ref(), stop)
    }

    /// Performs the connection setup on an existing connection.
    pub(crate) fn over(
        fd: OwnedFd,
        cookie: Option<&Cookie>,
        stop: &Arc<AtomicBool>,
    ) -> Result<RawConnection, MeasureError> {
        let mut connection = RawConnection {
            fd,
            setup: Setup::default(),
            setup_bytes: Default::default(),
            sequence: 0,
            input: Vec::new(),
            room: vec![0; READ],
            stop: Arc::clone(stop),
        };
        connection.send_all(&setup_request(ByteOrder::native(), cookie))?;
        let answer = connection.message(|input| {
            let words = u16::from_ne_bytes([*input.get(6)?, *input.get(7)?]);
            Some(8 + usize::from(words) * 4)
        })?;
        let setup = ServerSetup::of_answer(&answer);
        if let Some(reason) = setup.refusal() {
            return Err(MeasureError::Protocol {
                what: format!("refused the connection: {reason}"),
            });
        }
        connection.setup = setup.decode().map_err(|_| MeasureError::Protocol {
            what: "sent a setup that cannot be read".into(),
        })?;
        connection.setup_bytes = (setup_request(ByteOrder::native(), None), answer);
        Ok(connection)
    }

    /// The low 16 bits of the last request's sequence number, which replies contain.
    pub(crate) fn last_sequence(&self) -> u16 {
        self.sequence as u16
    }

    /// The index of this client in the server's table of clients, which determines the base of its resource ids.
    pub(crate) fn client(&self) -> u16 {
        let bits = self.setup.resource_id_mask.count_ones();
        (self.setup.resource_id_base >> bits) as u16
    }

    /// Sends the bytes of one request without waiting for a reply.
    pub(crate) fn send_request(&mut self, bytes: &[u8]) -> Result<(), MeasureError> {
        self.send_all(bytes)?;
        self.sequence += 1;
        Ok(())
    }

    /// Sends bytes with a file descriptor attached to the first byte.
    pub(crate) fn send_with_fd(&mut self, bytes: &[u8], fd: &OwnedFd) -> Result<(), MeasureError> {
        self.wait(true)?;
        let sent = self.send_with(bytes, fd, 1).map_err(io::Error::from)?;
        self.send_all(bytes.get(sent..).unwrap_or_default())?;
        self.sequence += 1;
        Ok(())
    }

    /// Returns the bytes of the server's next message, of any kind.
    pub(crate) fn next_message(&mut self) -> Result<Vec<u8>, MeasureError> {
        Ok(self.message(message_length)?)
    }

    /// True if `message` is the reply or the error for the last request.
    pub(crate) fn answers_last(&self, message: &[u8]) -> bool {
        answer_sequence(message) == Some(self.last_sequence())
    }

    /// Sends a load, and reads the server's messages at the same time, up to the condition `until`. Returns the numbers
    /// of messages.
    pub(crate) fn exchange(
        &mut self,
        load: &Load<'_>,
        until: Until,
    ) -> io::Result<ReceivedMessages> {
        self.sequence += load.requests;
        let last = self.last_sequence();
        let mut answers = ReceivedMessages::default();
        let mut last_answered = false;
        let mut part = (0_u64, 0_usize);
        loop {
            let rest = loop {
                let whole = if part.0 < load.times {
                    load.unit
                } else {
                    load.tail
                };
                match whole.get(part.1..) {
                    Some(rest) if !rest.is_empty() => break rest,
                    _ if part.0 < load.times => part = (part.0 + 1, 0),
                    _ => break &[],
                }
            };
            let done = match until {
                Until::Sent => true,
                Until::LastAnswered => last_answered,
                Until::Answered(count) => last_answered && answers.answered() >= count,
            };
            if rest.is_empty() && done {
                return Ok(answers);
            }
            let (readable, writable) = self.wait(!rest.is_empty())?;
            if readable {
                self.receive()?;
                let mut taken = 0;
                while let Some(message) = self.input.get(taken..).and_then(first_message) {
                    answers.count(message);
                    if let Some(sequence) = answer_sequence(message) {
                        last_answered = sequence == last;
                    }
                    taken += message.len();
                }
                self.input.drain(..taken);
            }
            if writable {
                let first = part.0 < load.times && part.1 == 0;
                let sent = match load.descriptors.filter(|_| first) {
                    Some((fd, count)) => self.send_with(rest, fd, count),
                    None => send(&self.fd, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT),
                };
                match sent {
                    Ok(sent) => part.1 += sent,
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Sends the bytes that the socket accepts, with `fd` attached `count` times.
    fn send_with(&self, bytes: &[u8], fd: &OwnedFd, count: usize) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(CARRYING))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [fd.as_fd(); CARRYING];
        let fds = fds.get(..count).ok_or(Errno::INVAL)?;
        control.push(SendAncillaryMessage::ScmRights(fds));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.fd, &[IoSlice::new(bytes)], &mut control, flags)
    }

    fn send_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.wait(true)?;
            match send(&self.fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
                Err(Errno::AGAIN) => self.receive_if_any()?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for input or, if `to_send` is true, also for space to send. Returns true for input, and true for space to
    /// send.
    fn wait(&self, to_send: bool) -> io::Result<(bool, bool)> {
        let interest = if to_send {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        let mut fds = [PollFd::new(&self.fd, interest)];
        let start = Instant::now();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let left = PATIENCE.saturating_sub(start.elapsed());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => {}
                // The signal may request the end of the calibration.
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let ready = fds[0].revents();
            let ended = ready.intersects(PollFlags::HUP | PollFlags::ERR);
            // A read after a hang-up returns the remaining bytes, and then the cause of the hang-up.
            return Ok((
                ready.contains(PollFlags::IN) || ended,
                ready.contains(PollFlags::OUT),
            ));
        }
    }

    fn receive_if_any(&mut self) -> io::Result<()> {
        if self.wait(true)?.0 {
            self.receive()
        } else {
            Ok(())
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let result = recv(&self.fd, self.room.as_mut_slice(), RecvFlags::DONTWAIT);
        let got = result.as_ref().map_or(0, |(got, _)| *got);
        self.input
            .extend_from_slice(self.room.get(..got).unwrap_or_default());
        match result {
            Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
            // Complete messages are removed as they arrive, so the rest cannot exceed one message.
            Ok(_) if self.input.len() > LONGEST => Err(overlong()),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn message(&mut self, length: impl Fn(&[u8]) -> Option<usize>) -> io::Result<Vec<u8>> {
        loop {
            match length(&self.input) {
                Some(length) if length > LONGEST => return Err(overlong()),
                Some(length) if length <= self.input.len() => {
                    return Ok(self.input.drain(..length).collect());
                }
                _ => {}
            }
            self.wait(false)?;
            self.receive()?;
        }
    }
}

fn overlong() -> io::Error {
    let why = "it announced an answer of over 64 MiB";
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The length of the server's message at the start of `input`, if its header is complete: 32 bytes, and for replies
/// and GenericEvents (code 35) the additional words in the length field.
fn message_length(input: &[u8]) -> Option<usize> {
    let header = input.get(..32)?;
    let extra = match header[0] & 0x7F {
        1 | 35 => u32::from_ne_bytes([header[4], header[5], header[6], header[7]]),
        _ => 0,
    };
    usize::try_from(extra).ok()?.checked_mul(4)?.checked_add(32)
}

fn first_message(input: &[u8]) -> Option<&[u8]> {
    input.get(..message_length(input)?)
}

/// The sequence number in a reply or an error.
fn answer_sequence(message: &[u8]) -> Option<u16> {
    match message {
        [0 | 1, _, low, high, ..] => Some(u16::from_ne_bytes([*low, *high])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicBool;

    use super::{RawConnection, answer_sequence, message_length};

    fn message(kind: u8, words: u32) -> Vec<u8> {
        let mut bytes = vec![0; 32 + words as usize * 4];
        bytes[0] = kind;
        bytes[2..4].copy_from_slice(&0x1234_u16.to_ne_bytes());
        bytes[4..8].copy_from_slice(&words.to_ne_bytes());
        bytes
    }

    #[test]
    fn stopped_connection_does_not_wait_for_a_silent_server() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let stop = AtomicBool::new(true).into();
        let opened = RawConnection::over(ours.into(), None, &stop).err().unwrap();
        assert!(opened.to_string().contains("interrupted"), "{opened}");
    }

    #[test]
    fn only_replies_and_generic_events_are_longer_than_32_bytes() {
        assert_eq!(message_length(&message(1, 2)), Some(40));
        assert_eq!(message_length(&message(35 | 0x80, 1)), Some(36));
        assert_eq!(message_length(&message(12, 9)), Some(32));
        assert_eq!(message_length(&[1; 31]), None);
    }

    #[test]
    fn events_have_no_reply_sequence_number() {
        assert_eq!(answer_sequence(&message(1, 0)), Some(0x1234));
        assert_eq!(answer_sequence(&message(12, 0)), None);
    }
}
