//! A connection of the player to the display. It sends the requests of one recorded client.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustc_hash::FxHashMap;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use x11prof_protocol::{ByteOrder, Extensions, SequenceNumber};
use x11prof_proxy::{ServerLink, setup_request};

use super::patience::PATIENCE;
use crate::script::{EventKey, key, time};

/// Codes of messages from the server (X11 protocol, "Replies", "Errors", "Events").
const ERROR: u8 = 0;
const REPLY: u8 = 1;
const KEYMAP_NOTIFY: u8 = 11;
const GENERIC_EVENT: u8 = 35;
/// The size of the read buffer in bytes.
const ROOM: usize = 1 << 16;
/// The longest accepted message, in bytes.
const LONGEST: usize = 64 << 20;
/// The maximum number of event kinds that are counted, and of unpaired times that are stored for each kind.
const MOST_KEPT: usize = 1 << 16;

/// The numbers of received and awaited events of one kind on a connection.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    pub(super) came: u64,
    pub(super) awaited: u64,
    /// Server times of events on the display, and of awaited events in the recording, that are not paired yet (milliseconds).
    here: VecDeque<u32>,
    recorded: VecDeque<u32>,
}

/// A connection of the player to the display, for one recorded client.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    order: ByteOrder,
    /// The sequence number of the last request sent on this connection.
    pub(super) sent: u64,
    /// The sequence number of the last request on this connection that the display is known to have handled.
    pub(super) handled: u64,
    /// Requests with pending replies: the sequence number on the display, and in the recording (0 for the player's own requests).
    pending: VecDeque<(u64, u64)>,
    pub(super) arrivals: FxHashMap<EventKey, Arrivals>,
    /// The number of errors by the failed request's major and minor opcode on the display.
    pub(super) failed: FxHashMap<(u8, u8), u64>,
    /// Server times in milliseconds of the same event, in the recording and on the display.
    pub(super) times: Vec<(u32, u32)>,
    read: Vec<u8>,
    pub(super) is_over: bool,
}

/// The error of a read that ended without a byte after [`PATIENCE`].
fn silent(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::WouldBlock => {
            let seconds = PATIENCE.as_secs();
            io::Error::other(format!("the server did not reply within {seconds} s"))
        }
        _ => error,
    }
}

impl Connection {
    /// Connects to the display with its authorization cookie. Returns the connection and the display's reply to the
    /// setup request, which has at least 8 bytes.
    pub(super) fn open(link: &ServerLink, order: ByteOrder) -> io::Result<(Connection, Vec<u8>)> {
        let (connected, cookie) = link.connect()?;
        // The socket may also be a TCP socket: `UnixStream` only reads and writes its descriptor.
        let stream = UnixStream::from(OwnedFd::from(connected));
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut connection = Connection {
            stream,
            order,
            sent: 0,
            handled: 0,
            pending: VecDeque::new(),
            arrivals: FxHashMap::default(),
            failed: FxHashMap::default(),
            times: Vec::new(),
            read: Vec::new(),
            is_over: false,
        };
        let request = setup_request(order, cookie.as_ref());
        connection.write(&request, None)?;
        let mut answer = vec![0; 8];
        connection.stream.read_exact(&mut answer).map_err(silent)?;
        let more = 4 * usize::from(order.u16(&answer, 6).unwrap_or(0));
        answer.resize(8 + more, 0);
        let rest = connection.stream.read_exact(&mut answer[8..]);
        rest.map_err(silent)?;
        connection.stream.set_nonblocking(true)?;
        Ok((connection, answer))
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Counts requests that are about to be sent: `first` is the recorded sequence number of the first one,
    /// `requests` their number, and `asked` the positions of those that have a reply, counted from 0.
    pub(super) fn note(&mut self, first: u64, requests: u64, asked: impl Iterator<Item = u64>) {
        let before = self.sent + 1;
        let pending = asked.map(|position| (before + position, first + position));
        self.pending.extend(pending);
        self.sent += requests;
    }

    /// Writes as many of the bytes as the socket accepts, and passes the file descriptor if there is one. Returns the
    /// number of written bytes.
    pub(super) fn write(&self, bytes: &[u8], descriptor: Option<&OwnedFd>) -> io::Result<usize> {
        let fds: Vec<BorrowedFd<'_>> = descriptor.iter().map(|fd| fd.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&fds));
        }
        let slices = [IoSlice::new(bytes)];
        match sendmsg(&self.stream, &slices, &mut control, SendFlags::NOSIGNAL) {
            Ok(written) => Ok(written),
            Err(error) => Err(error.into()),
        }
    }

    /// True if the display has not yet replied to all requests.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// True if the display has not yet replied to a recorded request with a sequence number up to `recorded`.
    pub(super) fn is_unanswered(&self, recorded: u64) -> bool {
        let first = self.pending.iter().find(|(_, number)| *number != 0);
        first.is_some_and(|(_, number)| *number <= recorded && !self.is_over)
    }

    /// Reads and processes bytes that the display has sent. Reads only once, because a display may send without end.
    pub(super) fn receive(&mut self, extensions: &Extensions) {
        let mut room = [0; ROOM];
        match self.stream.read(&mut room) {
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // The display has closed the connection.
            Ok(0) | Err(_) => self.is_over = true,
            Ok(len) => {
                self.read.extend_from_slice(&room[..len]);
                self.take(extensions);
            }
        }
    }

    /// Processes the complete messages in the read bytes.
    fn take(&mut self, extensions: &Extensions) {
        let read = std::mem::take(&mut self.read);
        let mut at = 0;
        while let Some(head) = read.get(at..at + 32) {
            let more = match head[0] & 0x7F {
                REPLY | GENERIC_EVENT => self.order.u32(head, 4).unwrap_or(0),
                _ => 0,
            };
            let end = at + 32 + 4 * more as usize;
            let Some(message) = read.get(at..end) else {
                self.is_over = end - at > LONGEST;
                break;
            };
            self.message(message, extensions);
            at = end;
        }
        self.read = read;
        self.read.drain(..at);
    }

    fn message(&mut self, bytes: &[u8], extensions: &Extensions) {
        let kind = bytes[0] & 0x7F;
        let low = self.order.u16(bytes, 2).filter(|_| kind != KEYMAP_NOTIFY);
        let sent = SequenceNumber(self.sent);
        let number = low.and_then(|low| SequenceNumber::widen(low, sent));
        if let Some(number) = number {
            self.handled = self.handled.max(number.0);
        }
        match (kind, number) {
            (REPLY | ERROR, number) => {
                let number = number.unwrap_or_default().0;
                while self.pending.front().is_some_and(|one| one.0 <= number) {
                    self.pending.pop_front();
                }
                if kind == ERROR {
                    // X11 protocol, "Errors": byte 8 starts the minor opcode, byte 10 is the major opcode.
                    let minor = self.order.u16(bytes, 8).unwrap_or(0);
                    *self.failed.entry((bytes[10], minor as u8)).or_default() += 1;
                }
            }
            _ => {
                let Some(key) = key(bytes, self.order, extensions) else {
                    return;
                };
                if self.arrivals.len() >= MOST_KEPT && !self.arrivals.contains_key(&key) {
                    return;
                }
                let of = self.arrivals.entry(key).or_default();
                of.came += 1;
                if let Some(time) = time(bytes, self.order).filter(|_| of.here.len() < MOST_KEPT) {
                    of.here.push_back(time);
                    self.times.extend(of.pair());
                }
            }
        }
    }

    /// Adds an event of this kind that the player must wait for; `recorded` is its recorded server time in
    /// milliseconds, `None` if the event has no time.
    pub(super) fn await_event(&mut self, key: EventKey, recorded: Option<u32>) {
        let of = self.arrivals.entry(key).or_default();
        of.awaited += 1;
        if let Some(time) = recorded {
            of.recorded.push_back(time);
            self.times.extend(of.pair());
        }
    }

    /// Closes the sending direction of the connection. The display reads the remaining requests, then closes the connection.
    pub(super) fn shut_down(&self) {
        // The connection may be closed already.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

impl Arrivals {
    /// Removes and returns the next pair of times (recorded, display); `None` if one of them is missing. Events of a
    /// kind arrive in the recorded order.
    fn pair(&mut self) -> Option<(u32, u32)> {
        match (self.recorded.front(), self.here.front()) {
            (Some(recorded), Some(here)) => {
                let pair = (*recorded, *here);
                self.recorded.pop_front();
                self.here.pop_front();
                Some(pair)
            }
            _ => None,
        }
    }
}
