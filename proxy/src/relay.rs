//! The relay of one connection: bytes and descriptors, both ways, as they come.
//!
//! Nothing is decoded here, and nothing waits for the disk.

use std::cell::{Cell, RefCell};
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use tokio::sync::Notify;
use x11prof_trace::{Control, Direction, Timestamp};

use crate::buffer::ReadBuffers;
use crate::clock;
use crate::connection_tap::ConnectionTap;
use crate::socket::{Received, Socket};

/// A peer that does not take bytes for this long is noted; below, a full socket buffer is
/// how every fast sender is slowed down.
const NOTED_STALL: Duration = Duration::from_millis(5);

/// One connection on its way through us.
pub(crate) struct Relay<'a> {
    pub(crate) client: &'a Socket,
    pub(crate) server: &'a Socket,
    pub(crate) tap: &'a ConnectionTap<'a>,
    pub(crate) buffers: &'a ReadBuffers,
    /// Counts bytes relayed, both ways.
    pub(crate) relayed: &'a Cell<u64>,
}

/// Who ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Client,
    Server,
}

/// How a connection ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) by: EndedBy,
    /// Where it was no orderly end of file.
    pub(crate) error: Option<io::Error>,
}

/// How one direction ended.
struct Ended {
    /// Both directions are over.
    all: bool,
    error: Option<(EndedBy, io::Error)>,
}

impl Relay<'_> {
    /// Relays until the connection has ended. `at_end` is called as soon as the client's end
    /// is seen, while its process can still be asked for its CPU time.
    pub(crate) async fn run(&self, at_end: impl Fn()) -> End {
        let first = RefCell::new(None);
        let over = Notify::new();
        let direction = |direction| {
            let (first, over, at_end) = (&first, &over, &at_end);
            async move {
                let ended = self.one_way(direction).await;
                if direction == Direction::ToServer {
                    at_end();
                }
                let by = match &ended.error {
                    Some((by, _)) => *by,
                    None if direction == Direction::ToServer => EndedBy::Client,
                    None => EndedBy::Server,
                };
                let mut first = first.borrow_mut();
                if first.is_none() {
                    *first = Some((by, ended.error.map(|(_, error)| error)));
                }
                if ended.all {
                    over.notify_one();
                }
            }
        };
        tokio::select! {
            biased;
            ((), ()) = async {
                tokio::join!(direction(Direction::ToServer), direction(Direction::ToClient))
            } => {}
            () = over.notified() => {}
        }
        let (by, error) = first.take().unwrap_or((EndedBy::Client, None));
        End { by, error }
    }

    async fn one_way(&self, direction: Direction) -> Ended {
        let (from, to, sender, receiver) = match direction {
            Direction::ToServer => (self.client, self.server, EndedBy::Client, EndedBy::Server),
            Direction::ToClient => (self.server, self.client, EndedBy::Server, EndedBy::Client),
        };
        loop {
            let received = match from.receive(self.buffers).await {
                Ok(received) => received,
                Err(error) => return Ended::broken(sender, error),
            };
            let time = clock::now();
            let bytes = received.bytes();
            if bytes.is_empty() {
                to.shut_down_writing();
                return Ended {
                    // Only half is over where the peer merely ended its own direction.
                    all: from.is_hung_up(),
                    error: None,
                };
            }
            self.relayed.set(self.relayed.get() + bytes.len() as u64);
            // Before it is sent, so that no answer can come before it in the trace.
            self.tap
                .crossed(time, direction, bytes, received.fds.len(), &(0..0));
            let sent = match to.send_now(bytes, &received.fds) {
                Ok(sent) => sent,
                Err(error) => return Ended::broken(receiver, error),
            };
            if sent < bytes.len() {
                if let Err(error) = self.send_rest(to, received, sent).await {
                    return Ended::broken(receiver, error);
                }
                if clock::now().since(time) >= NOTED_STALL {
                    self.note_stall(time, "peer");
                }
            }
            self.await_queue().await;
        }
    }

    /// Waits while the recorder's queue holds all that it may.
    async fn await_queue(&self) {
        let queue = self.tap.tap();
        if queue.is_full() {
            let since = clock::now();
            queue.room().await;
            let waited = clock::now().since(since).as_nanos();
            queue.waited(u64::try_from(waited).unwrap_or(u64::MAX));
            self.note_stall(since, "queue");
        }
    }

    /// Sends what the peer did not take at once.
    async fn send_rest(&self, to: &Socket, received: Received<'_>, sent: usize) -> io::Result<()> {
        // Descriptors that have not gone with the first byte go with it now.
        let fds = if sent == 0 { &received.fds[..] } else { &[] };
        let rest = received.bytes().get(sent..).unwrap_or_default();
        if !self.buffers.are_scarce() {
            return to.send(rest, fds).await;
        }
        // A peer that never reads must not keep a whole buffer for ever.
        let rest = rest.to_vec();
        let fds = if sent == 0 {
            received.into_fds()
        } else {
            Vec::new()
        };
        to.send(&rest, &fds).await
    }

    fn note_stall(&self, since: Timestamp, cause: &str) {
        self.tap.tap().control(
            clock::now(),
            Control::Stalled {
                connection: self.tap.connection(),
                since_ns: since.as_nanos(),
                cause: cause.to_owned(),
            },
        );
    }
}

impl Ended {
    fn broken(by: EndedBy, error: io::Error) -> Ended {
        // These are how the end of a killed process looks from a socket.
        let killed = [Errno::PIPE, Errno::CONNRESET, Errno::NOTCONN];
        let orderly = Errno::from_io_error(&error).is_some_and(|e| killed.contains(&e));
        Ended {
            all: true,
            error: Some((
                by,
                if orderly {
                    io::Error::from(io::ErrorKind::ConnectionReset)
                } else {
                    error
                },
            )),
        }
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "split_tests.rs"]
mod split_tests;
