//! Reads a client's setup, checks it, and forwards it on a new connection to the server.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use x11prof_protocol::ByteOrder;
use x11prof_trace::{ConnectionId, Timestamp};

use crate::clock;
use crate::display::authority::Cookie;
use crate::display::server_link::ServerLink;
use crate::display::setup_exchange::{self, Layout, Progress};
use crate::relay::connections::Connections;
use crate::relay::network_emulator::{NetworkEmulator, SharedLink};
use crate::sockets::socket::{Socket, Wait};

/// A client's setup must arrive within this time, as in the X server (os/connection.c, TimeOutValue).
const SETUP_PATIENCE: Duration = Duration::from_secs(60);

/// The size of the send buffer towards a peer, in bytes. The size is larger than the default, so that relay and peer
/// run in parallel on long images and on the metrics of large fonts.
const SEND_BUFFER: usize = 1 << 20;

/// The reasons why a connection ended before the relay began.
pub(crate) enum SetupEnd {
    /// The client disconnected or stopped sending; contains the reason.
    Gone(String),
    /// The recorder refused the setup; contains the client's byte order and the reason. The client receives the reason
    /// if its byte order is known.
    Refused(Option<ByteOrder>, String),
}

/// A client whose setup was forwarded to the server.
pub(crate) struct SetUpClient {
    pub(crate) server: Arc<Socket>,
    pub(crate) setup: Vec<u8>,
    /// The range of the cookie in the setup's bytes.
    pub(crate) cookie: Range<usize>,
    pub(crate) order: ByteOrder,
    /// The time at which the setup was complete.
    pub(crate) time: Timestamp,
}

/// The parameters of a handshake: the server's address, the recorder's cookie, and the emulated network.
pub(crate) struct SetupHandshake<'a> {
    pub(crate) link: &'a ServerLink,
    pub(crate) cookie: &'a Cookie,
    /// True if the client's process is known to be of the recorder's user.
    pub(crate) same_user: bool,
    pub(crate) lines: Option<SharedLink>,
    pub(crate) connections: &'a Connections,
}

impl SetupHandshake<'_> {
    /// Reads the setup of `client`, and forwards it on a new connection to the server. Starts an `emulator` if a
    /// network is emulated.
    pub(crate) fn run(
        &self,
        connection: ConnectionId,
        client: &Socket,
        emulator: &mut Option<NetworkEmulator>,
    ) -> Result<SetUpClient, SetupEnd> {
        let (setup, layout) = setup(client, Instant::now() + SETUP_PATIENCE)?;
        let time = clock::now();
        let refuse = |why: String| SetupEnd::Refused(Some(layout.order), why);
        let checked = setup_exchange::check(&setup, &layout, self.cookie);
        if let Err(refusal) = checked
            && !self.same_user
        {
            return Err(refuse(refusal.to_string()));
        }
        let name = self.link.name();
        let unreachable =
            |error: io::Error| refuse(format!("cannot connect to display {name}: {error}"));
        // The call may block while the server's queue is full, as it would for the client.
        let (connected, cookie) = self.link.connect().map_err(unreachable)?;
        let server = Socket::new(connected).map_err(unreachable)?;
        let share = |socket| self.connections.share(connection, socket);
        let mut server = share(server);
        if let Some(lines) = &self.lines {
            let (near, link) =
                NetworkEmulator::start(lines.clone(), server, share).map_err(unreachable)?;
            (server, *emulator) = (near, Some(link));
        }
        // Without the recorder's cookie, the server decides whether to accept the client. The server may accept the
        // client's own cookie (SECURITY GenerateAuthorization), or admit the user (xhost).
        let forwarded = match checked {
            Ok(()) => setup_exchange::rewrite(&setup, &layout, cookie.as_ref()),
            Err(_) => setup.clone(),
        };
        server.send_all(&forwarded, &[]).map_err(unreachable)?;
        if self.lines.is_none() {
            server.enlarge_send_buffer(SEND_BUFFER);
        }
        client.enlarge_send_buffer(SEND_BUFFER);
        self.connections.relayed(layout.len as u64);
        Ok(SetUpClient {
            server,
            setup,
            cookie: layout.data,
            order: layout.order,
            time,
        })
    }
}

/// Reads exactly the setup and no further bytes.
fn setup(client: &Socket, until: Instant) -> Result<(Vec<u8>, Layout), SetupEnd> {
    let mut setup = Vec::new();
    loop {
        let needed = match setup_exchange::progress(&setup) {
            Ok(Progress::Whole(layout)) => return Ok((setup, layout)),
            Ok(Progress::Needs(needed)) => needed,
            Err(refusal) => {
                let order = setup.first().copied().and_then(ByteOrder::from_setup_byte);
                return Err(SetupEnd::Refused(order, refusal.to_string()));
            }
        };
        let gone = |error: io::Error| SetupEnd::Gone(error.to_string());
        if !client.is_readable_until(until).map_err(gone)? {
            return Err(SetupEnd::Gone("it sent no whole setup in time".to_owned()));
        }
        let come = setup.len();
        setup.resize(needed.max(come), 0);
        let room = setup.get_mut(come..).unwrap_or_default();
        let (len, _) = client.receive(room, Wait::Yes).map_err(gone)?;
        setup.truncate(come + len);
        if len == 0 {
            return Err(SetupEnd::Gone("it sent no whole setup".to_owned()));
        }
    }
}
