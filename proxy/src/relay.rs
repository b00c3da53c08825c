//! The relay of one connection: bytes and descriptors, both ways, as they come.
//!
//! Nothing is decoded here, and nothing waits for the disk.

use std::cell::{Cell, RefCell};
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use tokio::sync::Notify;
use x11prof_trace::{ConnectionId, Control, Direction, Timestamp};

use crate::buffer::ReadBuffer;
use crate::clock;
use crate::socket::Socket;
use crate::tap::{Crossing, Entry, Tap};

/// A peer that does not take bytes for this long is noted; below, a full socket buffer is
/// how every fast sender is slowed down.
const NOTED_STALL: Duration = Duration::from_millis(5);

/// One connection on its way through us.
pub(crate) struct Relay<'a> {
    pub(crate) connection: ConnectionId,
    pub(crate) client: &'a Socket,
    pub(crate) server: &'a Socket,
    pub(crate) tap: &'a Tap,
    pub(crate) buffer: &'a RefCell<ReadBuffer>,
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
            let received = match from.receive(self.buffer, usize::MAX).await {
                Ok(received) => received,
                Err(error) => return Ended::broken(sender, error),
            };
            let time = clock::now();
            if received.bytes.is_empty() {
                to.shut_down_writing();
                return Ended {
                    // Only half is over where the peer merely ended its own direction.
                    all: from.is_hung_up(),
                    error: None,
                };
            }
            let relayed = self.relayed.get() + received.bytes.len() as u64;
            self.relayed.set(relayed);
            // Before it is sent, so that no answer can come before it in the trace.
            self.tap.push(Entry::Bytes(Crossing {
                time,
                connection: self.connection,
                direction,
                bytes: received.bytes.clone(),
                fds: received.fds.len(),
                secret: 0..0,
            }));
            if let Err(error) = to.send(&received.bytes, &received.fds).await {
                return Ended::broken(receiver, error);
            }
            if clock::now().since(time) >= NOTED_STALL {
                self.note_stall(time, "peer");
            }
            if self.tap.is_full() {
                let since = clock::now();
                self.tap.room().await;
                self.note_stall(since, "queue");
            }
        }
    }

    fn note_stall(&self, since: Timestamp, cause: &str) {
        self.tap.control(
            clock::now(),
            Control::Stalled {
                connection: self.connection,
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
