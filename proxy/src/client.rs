//! One client from its acceptance to its end. Whatever goes wrong ends this connection alone.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::geteuid;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use x11prof_protocol::ByteOrder;
use x11prof_trace::{ConnectionId, Control, Direction, Opened};

use crate::authority::Cookie;
use crate::buffer::ReadBuffers;
use crate::clock;
use crate::connection_tap::ConnectionTap;
use crate::images::ImageRequests;
use crate::kept::KeptBytes;
use crate::notice::Notice;
use crate::peer::Peer;
use crate::process_info::ProcessInfo;
use crate::relay::{EndedBy, Relay};
use crate::scheduling::Scheduling;
use crate::server_link::ServerLink;
use crate::setup_exchange::{self, Layout, Progress, Refusal};
use crate::socket::Socket;
use crate::tap::Tap;
use crate::tcp_peer;

/// How long a client may take for its setup: as the X server (os/connection.c, TimeOutValue).
const SETUP_PATIENCE: Duration = Duration::from_secs(60);

/// How much may lie in the socket towards the server: more than the default, so that relay and
/// server run side by side on long images.
const SEND_BUFFER: usize = 1 << 20;

/// The display that we serve: what all of its connections share.
pub(crate) struct Display {
    pub(crate) link: ServerLink,
    /// Our own, which clients must show.
    pub(crate) cookie: Cookie,
    /// Other users' clients are taken as well.
    pub(crate) any_user: bool,
    pub(crate) tap: Tap,
    pub(crate) scheduling: Scheduling,
    pub(crate) buffers: ReadBuffers,
    pub(crate) kept: RefCell<KeptBytes>,
    /// What of the server's requests are images.
    pub(crate) images: ImageRequests,
    pub(crate) notices: mpsc::UnboundedSender<Notice>,
    pub(crate) counts: Counts,
}

/// How a client came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Unix,
    Abstract,
    Tcp,
}

impl Transport {
    /// Its name in the trace.
    fn name(self) -> &'static str {
        match self {
            Transport::Unix => "unix",
            Transport::Abstract => "abstract",
            Transport::Tcp => "tcp",
        }
    }

    fn is_local(self) -> bool {
        self != Transport::Tcp
    }
}

/// The counts of a recording.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) accepted: Cell<u32>,
    pub(crate) bytes: Cell<u64>,
    /// Processes of the open connections.
    pub(crate) open: RefCell<Vec<(ConnectionId, Option<u32>)>>,
    /// Told of each connection that ends.
    pub(crate) ended: Notify,
}

impl Counts {
    /// Whether no connection is open.
    pub(crate) fn none_open(&self) -> bool {
        self.open.borrow().is_empty()
    }

    /// Notes which process an open connection is of.
    fn note_process(&self, connection: ConnectionId, pid: Option<u32>) {
        let mut open = self.open.borrow_mut();
        if let Some(of) = open.iter_mut().find(|(open, _)| *open == connection) {
            of.1 = pid;
        }
    }
}

/// How a connection ended before it was relayed.
enum Early {
    /// The client went, or fell silent.
    Gone(String),
    /// It was refused, in words for it where its byte order is known.
    Refused(Option<ByteOrder>, String),
}

impl Display {
    /// Serves one accepted connection to its end.
    pub(crate) async fn serve(&self, stream: OwnedFd, transport: Transport) {
        let connection = ConnectionId(self.counts.accepted.get().saturating_add(1));
        self.counts.accepted.set(connection.0);
        let peer = transport.is_local().then(|| Peer::of(&stream)).flatten();
        self.counts.open.borrow_mut().push((connection, None));
        let pid = match peer {
            Some(peer) => peer.pid,
            None if transport.is_local() => None,
            None => process_at(&stream).await,
        };
        self.counts.note_process(connection, pid);
        let process = pid.map(ProcessInfo::of).unwrap_or_default();
        self.tap.control(
            clock::now(),
            Control::Opened(Opened {
                connection,
                transport: transport.name().to_owned(),
                pid,
                name: process.name.clone(),
                command: process.command,
            }),
        );
        if let Some(pid) = pid {
            self.scheduling.watch(pid);
        }
        self.tell(Notice::Connected {
            connection,
            pid,
            name: process.name,
        });
        let (by, why) = match Socket::new(stream) {
            Ok(client) => self.converse(connection, (peer, pid), &client).await,
            Err(error) => ("error", Some(error.to_string())),
        };
        if let Some(pid) = pid {
            self.scheduling.leave(pid);
        }
        let by = by.to_owned();
        self.tap.control(
            clock::now(),
            Control::Closed {
                connection,
                by: by.clone(),
                why: why.clone(),
            },
        );
        self.tell(Notice::Disconnected {
            connection,
            by,
            why,
        });
        self.counts
            .open
            .borrow_mut()
            .retain(|(open, _)| *open != connection);
        self.counts.ended.notify_one();
    }

    /// Notes the end of the connections that the end of the recording cuts off.
    pub(crate) fn end(&self) {
        for (connection, pid) in self.counts.open.take() {
            self.note_end(pid);
            let by = "error".to_owned();
            let why = Some("the recording ended".to_owned());
            let closed = Control::Closed {
                connection,
                by,
                why,
            };
            self.tap.control(clock::now(), closed);
        }
    }

    /// Notes trouble with the recording, in the trace and to the user.
    pub(crate) fn trouble(&self, what: String) {
        let noted = Control::Trouble { what: what.clone() };
        self.tap.control(clock::now(), noted);
        self.tell(Notice::Trouble(what));
    }

    fn tell(&self, notice: Notice) {
        // Nobody listens any more while the recording is being closed.
        let _ = self.notices.send(notice);
    }

    /// Setup, then relay. Who ended it, and why where there is more to say.
    async fn converse(
        &self,
        connection: ConnectionId,
        (peer, pid): (Option<Peer>, Option<u32>),
        client: &Socket,
    ) -> (&'static str, Option<String>) {
        let tap = ConnectionTap::new(connection, &self.tap, &self.kept, self.images);
        let server = match self.introduce(&tap, peer, client).await {
            Ok(server) => server,
            Err(Early::Gone(why)) => {
                self.note_end(pid);
                return ("client", Some(why));
            }
            Err(Early::Refused(order, why)) => {
                // Without a byte order it is no X client, and the X server would just close.
                if let Some(order) = order {
                    let reply = setup_exchange::failure(order, &format!("x11prof: {why}\n"));
                    let _ = timeout(SETUP_PATIENCE, client.send(&reply, &[])).await;
                }
                return ("refused", Some(why));
            }
        };
        let relay = Relay {
            client,
            server: &server,
            tap: &tap,
            buffers: &self.buffers,
            relayed: &self.counts.bytes,
        };
        let end = relay.run(|| self.note_end(pid)).await;
        let by = match end.by {
            EndedBy::Client => "client",
            EndedBy::Server => "server",
        };
        (by, end.error.map(|error| error.to_string()))
    }

    /// The last moment at which a client's clock can be read: its process is ending.
    fn note_end(&self, pid: Option<u32>) {
        if let Some(pid) = pid {
            self.scheduling.note_cpu_time(pid);
        }
    }

    /// Takes the client's setup, and passes it on to a new connection to the server.
    async fn introduce(
        &self,
        tap: &ConnectionTap<'_>,
        peer: Option<Peer>,
        client: &Socket,
    ) -> Result<Socket, Early> {
        let (setup, layout) = match timeout(SETUP_PATIENCE, self.setup(client)).await {
            Ok(taken) => taken?,
            Err(_) => return Err(Early::Gone("it sent no whole setup in time".to_owned())),
        };
        let refuse = |why: String| Early::Refused(Some(layout.order), why);
        self.check_user(peer)
            .and_then(|()| setup_exchange::check(&setup, &layout, &self.cookie))
            .map_err(|refusal| refuse(refusal.to_string()))?;
        let link = self.link.clone();
        // It may block while the server's queue is full, as it would for the client itself.
        let connected = tokio::task::spawn_blocking(move || link.connect()).await;
        let name = self.link.name();
        let unreachable =
            |error: io::Error| refuse(format!("cannot connect to display {name}: {error}"));
        let (connected, cookie) = connected
            .map_err(io::Error::other)
            .and_then(|result| result)
            .map_err(unreachable)?;
        let server = Socket::new(connected).map_err(unreachable)?;
        server.enlarge_send_buffer(SEND_BUFFER);
        let forwarded = setup_exchange::rewrite(&setup, &layout, cookie.as_ref());
        self.counts
            .bytes
            .set(self.counts.bytes.get() + layout.len as u64);
        tap.crossed(clock::now(), Direction::ToServer, &setup, 0, &layout.data);
        server.send(&forwarded, &[]).await.map_err(unreachable)?;
        Ok(server)
    }

    /// Reads the setup and not a byte more.
    async fn setup(&self, client: &Socket) -> Result<(Vec<u8>, Layout), Early> {
        let mut setup = Vec::new();
        loop {
            let needed = match setup_exchange::progress(&setup) {
                Ok(Progress::Whole(layout)) => return Ok((setup, layout)),
                Ok(Progress::Needs(needed)) => needed,
                Err(refusal) => {
                    let order = setup.first().copied().and_then(ByteOrder::from_setup_byte);
                    return Err(Early::Refused(order, refusal.to_string()));
                }
            };
            let most = needed.saturating_sub(setup.len());
            let received = client.receive_at_most(&self.buffers, most).await;
            let received = received.map_err(|error| Early::Gone(error.to_string()))?;
            if received.bytes().is_empty() {
                return Err(Early::Gone("it sent no whole setup".to_owned()));
            }
            setup.extend_from_slice(received.bytes());
        }
    }

    /// The cookie's file is for this user alone; so are the sockets. By TCP only the cookie tells.
    fn check_user(&self, peer: Option<Peer>) -> Result<(), Refusal> {
        match peer {
            Some(peer) if !self.any_user && !same_user(peer.uid, geteuid().as_raw()) => {
                Err(Refusal::AnotherUser)
            }
            _ => Ok(()),
        }
    }
}

/// The process of this machine at the other end of a TCP connection.
async fn process_at(stream: &OwnedFd) -> Option<u32> {
    let same = stream.try_clone().ok()?;
    // Elsewhere, for the search takes milliseconds of all connections' time.
    let search = tokio::task::spawn_blocking(move || tcp_peer::process_at(same));
    search.await.ok().flatten()
}

fn same_user(peer: u32, ours: u32) -> bool {
    peer == ours
}

#[cfg(test)]
mod tests {
    use super::same_user;

    #[test]
    fn only_the_same_user_is_let_in() {
        assert!(same_user(1000, 1000));
        assert!(!same_user(1001, 1000));
        assert!(!same_user(0, 1000));
    }
}
