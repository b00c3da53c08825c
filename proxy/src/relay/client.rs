//! The handling of a client from its acceptance to its end. An error ends only the client's connection.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc as blocking};
use std::thread::Builder;
use std::time::Duration;

use rustix::process::geteuid;
use tokio::sync::mpsc;
use x11prof_trace::{ConnectionId, Control, Direction, Opened, Timestamp};

use crate::capture::peers;
use crate::capture::scheduling::Scheduling;
use crate::capture::stack_unwinding::StackQueue;
use crate::capture::wait_stacks::ClientStacks;
use crate::clock;
use crate::display::authority::Cookie;
use crate::display::server_link::ServerLink;
use crate::display::setup_exchange;
use crate::notice::Notice;
use crate::processes::peer::Peer;
use crate::processes::process_info::{self, ProcessInfo};
use crate::processes::tcp_peer;
use crate::recorder::Disk;
use crate::recorder::client_processes::ClientProcesses;
use crate::recorder::connection_recorder::ConnectionRecorder;
use crate::recorder::images::ImageRequests;
use crate::recorder::record_queue::RecordSender;
use crate::relay::connections::Connections;
use crate::relay::event_loop::{self, EventSource, NewConnections};
use crate::relay::network_emulator::{NetworkEmulator, SharedLink};
use crate::relay::rewrites::TriedRewrites;
use crate::relay::rewrites::rewriter::Rewriter;
use crate::relay::setup_handshake::{SetUpClient, SetupEnd, SetupHandshake};
use crate::relay::{ConnectionEnd, END_PATIENCE, EndedBy, Relay};
use crate::sockets::buffer::LargeBuffers;
use crate::sockets::socket::{Socket, Wait};

/// Connections that are cut off may take this long to end. The recorder does not wait for a client that is still
/// connecting to an unresponsive server.
const CUT_OFF_PATIENCE: Duration = Duration::from_secs(1);

/// The stack size of a connection's thread in bytes. Looking up a server's host name uses most of it.
const STACK: usize = 512 << 10;

/// The display that the recorder serves, with the state that all connections share.
pub(crate) struct Display {
    pub(crate) link: ServerLink,
    /// The cookie of the served display, which clients must send.
    pub(crate) cookie: Cookie,
    /// True if clients of other users are also accepted.
    pub(crate) any_user: bool,
    /// True after the user was notified that a client of another user was refused.
    pub(crate) refused_other_user: AtomicBool,
    pub(crate) disk: Disk,
    pub(crate) sender: RecordSender,
    pub(crate) scheduling: Arc<Scheduling>,
    pub(crate) processes: Arc<ClientProcesses>,
    /// The server's requests that contain images, or whose replies contain images.
    pub(crate) images: ImageRequests,
    /// The emulated network between the recorder and the server; `None` without `record --net`.
    pub(crate) lines: Option<SharedLink>,
    /// The changes of requests to try; usually none.
    pub(crate) tried: TriedRewrites,
    pub(crate) notices: mpsc::UnboundedSender<Notice>,
    pub(crate) connections: Connections,
    /// The number of connections without a valid setup. Only the first one is announced: any process can connect.
    pub(crate) failed_setups: AtomicU32,
    /// The connections that are to be relayed.
    pub(crate) relays: NewConnections<Introduced>,
    /// The queue for the stacks of clients that wait; `None` if they were not requested.
    pub(crate) wait_stacks: Option<StackQueue>,
    /// True after the user was notified of a client whose stacks cannot be inspected.
    pub(crate) no_stacks: AtomicBool,
}

/// Warning for the first refused client.
const REFUSED_OTHER_USER: &str =
    "refused a client of another user; --all-users accepts such clients if they have the cookie";

/// The reason for ending connections that are open at the end.
const CUT_OFF: &str = "the recording ended";

/// The transport of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Unix,
    Abstract,
    Tcp,
}

impl Transport {
    /// The transport's name in the trace.
    fn name(self) -> &'static str {
        match self {
            Transport::Unix => "unix",
            Transport::Abstract => "abstract",
            Transport::Tcp => "tcp",
        }
    }

    pub(crate) fn is_local(self) -> bool {
        self != Transport::Tcp
    }
}

impl Display {
    /// Serves an accepted connection on a separate thread, to the end of the connection.
    pub(crate) fn take(
        self: &Arc<Display>,
        stream: OwnedFd,
        transport: Transport,
    ) -> io::Result<()> {
        if !self.takes(&stream, transport) {
            // The check comes before a thread or a record is created for the client, because any process can connect.
            if !self.refused_other_user.swap(true, Ordering::Relaxed) {
                self.tell(Notice::Trouble(REFUSED_OTHER_USER.to_owned()));
            }
            return Ok(());
        }
        let connection = self.connections.open(transport.is_local());
        let display = Arc::clone(self);
        let thread = Builder::new().name("x11prof-client".to_owned());
        let spawned = thread.stack_size(STACK).spawn(move || {
            let _closing = ConnectionCloser(&display.connections, connection);
            display.serve(connection, stream, transport);
        });
        if spawned.is_err() {
            self.connections.close(connection);
        }
        spawned.map(|_| ())
    }

    fn serve(&self, connection: ConnectionId, stream: OwnedFd, transport: Transport) {
        let peer = transport.is_local().then(|| Peer::of(&stream)).flatten();
        let mut arrival = Arrival {
            connection,
            time: clock::now(),
            transport,
            pid: peer.and_then(|peer| peer.pid),
            same_user: peer.is_some_and(|peer| peer.uid == geteuid().as_raw()),
            is_announced: true,
        };
        let (mut server, mut emulator) = (None, None);
        let (by, why) = match Socket::new(stream) {
            Ok(client) => {
                let client = self.connections.share(connection, client);
                match self.introduce(&mut arrival, &client, &mut emulator) {
                    Ok(set_up) => {
                        server = Some(Arc::clone(&set_up.server));
                        self.relay(&arrival, client, set_up)
                    }
                    Err((by, why)) => self.note_closed(connection, by, Some(why)),
                }
            }
            Err(error) => {
                self.note_arrival(&arrival);
                self.note_closed(connection, "error", Some(error.to_string()))
            }
        };
        // The process that opened the connection may have passed it to a child. If the process is ending, its CPU
        // clock can be read for the last time now.
        let pid = self.connections.process_of(connection);
        self.note_end(pid);
        if let Some(pid) = pid {
            self.scheduling.leave(pid);
        }
        if arrival.is_announced {
            self.tell(Notice::Disconnected {
                connection,
                by: by.to_owned(),
                why,
            });
        }
        if let Some(server) = server {
            server.await_hang_up(END_PATIENCE);
        }
        if let Some(emulator) = emulator {
            emulator.finish();
        }
    }

    /// Looks up the client's process, records the client, and starts to watch the process.
    fn note_arrival(&self, arrival: &Arrival) {
        let &Arrival {
            connection,
            time,
            transport,
            pid,
            is_announced,
            ..
        } = arrival;
        self.connections.note_process(connection, pid);
        // Command lines may be long, and there may be many connections, so wait for space in the queue.
        self.sender.await_room();
        let process = pid.map(ProcessInfo::of).unwrap_or_default();
        self.sender.control(
            time,
            Control::Opened(Opened {
                connection,
                transport: transport.name().to_owned(),
                pid,
                name: process.name.clone(),
                command: process.command,
                started_ns: process.started_ns,
            }),
        );
        if let Some(pid) = pid {
            self.scheduling.watch(pid);
        }
        if is_announced {
            self.tell(Notice::Connected {
                connection,
                pid,
                name: process.name,
            });
        }
    }

    /// Finds connections whose processes have ended, and the processes that have them open now, such as child processes.
    pub(crate) fn follow_processes(&self) {
        for (connection, ended, client) in self.connections.with_processes() {
            if !process_info::has_ended(ended) {
                continue;
            }
            let pid = peers::connected_process(&*client);
            if let Some(pid) = pid {
                let moved = Control::Moved { connection, pid };
                self.sender.control(clock::now(), moved);
                self.scheduling.watch(pid);
            }
            self.scheduling.leave(ended);
            self.connections.note_process(connection, pid);
        }
    }

    /// Ends the connections that are still open, and records their ends.
    pub(crate) fn end(&self) {
        self.connections.cut_off();
        self.sender.hurry();
        for (connection, pid) in self.connections.await_none(CUT_OFF_PATIENCE) {
            self.note_end(pid);
            self.note_closed(connection, "error", None);
        }
        self.relays.close();
    }

    fn stacks_of(&self, arrival: &Arrival) -> Option<ClientStacks> {
        let queue = self.wait_stacks.clone()?;
        match ClientStacks::of(queue, arrival.connection, arrival.pid) {
            Ok(stacks) => Some(stacks),
            Err(why) => {
                if !self.no_stacks.swap(true, Ordering::Relaxed) {
                    let client = arrival.connection.0;
                    self.tell(Notice::Trouble(format!(
                        "no stacks of client {client}: {why}"
                    )));
                }
                None
            }
        }
    }

    /// Records the end of a connection. Returns the side that ended it, and the reason if there is one.
    fn note_closed(
        &self,
        connection: ConnectionId,
        by: &'static str,
        why: Option<String>,
    ) -> ClosedBy {
        let (by, why) = match self.connections.are_cut_off() {
            true => ("error", Some(CUT_OFF.to_owned())),
            false => (by, why),
        };
        let closed = Control::Closed {
            connection,
            by: by.to_owned(),
            why: why.clone(),
        };
        self.sender.control(clock::now(), closed);
        (by, why)
    }

    /// Records a problem in the trace and reports it to the user.
    pub(crate) fn trouble(&self, what: String) {
        let noted = Control::Trouble { what: what.clone() };
        self.sender.control(clock::now(), noted);
        self.tell(Notice::Trouble(what));
    }

    fn tell(&self, notice: Notice) {
        // Nothing receives notices while the recording is being closed.
        let _ = self.notices.send(notice);
    }

    /// Forwards the setup to the server. The error is the side that ended the connection, and the reason.
    fn introduce(
        &self,
        arrival: &mut Arrival,
        client: &Socket,
        emulator: &mut Option<NetworkEmulator>,
    ) -> Result<SetUpClient, (&'static str, String)> {
        let handshake = SetupHandshake {
            link: &self.link,
            cookie: &self.cookie,
            same_user: arrival.same_user,
            lines: self.lines.clone(),
            connections: &self.connections,
        };
        let introduced = handshake.run(arrival.connection, client, emulator);
        self.connections.introduced(arrival.connection);
        // The process of an unauthorized client is not looked up: the search takes milliseconds.
        if arrival.transport == Transport::Tcp && introduced.is_ok() {
            arrival.pid = tcp_peer::process_at(client);
        }
        let is_first = || self.failed_setups.fetch_add(1, Ordering::Relaxed) == 0;
        arrival.is_announced = introduced.is_ok() || is_first();
        // The server has the setup now, and processes it meanwhile. The client waits for the reply, so it has probably
        // not ended yet.
        self.note_arrival(arrival);
        match introduced {
            Ok(set_up) => Ok(set_up),
            Err(SetupEnd::Gone(why)) => Err(("client", why)),
            Err(SetupEnd::Refused(order, why)) => {
                match order {
                    Some(order) => {
                        let reply = setup_exchange::failure(order, &format!("x11prof: {why}\n"));
                        // Nothing was sent before, so the socket has space for the reply.
                        let _ = client.send(&reply, &[], Wait::No);
                    }
                    // A peer that sends no valid byte order is not an X client. The X server would also read what has
                    // arrived and close the connection. Unread bytes would reset it.
                    None => _ = client.receive(&mut [0; 4096], Wait::No),
                }
                Err(("refused", why))
            }
        }
    }

    /// Passes a connection to the relay, and waits for the connection's end. Returns the side that ended it, and the
    /// reason if there is one.
    fn relay(&self, arrival: &Arrival, client: Arc<Socket>, set_up: SetUpClient) -> ClosedBy {
        let (closed, end) = blocking::channel();
        self.relays.send(Introduced {
            connection: arrival.connection,
            pid: arrival.pid,
            client,
            set_up,
            stacks: self.stacks_of(arrival),
            closed,
        });
        // The channel closes without a result if the recording has ended.
        end.recv().unwrap_or(("error", Some(CUT_OFF.to_owned())))
    }

    /// Relays all connections until the recording ends. Runs on a separate thread.
    pub(crate) fn relay_all(&self, source: EventSource<Introduced>) {
        let (kept, buffers) = (RefCell::default(), LargeBuffers::default());
        let begin = |new: Introduced| {
            let Introduced {
                connection,
                pid,
                client,
                set_up,
                stacks,
                closed,
            } = new;
            let SetUpClient {
                server,
                mut setup,
                cookie,
                order,
                time,
            } = set_up;
            let mut recorder = ConnectionRecorder::new(
                connection,
                &self.sender,
                &kept,
                self.images,
                &self.processes,
                pid,
            );
            recorder.crossed(time, Direction::ToServer, &mut setup, 0, &cookie);
            let tried = &self.tried;
            let rewriter =
                (!tried.is_none()).then(|| Rewriter::new(&tried.rewrites, tried.opcodes, order));
            let relay = Relay::new([&client, &server], recorder, &buffers, stacks, rewriter);
            ((connection, server, closed), relay)
        };
        event_loop::run(source, begin, |(connection, server, closed), relay, end| {
            let ConnectionEnd { by, error } = end;
            let by = match by {
                EndedBy::Client => "client",
                EndedBy::Server => "server",
            };
            self.connections.relayed(relay.bytes());
            self.tried.add(relay.counts());
            let reason = self.note_closed(connection, by, error.map(|error| error.to_string()));
            // Other clients may already use the display because they know that this client has ended. So nothing slow
            // may come before the server receives the end of the connection.
            server.end();
            // The send succeeds, because the connection's thread waits for the result.
            let _ = closed.send(reason);
        });
    }

    /// Records the CPU time of a client at its end.
    fn note_end(&self, pid: Option<u32>) {
        if let Some(pid) = pid {
            self.scheduling.note_cpu_time(pid);
        }
    }

    /// True if the client is accepted. Only this user can read the cookie's file and open the sockets. For TCP only the
    /// cookie decides.
    fn takes(&self, stream: &OwnedFd, transport: Transport) -> bool {
        let may_come = |peer: Peer| same_user(peer.uid, geteuid().as_raw());
        !transport.is_local() || self.any_user || Peer::of(stream).is_some_and(may_come)
    }
}

/// An accepted connection of a client.
struct Arrival {
    connection: ConnectionId,
    /// The time at which it was accepted.
    time: Timestamp,
    transport: Transport,
    /// The id of the client's process; `None` if unknown.
    pid: Option<u32>,
    /// True if that process is of the recorder's user.
    same_user: bool,
    /// True if the user is notified of the connection.
    is_announced: bool,
}

/// A connection whose setup was forwarded.
pub(crate) struct Introduced {
    connection: ConnectionId,
    pid: Option<u32>,
    client: Arc<Socket>,
    set_up: SetUpClient,
    stacks: Option<ClientStacks>,
    /// Sends the connection's end to the connection's thread.
    closed: blocking::Sender<ClosedBy>,
}

/// The side that ended a connection, and the reason if there is one.
type ClosedBy = (&'static str, Option<String>);

/// Closes a connection when its thread ends for any reason.
struct ConnectionCloser<'a>(&'a Connections, ConnectionId);

impl Drop for ConnectionCloser<'_> {
    fn drop(&mut self) {
        self.0.close(self.1);
    }
}

fn same_user(peer: u32, ours: u32) -> bool {
    peer == ours
}

#[cfg(test)]
mod tests {
    use super::same_user;

    #[test]
    fn only_the_same_user_is_accepted() {
        assert!(same_user(1000, 1000));
        assert!(!same_user(1001, 1000));
        assert!(!same_user(0, 1000));
    }
}
