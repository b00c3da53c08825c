//! The relay of a connection with rewrites: it passes the rewriter's output instead of the bytes.
//!
//! The trace has the bytes that the client sent and received.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::PollFlags;
use x11prof_protocol::ByteOrder;
use x11prof_trace::Direction;

use super::TriedRewrites;
use super::rewriter::Rewriter;
use crate::clock;
use crate::relay::{ConnectionEnd, DirectionEnd, EndedBy, Relay};
use crate::sockets::socket::{Socket, Wait};
use crate::sockets::spin_wait::SpinWait;

/// Bytes of a read: as much as an ordinary relay takes at once of a sender that does not stop.
const READ: usize = 256 << 10;
/// The bytes of unread answers from which on no more requests are taken from a client.
const UNREAD: usize = 1 << 20;

/// A connection on its way through us, changed.
pub(crate) struct RewritingRelay<'a> {
    pub(crate) relay: Relay<'a>,
    pub(crate) tried: &'a TriedRewrites,
    pub(crate) order: ByteOrder,
}

/// Bytes that a peer has still to take.
#[derive(Default)]
struct Outbox {
    parcels: VecDeque<(Vec<u8>, Vec<OwnedFd>)>,
    /// The bytes of the first entry that the peer has taken.
    taken: usize,
    bytes: usize,
    /// Descriptors that came with bytes which are held back: they go with the next.
    fds: Vec<OwnedFd>,
}

impl Outbox {
    fn add(&mut self, bytes: Vec<u8>, fds: Vec<OwnedFd>) {
        self.fds.extend(fds);
        if !bytes.is_empty() {
            self.bytes += bytes.len();
            self.parcels
                .push_back((bytes, std::mem::take(&mut self.fds)));
        }
    }

    fn is_empty(&self) -> bool {
        self.parcels.is_empty()
    }

    /// Sends the bytes that `to` takes now; true if there were any.
    fn send(&mut self, to: &Socket) -> io::Result<bool> {
        let mut any = false;
        while let Some((bytes, fds)) = self.parcels.front_mut() {
            let rest = bytes.get(self.taken..).unwrap_or_default();
            let sent = match to.send(rest, fds, Wait::No) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(any),
                sent => sent?,
            };
            any = true;
            // They went with the first byte.
            fds.clear();
            self.taken += sent;
            self.bytes -= sent;
            if self.taken < bytes.len() {
                return Ok(any);
            }
            self.taken = 0;
            self.parcels.pop_front();
        }
        Ok(any)
    }
}

/// The state of a relay that runs.
struct RelayState<'a> {
    of: &'a RewritingRelay<'a>,
    rewriter: Rewriter<'a>,
    room: Vec<u8>,
    to_server: Outbox,
    to_client: Outbox,
    /// The client, and the server, say nothing more.
    over: [bool; 2],
    relayed: u64,
}

impl RewritingRelay<'_> {
    /// Relays until the connection has ended; `at_end` as in [`Relay::run`].
    pub(crate) fn run(&self, at_end: impl FnOnce()) -> ConnectionEnd {
        let mut run = RelayState {
            of: self,
            rewriter: Rewriter::new(&self.tried.rewrites, self.tried.opcodes, self.order),
            room: vec![0; READ],
            to_server: Outbox::default(),
            to_client: Outbox::default(),
            over: [false; 2],
            relayed: 0,
        };
        let mut spin_wait = SpinWait::new(&self.relay.connections.looking);
        let mut at_end = Some(at_end);
        let mut first = None;
        while run.over != [true, true] {
            let mut note = |ended: DirectionEnd, over: &mut [bool; 2], way: usize| {
                first.get_or_insert(ended.end);
                over[way] = true;
                if ended.all {
                    *over = [true, true];
                }
            };
            let mut any = false;
            for way in [1, 0] {
                if run.over == [true, true] {
                    break;
                }
                match run.pass(way) {
                    Ok(passed) => any |= passed,
                    Err(ended) => {
                        any = true;
                        note(ended, &mut run.over, way);
                    }
                }
                if run.over[0]
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
                false => spin_wait.wait(run.awaits().into_iter().flatten()),
            };
            if let Err(error) = waited {
                first.get_or_insert(ConnectionEnd {
                    by: EndedBy::Client,
                    error: Some(error),
                });
                break;
            }
        }
        self.relay.connections.relayed(run.relayed);
        self.tried.add(run.rewriter.counts);
        first.unwrap_or(ConnectionEnd {
            by: EndedBy::Client,
            error: None,
        })
    }
}

impl<'a> RelayState<'a> {
    /// Sends the waiting bytes of a way (0 from the client, 1 from the server). If its receiver has taken all, reads
    /// from its sender. True if any bytes moved.
    fn pass(&mut self, way: usize) -> Result<bool, DirectionEnd> {
        let &Relay { client, server, .. } = &self.of.relay;
        let sent = self.to_server.send(server);
        let mut any = sent.map_err(|error| DirectionEnd::broken(EndedBy::Server, error))?;
        let sent = self.to_client.send(client);
        any |= sent.map_err(|error| DirectionEnd::broken(EndedBy::Client, error))?;
        if self.over[way] || !self.takes(way) {
            return Ok(any);
        }
        let (from, sender) = match way {
            0 => (client, EndedBy::Client),
            _ => (server, EndedBy::Server),
        };
        let (len, fds) = match from.receive(&mut self.room, Wait::No) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(any),
            received => received.map_err(|error| DirectionEnd::broken(sender, error))?,
        };
        if len == 0 {
            let all = from.is_hung_up();
            self.finish(way, all);
            return Err(DirectionEnd {
                all,
                end: ConnectionEnd {
                    by: sender,
                    error: None,
                },
            });
        }
        self.relayed += len as u64;
        let (time, tap) = (clock::now(), self.of.relay.tap);
        let bytes = self.room.get(..len).unwrap_or_default();
        let (mut for_server, mut for_client) = (Vec::new(), Vec::new());
        let mut fds_for = [Vec::new(), Vec::new()];
        match way {
            0 => {
                self.of.relay.look(time, Direction::ToServer, bytes);
                tap.crossed(time, Direction::ToServer, bytes, fds.len(), &(0..0));
                self.rewriter
                    .client_says(bytes, &mut for_server, &mut for_client);
                fds_for[0] = fds;
            }
            _ => {
                self.rewriter.server_says(bytes, &mut for_client);
                fds_for[1] = fds;
            }
        }
        let [server_fds, client_fds] = fds_for;
        if !for_client.is_empty() {
            self.of.relay.look(time, Direction::ToClient, &for_client);
            let fds = client_fds.len() + self.to_client.fds.len();
            tap.crossed(time, Direction::ToClient, &for_client, fds, &(0..0));
        }
        self.to_server.add(for_server, server_fds);
        self.to_client.add(for_client, client_fds);
        self.to_server
            .send(server)
            .map_err(|error| DirectionEnd::broken(EndedBy::Server, error))?;
        self.to_client
            .send(client)
            .map_err(|error| DirectionEnd::broken(EndedBy::Client, error))?;
        self.of.relay.await_queue();
        Ok(true)
    }

    /// True if more may be read of a way.
    fn takes(&self, way: usize) -> bool {
        match way {
            0 => self.to_server.is_empty() && self.to_client.bytes < UNREAD,
            _ => self.to_client.is_empty(),
        }
    }

    /// Ends a way whose sender sends nothing more: the held bytes go, and the receiver is told. If `all` is over, the
    /// receiver is not told yet, as in [`Relay::run`].
    fn finish(&mut self, way: usize, all: bool) {
        let Relay {
            client,
            server,
            tap,
            ..
        } = &self.of.relay;
        let (held, to) = match way {
            0 => (self.rewriter.end_of_client(), server),
            _ => (self.rewriter.end_of_server(), client),
        };
        // An incomplete message is of no use, but the sender sent it.
        let waits = match way {
            0 => &self.to_server,
            _ => &self.to_client,
        };
        if waits.is_empty() && !held.is_empty() {
            if way == 1 {
                tap.crossed(clock::now(), Direction::ToClient, &held, 0, &(0..0));
            }
            let _ = to.send(&held, &[], Wait::No);
        }
        if !all {
            to.shut_down_writing();
        }
    }

    /// The condition for more work.
    fn awaits(&self) -> [Option<(&'a Socket, PollFlags)>; 4] {
        let &Relay { client, server, .. } = &self.of.relay;
        let reads = |way: usize| (!self.over[way] && self.takes(way)).then_some(PollFlags::IN);
        [
            (!self.to_server.is_empty()).then_some((server, PollFlags::OUT)),
            (!self.to_client.is_empty()).then_some((client, PollFlags::OUT)),
            reads(0).map(|flags| (client, flags)),
            reads(1).map(|flags| (server, flags)),
        ]
    }
}
