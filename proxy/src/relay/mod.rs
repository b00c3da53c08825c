//! The relay of one connection: passes bytes and descriptors in both directions as they arrive.
//!
//! The relay decodes nothing (`wait_stacks` looks only for a reply's first byte) and never waits for the disk. One
//! thread serves both directions, and neither direction waits for the other. The relay keeps bytes that a peer does not
//! accept, and reads more only after the peer has accepted them. With rewrites ([`rewrites`]) the relay sends the
//! rewriter's output instead; the trace contains the bytes that the client sent and received.

pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod network_emulator;
pub(crate) mod rewrites;
pub(crate) mod setup_handshake;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use x11prof_protocol::ByteOrder;
use x11prof_trace::{Control, Direction, Timestamp};

use crate::capture::wait_stacks::ClientStacks;
use crate::clock;
use crate::recorder::connection_recorder::ConnectionRecorder;
use crate::relay::connections::Connections;
use crate::relay::rewrites::TriedRewrites;
use crate::relay::rewrites::rewriter::Rewriter;
use crate::sockets::buffer::{Intake, LargeBuffers, Received};
use crate::sockets::socket::{Socket, Wait};
use crate::sockets::spin_wait::SpinWait;

/// Stalls of a peer longer than this are recorded. Shorter stalls are normal: a full socket buffer slows down every
/// fast sender.
const NOTED_STALL: Duration = Duration::from_millis(5);
/// If a client has not read this many bytes, its requests are not read either, because a rewriter may add replies to
/// them.
const UNREAD: usize = 1 << 20;

/// A server may take this long to read the last requests of a client that has ended.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// A connection to relay: its two sockets, and the recorder of its bytes.
pub(crate) struct Relay<'a> {
    pub(crate) client: &'a Socket,
    pub(crate) server: &'a Socket,
    pub(crate) recorder: &'a ConnectionRecorder<'a>,
    pub(crate) buffers: &'a LargeBuffers,
    /// The counters of relayed bytes, which all connections share.
    pub(crate) connections: &'a Connections,
    /// The copier of the client's stacks while it waits; `None` if these are not recorded.
    pub(crate) stacks: Option<ClientStacks>,
    /// The changes of requests to try, with the connection's byte order; `None` if there are none.
    pub(crate) rewrites: Option<(&'a TriedRewrites, ByteOrder)>,
}

/// The side that ended a relayed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Client,
    Server,
}

/// The end of a relayed connection.
#[derive(Debug)]
pub(crate) struct ConnectionEnd {
    pub(crate) by: EndedBy,
    /// The error that ended the connection; `None` for an orderly end of file.
    pub(crate) error: Option<io::Error>,
}

/// One direction of the connection.
struct RelayDirection<'a> {
    direction: Direction,
    from: &'a Socket,
    to: &'a Socket,
    sender: EndedBy,
    receiver: EndedBy,
    intake: Intake<'a>,
    /// The bytes that the receiver has not accepted, with the times of their reads.
    waiting: VecDeque<(Timestamp, Received<'a, 'a>)>,
    /// Descriptors that arrived with bytes which the rewriter holds back.
    held_fds: Vec<OwnedFd>,
    /// Bytes relayed so far.
    bytes: u64,
    over: bool,
}

/// The end of one direction.
struct DirectionEnd {
    /// True if both directions are over.
    all: bool,
    end: ConnectionEnd,
}

impl Relay<'_> {
    /// Relays until the connection ends. Both sockets stay open: if the server noticed the end before it is recorded,
    /// the server's messages to other clients about the end (DestroyNotify) would be recorded first.
    pub(crate) fn run(&self) -> ConnectionEnd {
        // After a request the next message is usually the server's.
        let mut ways = [self.way(Direction::ToClient), self.way(Direction::ToServer)];
        let rewrites = self.rewrites;
        let mut rewriter =
            rewrites.map(|(tried, order)| Rewriter::new(&tried.rewrites, tried.opcodes, order));
        let mut spin_wait = SpinWait::new(&self.connections.looking);
        let mut first = None;
        while ways.iter().any(|way| !way.over) {
            let mut any = false;
            for at in 0..ways.len() {
                if ways[at].over {
                    continue;
                }
                let DirectionEnd { all, end } = match self.pass(&mut ways, at, rewriter.as_mut()) {
                    Ok(passed) => {
                        any |= passed;
                        continue;
                    }
                    Err(ended) => ended,
                };
                any = true;
                first.get_or_insert(end);
                ways[at].over = true;
                if all {
                    ways.iter_mut().for_each(|way| way.over = true);
                } else {
                    ways[at].to.shut_down_writing();
                }
            }
            let waited = match any {
                true => {
                    spin_wait.seen();
                    Ok(())
                }
                false => {
                    let [to_client, to_server] = &ways;
                    let conditions = [to_client.awaits(to_server), to_server.awaits(to_client)];
                    spin_wait.wait(conditions.into_iter().flatten())
                }
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
        if let (Some((tried, _)), Some(rewriter)) = (rewrites, rewriter) {
            tried.add(rewriter.counts);
        }
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
            waiting: VecDeque::new(),
            held_fds: Vec::new(),
            bytes: 0,
            over: false,
        }
    }

    /// Relays the available bytes of the direction `at` without waiting. Returns true if there were any.
    fn pass(
        &self,
        ways: &mut [RelayDirection<'_>; 2],
        at: usize,
        rewriter: Option<&mut Rewriter<'_>>,
    ) -> Result<bool, DirectionEnd> {
        let [to_client, to_server] = ways;
        let (way, other) = match at {
            0 => (to_client, to_server),
            _ => (to_server, to_client),
        };
        if let Some((time, received)) = way.waiting.pop_front() {
            let sent = way.send(&received)?;
            if sent < received.bytes().len() {
                way.waiting.push_front((time, received.after(sent)));
            } else if rewriter.is_none() && clock::now().since(time) >= NOTED_STALL {
                self.note_stall(time, "peer");
            }
            return Ok(sent > 0);
        }
        if !way.may_read(other) {
            return Ok(false);
        }
        let (direction, sender) = (way.direction, way.sender);
        let mut received = match way.intake.receive(way.from) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            received => received.map_err(|error| DirectionEnd::broken(sender, error))?,
        };
        let time = clock::now();
        let len = received.bytes().len();
        if len == 0 {
            if let Some(rewriter) = rewriter {
                self.send_held(direction, way.to, rewriter);
            }
            return Err(DirectionEnd {
                // Only one direction has ended if the peer closed only its sending direction.
                all: way.from.is_hung_up(),
                end: ConnectionEnd {
                    by: sender,
                    error: None,
                },
            });
        }
        way.bytes += len as u64;
        match rewriter {
            None => {
                self.record(time, direction, &mut received);
                deliver(way.to, way.receiver, &mut way.waiting, time, received)?;
            }
            Some(rewriter) => {
                let (mut for_server, mut for_client) = (Vec::new(), Vec::new());
                match direction {
                    Direction::ToServer => {
                        self.record(time, direction, &mut received);
                        rewriter.take_from_client(
                            received.bytes(),
                            &mut for_server,
                            &mut for_client,
                        );
                    }
                    Direction::ToClient => {
                        rewriter.take_from_server(received.bytes(), &mut for_client)
                    }
                }
                way.held_fds.append(&mut received.fds);
                drop(received);
                for (way, bytes) in ways.iter_mut().zip([for_client, for_server]) {
                    if bytes.is_empty() || way.over {
                        continue;
                    }
                    let mut output = Received::copied(bytes, std::mem::take(&mut way.held_fds));
                    if way.direction == Direction::ToClient {
                        self.record(time, way.direction, &mut output);
                    }
                    deliver(way.to, way.receiver, &mut way.waiting, time, output)?;
                }
            }
        }
        self.await_queue();
        Ok(true)
    }

    /// Records bytes. This happens before they are sent, so that no reply can precede its request.
    fn record(&self, time: Timestamp, direction: Direction, received: &mut Received<'_, '_>) {
        if let Some(stacks) = &self.stacks {
            match direction {
                Direction::ToServer => stacks.asks(time),
                Direction::ToClient => stacks.answered(time, received.bytes()),
            }
        }
        let fds = received.fds.len();
        self.recorder
            .crossed(time, direction, received.bytes_mut(), fds, &(0..0));
    }

    /// Sends the bytes that the rewriter holds back after their sender has ended. An incomplete message is useless, but
    /// the sender sent it.
    fn send_held(&self, direction: Direction, to: &Socket, rewriter: &mut Rewriter<'_>) {
        let mut held = Received::copied(rewriter.end(direction), Vec::new());
        if held.bytes().is_empty() {
            return;
        }
        if direction == Direction::ToClient {
            self.record(clock::now(), direction, &mut held);
        }
        // The receiver may have disconnected.
        let _ = to.send(held.bytes(), &[], Wait::No);
    }

    /// Waits while the recorder's queue is full.
    fn await_queue(&self) {
        let queue = self.recorder.sender();
        if queue.is_full() {
            let since = clock::now();
            queue.await_room();
            let waited = clock::now().since(since).as_nanos();
            queue.waited(u64::try_from(waited).unwrap_or(u64::MAX));
            self.note_stall(since, "queue");
        }
    }

    fn note_stall(&self, since: Timestamp, cause: &str) {
        self.recorder.sender().control(
            clock::now(),
            Control::Stalled {
                connection: self.recorder.connection(),
                since_ns: since.as_nanos(),
                cause: cause.to_owned(),
            },
        );
    }
}

impl<'a> RelayDirection<'a> {
    /// True if more may be read. `other` is the other direction, in which a rewriter may add replies.
    fn may_read(&self, other: &RelayDirection<'_>) -> bool {
        let unread = |(_, received): &(Timestamp, Received<'_, '_>)| received.bytes().len();
        self.waiting.is_empty()
            && (self.direction == Direction::ToClient
                || other.over
                || other.waiting.iter().map(unread).sum::<usize>() < UNREAD)
    }

    /// The event that allows more work, if there is one: space for the waiting bytes, otherwise input.
    fn awaits(&self, other: &RelayDirection<'_>) -> Option<(&'a Socket, PollFlags)> {
        match (self.over, self.waiting.is_empty()) {
            (true, _) => None,
            (false, false) => Some((self.to, PollFlags::OUT)),
            (false, true) => self.may_read(other).then_some((self.from, PollFlags::IN)),
        }
    }

    fn send(&self, received: &Received<'_, '_>) -> Result<usize, DirectionEnd> {
        send(self.to, self.receiver, received)
    }
}

/// Sends the bytes that the receiver accepts now.
fn send(
    to: &Socket,
    receiver: EndedBy,
    received: &Received<'_, '_>,
) -> Result<usize, DirectionEnd> {
    match to.send(received.bytes(), &received.fds, Wait::No) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        sent => sent.map_err(|error| DirectionEnd::broken(receiver, error)),
    }
}

/// Sends the bytes that the receiver accepts now, after all waiting bytes. The rest waits.
fn deliver<'a>(
    to: &Socket,
    receiver: EndedBy,
    waiting: &mut VecDeque<(Timestamp, Received<'a, 'a>)>,
    time: Timestamp,
    received: Received<'_, 'a>,
) -> Result<(), DirectionEnd> {
    let sent = match waiting.is_empty() {
        true => send(to, receiver, &received)?,
        false => 0,
    };
    if sent < received.bytes().len() {
        waiting.push_back((time, received.after(sent)));
    }
    Ok(())
}

impl DirectionEnd {
    fn broken(by: EndedBy, error: io::Error) -> DirectionEnd {
        // The end of a killed process appears as one of these errors.
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
mod tests;

#[cfg(test)]
mod split_tests;
