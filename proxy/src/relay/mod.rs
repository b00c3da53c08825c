//! The relay of one connection: passes bytes and descriptors in both directions as they arrive.
//!
//! The relay decodes nothing (`wait_stacks` looks only for a reply's first byte) and never waits for the disk. One
//! thread serves all connections ([`event_loop`]), and no direction waits for another. The relay keeps bytes that a
//! peer does not accept, and reads more only after the peer has accepted them. With rewrites ([`rewrites`]) the relay
//! sends the rewriter's output instead; the trace contains the bytes that the client sent and received.

pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod event_loop;
pub(crate) mod network_emulator;
pub(crate) mod rewrites;
pub(crate) mod setup_handshake;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use x11prof_trace::{Control, Direction, Timestamp};

use crate::capture::wait_stacks::ClientStacks;
use crate::clock;
use crate::recorder::connection_recorder::ConnectionRecorder;
use crate::relay::rewrites::Counts;
use crate::relay::rewrites::rewriter::Rewriter;
use crate::sockets::buffer::{Intake, LargeBuffers, Received};
use crate::sockets::passed_fds::PassedFds;
use crate::sockets::socket::{Socket, Wait};

/// Stalls of a peer longer than this are recorded. Shorter stalls are normal: a full socket buffer slows down every
/// fast sender.
const NOTED_STALL: Duration = Duration::from_millis(5);
/// If a client has not read this many bytes, the relay does not read the client's requests either, because a rewriter
/// may reply to them.
const UNREAD: usize = 1 << 20;

/// A server may take this long to read the last requests of a client that has ended.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// A connection to relay: its two sockets, and the recorder of its bytes.
pub(crate) struct Relay<'a> {
    copy: RecordedCopy<'a>,
    /// The direction to the client, and the direction to the server.
    ways: [RelayDirection<'a>; 2],
    rewriter: Option<Rewriter<'a>>,
    /// The end of the direction that ended first; `None` while both directions continue.
    first_end: Option<ConnectionEnd>,
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

impl ConnectionEnd {
    /// The end of a connection that the recorder cannot relay.
    pub(crate) fn failed(error: io::Error) -> ConnectionEnd {
        ConnectionEnd {
            by: EndedBy::Client,
            error: Some(error),
        }
    }
}

/// One direction of the connection.
struct RelayDirection<'a> {
    direction: Direction,
    from: Arc<Socket>,
    to: Arc<Socket>,
    sender: EndedBy,
    receiver: EndedBy,
    intake: Intake<'a>,
    /// The bytes that the receiver has not accepted, with the times of their reads.
    waiting: VecDeque<(Timestamp, Received<'a, 'a>)>,
    /// Descriptors that arrived with bytes which the rewriter holds back.
    held_fds: PassedFds,
    /// The number of bytes relayed so far.
    bytes: u64,
    /// The time at which bytes were first discarded because the client has ended, and since which the server has read
    /// none of the client's last bytes.
    discards_since: Option<Timestamp>,
    over: bool,
}

/// The end of one direction.
struct DirectionEnd {
    /// True if both directions are over.
    all: bool,
    end: ConnectionEnd,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(
        [client, server]: [&Arc<Socket>; 2],
        recorder: ConnectionRecorder<'a>,
        buffers: &'a LargeBuffers,
        stacks: Option<ClientStacks>,
        rewriter: Option<Rewriter<'a>>,
    ) -> Relay<'a> {
        let way = |direction, from, to, [sender, receiver]: [EndedBy; 2]| RelayDirection {
            direction,
            from: Arc::clone(from),
            to: Arc::clone(to),
            sender,
            receiver,
            intake: Intake::new(buffers),
            waiting: VecDeque::new(),
            held_fds: PassedFds::default(),
            bytes: 0,
            discards_since: None,
            over: false,
        };
        let [of_client, of_server] = [EndedBy::Client, EndedBy::Server];
        Relay {
            copy: RecordedCopy { recorder, stacks },
            ways: [
                way(Direction::ToClient, server, client, [of_server, of_client]),
                way(Direction::ToServer, client, server, [of_client, of_server]),
            ],
            rewriter,
            first_end: None,
        }
    }

    /// Relays the available bytes of the direction `at` without waiting. Calls `has_read` after bytes were read and
    /// before they are sent. Returns the connection's end when both directions are over. Both sockets stay open: if the
    /// server noticed the end before it is recorded, the server's messages to other clients about the end
    /// (DestroyNotify) would be recorded first.
    pub(crate) fn pass(&mut self, at: usize, has_read: impl FnOnce()) -> Option<ConnectionEnd> {
        if self.ways[at].over {
            return None;
        }
        let DirectionEnd { all, end } = self.pass_bytes(at, has_read).err()?;
        self.first_end.get_or_insert(end);
        self.ways[at].over = true;
        match all {
            true => self.end(),
            false => self.ways[at].to.shut_down_writing(),
        }
        match self.ways.iter().all(|way| way.over) {
            true => self.first_end.take(),
            false => None,
        }
    }

    /// Ends both directions.
    pub(crate) fn end(&mut self) {
        self.ways.iter_mut().for_each(|way| way.over = true);
    }

    /// The socket to the client (0) or to the server (1).
    pub(crate) fn socket(&self, side: usize) -> &Socket {
        &self.ways[side].to
    }

    /// The events of both sockets with which the relay can continue: space for waiting bytes, and input.
    pub(crate) fn interests(&self) -> [EventFlags; 2] {
        let [to_client, to_server] = &self.ways;
        [(to_client, to_server), (to_server, to_client)].map(|(to, from)| {
            let mut flags = EventFlags::empty();
            flags.set(EventFlags::OUT, !to.over && !to.waiting.is_empty());
            flags.set(EventFlags::IN, !from.over && from.may_read(to));
            flags
        })
    }

    /// The number of requests that each rewrite changed.
    pub(crate) fn counts(&self) -> Counts {
        self.rewriter
            .as_ref()
            .map(|rewriter| rewriter.counts)
            .unwrap_or_default()
    }

    /// The number of bytes that were relayed.
    pub(crate) fn bytes(&self) -> u64 {
        self.ways.iter().map(|way| way.bytes).sum()
    }

    fn pass_bytes(&mut self, at: usize, has_read: impl FnOnce()) -> Result<(), DirectionEnd> {
        let Relay {
            copy,
            ways,
            rewriter,
            ..
        } = self;
        let [to_client, to_server] = &mut *ways;
        let (way, other) = match at {
            0 => (to_client, to_server),
            _ => (to_server, to_client),
        };
        if let Some((time, received)) = way.waiting.pop_front() {
            let sent = send(&way.to, way.receiver, &received, &mut way.discards_since)?;
            if sent > 0 {
                other.discards_since = None;
            }
            if sent < received.bytes().len() {
                way.waiting.push_front((time, received.after(sent)));
            } else if rewriter.is_none() && clock::now().since(time) >= NOTED_STALL {
                copy.note_stall(time, "peer");
            }
            return Ok(());
        }
        if !way.may_read(other) {
            return Ok(());
        }
        let (direction, sender) = (way.direction, way.sender);
        // A client that waits for room to write runs on during the read, so this is the time before it.
        let before = (direction == Direction::ToServer).then(clock::now);
        let mut received = match way.intake.receive(&way.from) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            received => received.map_err(|error| DirectionEnd::broken(sender, error))?,
        };
        let time = before.unwrap_or_else(clock::now);
        has_read();
        let len = received.bytes().len();
        if len == 0 {
            if let Some(rewriter) = rewriter {
                copy.send_held(direction, &way.to, rewriter);
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
                copy.record(time, direction, &mut received);
                let waiting = (&mut way.waiting, &mut way.discards_since);
                deliver(&way.to, way.receiver, waiting, time, received)?;
            }
            Some(rewriter) => {
                let (mut for_server, mut for_client) = (Vec::new(), Vec::new());
                match direction {
                    Direction::ToServer => {
                        copy.record(time, direction, &mut received);
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
                way.held_fds.0.append(&mut received.fds.0);
                drop(received);
                for (way, bytes) in ways.iter_mut().zip([for_client, for_server]) {
                    if bytes.is_empty() || way.over {
                        continue;
                    }
                    let mut output = Received::copied(bytes, std::mem::take(&mut way.held_fds));
                    if way.direction == Direction::ToClient {
                        copy.record(time, way.direction, &mut output);
                    }
                    let waiting = (&mut way.waiting, &mut way.discards_since);
                    deliver(&way.to, way.receiver, waiting, time, output)?;
                }
            }
        }
        copy.await_queue();
        Ok(())
    }
}

/// The copy of a connection's bytes for the recorder.
struct RecordedCopy<'a> {
    recorder: ConnectionRecorder<'a>,
    /// Copies the client's stack while the client waits for a reply; `None` if stacks of waits are not recorded.
    stacks: Option<ClientStacks>,
}

impl RecordedCopy<'_> {
    /// Records bytes. Call this before the bytes are sent, so that no reply can precede its request in the trace.
    fn record(&mut self, time: Timestamp, direction: Direction, received: &mut Received<'_, '_>) {
        if let Some(stacks) = &self.stacks {
            match direction {
                Direction::ToServer => stacks.asks(time),
                Direction::ToClient => stacks.answered(time, received.bytes()),
            }
        }
        let fds = received.fds.0.len();
        self.recorder
            .crossed(time, direction, received.bytes_mut(), fds, &(0..0));
    }

    /// Sends the bytes that the rewriter holds back, after their sender has ended. An incomplete message is useless,
    /// but the receiver would also get it without the recorder.
    fn send_held(&mut self, direction: Direction, to: &Socket, rewriter: &mut Rewriter<'_>) {
        let mut held = Received::copied(rewriter.end(direction), PassedFds::default());
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

impl RelayDirection<'_> {
    /// True if the relay may read more bytes. `other` is the other direction, in which a rewriter may add replies.
    fn may_read(&self, other: &RelayDirection<'_>) -> bool {
        let unread = |(_, received): &(Timestamp, Received<'_, '_>)| received.bytes().len();
        self.waiting.is_empty()
            && (self.direction == Direction::ToClient
                || other.over
                || other.waiting.iter().map(unread).sum::<usize>() < UNREAD)
    }
}

/// Sends the bytes that the receiver accepts now. Returns their number. Bytes for a client that has ended are discarded,
/// because its last requests still go to the server, unless the server no longer reads them.
fn send(
    to: &Socket,
    receiver: EndedBy,
    received: &Received<'_, '_>,
    discards_since: &mut Option<Timestamp>,
) -> Result<usize, DirectionEnd> {
    match to.send(received.bytes(), &received.fds.0, Wait::No) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(_)
            if receiver == EndedBy::Client
                && to.is_hung_up()
                && let now = clock::now()
                && now.since(*discards_since.get_or_insert(now)) < END_PATIENCE =>
        {
            Ok(received.bytes().len())
        }
        sent => sent.map_err(|error| DirectionEnd::broken(receiver, error)),
    }
}

/// Sends the bytes that the receiver accepts now, unless earlier bytes wait. Adds the remaining bytes to `waiting`.
fn deliver<'a>(
    to: &Socket,
    receiver: EndedBy,
    (waiting, discards_since): (
        &mut VecDeque<(Timestamp, Received<'a, 'a>)>,
        &mut Option<Timestamp>,
    ),
    time: Timestamp,
    received: Received<'_, 'a>,
) -> Result<(), DirectionEnd> {
    let sent = match waiting.is_empty() {
        true => send(to, receiver, &received, discards_since)?,
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
