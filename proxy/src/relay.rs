//! The relay of one connection: bytes and descriptors, both ways, as they come.
//!
//! Nothing is decoded here, and nothing waits for the disk. Each direction has a thread, which
//! waits in the read itself: a message costs two system calls and one wakeup.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

use rustix::io::Errno;
use x11prof_trace::{Control, Direction, Timestamp};

use crate::buffer::{Intake, LargeBuffers};
use crate::clock;
use crate::connection_tap::ConnectionTap;
use crate::connections::Connections;
use crate::socket::{Socket, Wait};

/// A peer that does not take bytes for this long is noted; below, a full socket buffer is
/// how every fast sender is slowed down.
const NOTED_STALL: Duration = Duration::from_millis(5);

/// The stack of a direction's thread, of which little is touched.
const STACK: usize = 128 << 10;

/// One connection on its way through us.
pub(crate) struct Relay<'a> {
    pub(crate) client: &'a Socket,
    pub(crate) server: &'a Socket,
    pub(crate) tap: &'a ConnectionTap<'a>,
    pub(crate) buffers: &'a LargeBuffers,
    /// Where relayed bytes are counted.
    pub(crate) connections: &'a Connections,
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
    end: End,
}

impl Relay<'_> {
    /// Relays until the connection has ended. `at_end` is called as soon as the client's end
    /// is seen, while its process can still be asked for its CPU time.
    pub(crate) fn run(&self, at_end: impl FnOnce()) -> End {
        let first = Mutex::new(None);
        let direction = |direction| {
            let mut bytes = 0;
            let Ended { all, end } = self.one_way(direction, &mut bytes);
            self.connections.relayed(bytes);
            first
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_or_insert(end);
            // Not before it is noted who was first: the peer answers this by its own end.
            match direction {
                Direction::ToServer => self.server.shut_down_writing(),
                Direction::ToClient => self.client.shut_down_writing(),
            }
            if all {
                // The other thread may wait in either.
                self.client.shut_down();
                self.server.shut_down();
            }
        };
        let started = thread::scope(|scope| {
            let answers = Builder::new()
                .name("x11prof-relay".to_owned())
                .stack_size(STACK)
                .spawn_scoped(scope, || direction(Direction::ToClient))?;
            direction(Direction::ToServer);
            at_end();
            // A panic there has ended this connection alone.
            let _ = answers.join();
            Ok(())
        });
        let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
        first.unwrap_or_else(|| End {
            by: EndedBy::Client,
            error: started.err(),
        })
    }

    /// Adds what it relays to `count`.
    fn one_way(&self, direction: Direction, count: &mut u64) -> Ended {
        let (from, to, sender, receiver) = match direction {
            Direction::ToServer => (self.client, self.server, EndedBy::Client, EndedBy::Server),
            Direction::ToClient => (self.server, self.client, EndedBy::Server, EndedBy::Client),
        };
        let mut intake = Intake::new(self.buffers);
        loop {
            let received = match intake.receive(from) {
                Ok(received) => received,
                Err(error) => return Ended::broken(sender, error),
            };
            let time = clock::now();
            let bytes = received.bytes();
            if bytes.is_empty() {
                return Ended {
                    // Only half is over where the peer merely ended its own direction.
                    all: from.is_hung_up(),
                    end: End {
                        by: sender,
                        error: None,
                    },
                };
            }
            *count += bytes.len() as u64;
            // Before it is sent, so that no answer can come before it in the trace.
            self.tap
                .crossed(time, direction, bytes, received.fds.len(), &(0..0));
            let sent = match to.send(bytes, &received.fds, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Ended::broken(receiver, error),
                Ok(sent) => sent,
            };
            if sent < bytes.len() {
                let rest = received.after(sent);
                if let Err(error) = to.send_all(rest.bytes(), &rest.fds) {
                    return Ended::broken(receiver, error);
                }
                if clock::now().since(time) >= NOTED_STALL {
                    self.note_stall(time, "peer");
                }
            }
            self.await_queue();
        }
    }

    /// Waits while the recorder's queue holds all that it may.
    fn await_queue(&self) {
        let queue = self.tap.tap();
        if queue.is_full() {
            let since = clock::now();
            queue.await_room();
            let waited = clock::now().since(since).as_nanos();
            queue.waited(u64::try_from(waited).unwrap_or(u64::MAX));
            self.note_stall(since, "queue");
        }
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
        let error = match orderly {
            true => io::Error::from(io::ErrorKind::ConnectionReset),
            false => error,
        };
        Ended {
            all: true,
            end: End {
                by,
                error: Some(error),
            },
        }
    }
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "split_tests.rs"]
mod split_tests;
