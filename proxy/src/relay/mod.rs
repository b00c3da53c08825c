//! The relay of one connection: bytes and descriptors, both ways, as they come.
//!
//! The relay decodes nothing (`wait_stacks` looks for a reply's first byte) and never waits for the disk. One thread carries both directions, and neither waits for
//! the other. Bytes that a peer does not take are kept until it does; only then is more read for it.

pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod introduction;
pub(crate) mod rewrites;
pub(crate) mod slow_link;

use std::io;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use x11prof_trace::{Control, Direction, Timestamp};

use crate::capture::wait_stacks::ClientStacks;
use crate::clock;
use crate::recorder::connection_tap::ConnectionTap;
use crate::relay::connections::Connections;
use crate::sockets::buffer::{Intake, LargeBuffers, Received};
use crate::sockets::socket::{Socket, Wait};
use crate::sockets::spin_wait::SpinWait;

/// A peer that does not take bytes for this long is noted; below, a full socket buffer is
/// how every fast sender is slowed down.
const NOTED_STALL: Duration = Duration::from_millis(5);

/// A connection on its way through the recorder.
pub(crate) struct Relay<'a> {
    pub(crate) client: &'a Socket,
    pub(crate) server: &'a Socket,
    pub(crate) tap: &'a ConnectionTap<'a>,
    pub(crate) buffers: &'a LargeBuffers,
    /// The connections' counts of relayed bytes.
    pub(crate) connections: &'a Connections,
    /// The stacks on which the client waits, where they are wanted.
    pub(crate) stacks: Option<ClientStacks>,
}

/// The side that ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Client,
    Server,
}

/// The end of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionEnd {
    pub(crate) by: EndedBy,
    /// The error, unless the end was an orderly end of file.
    pub(crate) error: Option<io::Error>,
}

/// A direction of the connection.
struct RelayDirection<'a> {
    direction: Direction,
    from: &'a Socket,
    to: &'a Socket,
    sender: EndedBy,
    receiver: EndedBy,
    intake: Intake<'a>,
    /// The bytes that the receiver has not taken, with the time of their read.
    rest: Option<(Timestamp, Received<'a, 'a>)>,
    /// Bytes relayed so far.
    bytes: u64,
    over: bool,
}

/// The end of one direction.
pub(crate) struct DirectionEnd {
    /// True once both directions are over.
    pub(crate) all: bool,
    pub(crate) end: ConnectionEnd,
}

impl Relay<'_> {
    /// Relays until the connection ends. `at_end` is called as soon as the client's end is seen, while its process's
    /// CPU time can still be read. Both sockets stay open: if the server heard of the end before the trace does, its
    /// messages to others about the end (DestroyNotify) would be recorded first.
    pub(crate) fn run(&self, at_end: impl FnOnce()) -> ConnectionEnd {
        // After a request the next message is usually the server's.
        let mut ways = [self.way(Direction::ToClient), self.way(Direction::ToServer)];
        let mut spin_wait = SpinWait::new(&self.connections.looking);
        let mut at_end = Some(at_end);
        let mut first = None;
        while ways.iter().any(|way| !way.over) {
            let mut any = false;
            for at in 0..ways.len() {
                let way = &mut ways[at];
                if way.over {
                    continue;
                }
                let DirectionEnd { all, end } = match self.pass(way) {
                    Ok(passed) => {
                        any |= passed;
                        continue;
                    }
                    Err(ended) => ended,
                };
                any = true;
                first.get_or_insert(end);
                way.over = true;
                if all {
                    ways.iter_mut().for_each(|way| way.over = true);
                } else {
                    way.to.shut_down_writing();
                }
                let [_, requests] = &ways;
                if requests.over
                    && let Some(at_end) = at_end.take()
                {
                    at_end();
                }
            }
            let waited = match any {
                true => {
                    spin_wait.seen();
                    Ok(())
                }
                false => spin_wait.wait(
                    ways.iter()
                        .filter(|way| !way.over)
                        .map(RelayDirection::awaits),
                ),
            };
            if let Err(error) = waited {
                let by = EndedBy::Client;
                first.get_or_insert(ConnectionEnd {
                    by,
                    error: Some(error),
                });
                break;
            }
        }
        self.connections
            .relayed(ways.iter().map(|way| way.bytes).sum());
        first.unwrap_or(ConnectionEnd {
            by: EndedBy::Client,
            error: None,
        })
    }

    fn way(&self, direction: Direction) -> RelayDirection<'_> {
        let (from, to, sender, receiver) = match direction {
            Direction::ToServer => (self.client, self.server, EndedBy::Client, EndedBy::Server),
            Direction::ToClient => (self.server, self.client, EndedBy::Server, EndedBy::Client),
        };
        RelayDirection {
            direction,
            from,
            to,
            sender,
            receiver,
            intake: Intake::new(self.buffers),
            rest: None,
            bytes: 0,
            over: false,
        }
    }

    /// Relays the bytes that are there, without waiting. True if there were any.
    fn pass(&self, way: &mut RelayDirection<'_>) -> Result<bool, DirectionEnd> {
        let &mut RelayDirection {
            direction,
            from,
            to,
            sender,
            receiver,
            ref mut intake,
            ref mut rest,
            ref mut bytes,
            ..
        } = way;
        if let Some((time, received)) = rest.take() {
            let sent =
                send(to, &received).map_err(|error| DirectionEnd::broken(receiver, error))?;
            if sent < received.bytes().len() {
                *rest = Some((time, received.after(sent)));
            } else if clock::now().since(time) >= NOTED_STALL {
                self.note_stall(time, "peer");
            }
            return Ok(sent > 0);
        }
        let received = match intake.receive(from) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            received => received.map_err(|error| DirectionEnd::broken(sender, error))?,
        };
        let time = clock::now();
        let len = received.bytes().len();
        if len == 0 {
            return Err(DirectionEnd {
                // Only half is over where the peer merely ended its own direction.
                all: from.is_hung_up(),
                end: ConnectionEnd {
                    by: sender,
                    error: None,
                },
            });
        }
        *bytes += len as u64;
        self.look(time, direction, received.bytes());
        // The block goes to the trace before it is sent, so that no answer can precede it.
        let fds = received.fds.len();
        self.tap
            .crossed(time, direction, received.bytes(), fds, &(0..0));
        let sent = send(to, &received).map_err(|error| DirectionEnd::broken(receiver, error))?;
        if sent < len {
            *rest = Some((time, received.after(sent)));
        }
        self.await_queue();
        Ok(true)
    }

    /// Looks at the client's stack before an answer is sent, where stacks are wanted.
    pub(crate) fn look(&self, time: Timestamp, direction: Direction, bytes: &[u8]) {
        if let Some(stacks) = &self.stacks {
            match direction {
                Direction::ToServer => stacks.asks(time),
                Direction::ToClient => stacks.answered(time, bytes),
            }
        }
    }

    /// Waits while the recorder's queue is full.
    pub(crate) fn await_queue(&self) {
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

impl<'a> RelayDirection<'a> {
    /// The condition for more work: room for the rest, or else input.
    fn awaits(&self) -> (&'a Socket, PollFlags) {
        match &self.rest {
            Some(_) => (self.to, PollFlags::OUT),
            None => (self.from, PollFlags::IN),
        }
    }
}

/// Sends the bytes that the receiver takes now.
fn send(to: &Socket, received: &Received<'_, '_>) -> io::Result<usize> {
    match to.send(received.bytes(), &received.fds, Wait::No) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        sent => sent,
    }
}

impl DirectionEnd {
    pub(crate) fn broken(by: EndedBy, error: io::Error) -> DirectionEnd {
        // These are how the end of a killed process looks from a socket.
        let killed = [Errno::PIPE, Errno::CONNRESET, Errno::NOTCONN];
        let orderly = Errno::from_io_error(&error).is_some_and(|e| killed.contains(&e));
        let error = match orderly {
            true => io::Error::from(io::ErrorKind::ConnectionReset),
            false => error,
        };
        DirectionEnd {
            all: true,
            end: ConnectionEnd {
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
