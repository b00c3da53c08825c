//! The properties of a display server, requested over one short connection of the recorder.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use thiserror::Error;
use x11prof_trace::{ExtensionOpcodes, Link, Server};
use x11rb_protocol::protocol::randr;
use x11rb_protocol::protocol::xproto::{
    GetInputFocusRequest, ListExtensionsReply, ListExtensionsRequest, QueryExtensionReply,
    QueryExtensionRequest,
};
use x11rb_protocol::x11_utils::TryParse;

use crate::clock;
use crate::display::conversation::Conversation;
use crate::display::server_link::{Connected, ServerLink};
use crate::display::setup_connection::{FIRST_PATIENCE, PATIENCE, SetupConnection, SetupFailure};
use crate::notice::Notice;
use crate::processes::peer::Peer;
use crate::processes::process_info::ProcessInfo;
use crate::processes::{tcp_peer, tcp_times};

/// Round trips that measure the link, in addition to the round trip that lists the extensions.
const ROUND_TRIPS: usize = 2;
/// The maximum wait for the server to close the connection, after the recorder has closed its side.
const CLOSES_WITHIN: Duration = Duration::from_secs(1);

/// The maximum number of bytes of a server's program that are read. Another user's server may be a file of any length.
const MOST_OF_A_PROGRAM: u64 = 64 << 20;

/// The reason why a display server could not be used.
#[derive(Debug, Error)]
pub enum DisplayError {
    /// The server cannot be reached.
    #[error("cannot connect to display {display}: {source}; is a server running there?")]
    Unreachable {
        /// The name of the display.
        display: String,
        /// The error that the system reported.
        source: std::io::Error,
    },
    /// The server refuses the connection.
    #[error(
        "display {display} refused the connection: {reason} (is XAUTHORITY set, or ~/.Xauthority there?)"
    )]
    Refused {
        /// The name of the display.
        display: String,
        /// The reason that the server gave.
        reason: String,
    },
    /// The server does not have the requested screen.
    #[error("display {display} has no screen {screen}")]
    NoScreen {
        /// The name of the display.
        display: String,
        /// The number of the requested screen.
        screen: u32,
    },
    /// The server replies, but lacks a feature that is required for attaching to its clients.
    #[error("display {display} cannot be attached to: {reason}")]
    NotAttached {
        /// The name of the display.
        display: String,
        /// The missing feature, as text.
        reason: String,
    },
    /// The server closed the connection, or used another protocol.
    #[error("display {display} does not reply like an X server: {reason}")]
    Failed {
        /// The name of the display.
        display: String,
        /// The reason why the server's reply is not valid, as text.
        reason: String,
    },
}

/// The properties of a display server.
pub(crate) struct DisplayInfo {
    /// The identity of the server.
    pub(crate) server: Server,
    /// The extensions of the server with their opcodes.
    pub(crate) extensions: Vec<ExtensionOpcodes>,
    /// The measurement of the connection; `None` if the display is a local socket of an X server.
    pub(crate) link: Option<Link>,
}

/// The properties of the server behind `link`.
///
/// # Errors
/// Fails if the display cannot be reached or refuses the connection.
pub fn describe_server(link: &ServerLink) -> Result<Server, DisplayError> {
    Ok(ask(link)?.server)
}

/// Requests the server's identity and the opcodes of its extensions. Also measures round trips if a relay or a network
/// is between the recorder and the X server.
pub(crate) fn ask(link: &ServerLink) -> Result<DisplayInfo, DisplayError> {
    ask_within(link, None, &mut |_| {})
}

/// Like [`ask`], but calls `on` if the server does not reply soon. The server must reply within about `time`, the length
/// of the recording.
pub(crate) fn ask_within(
    link: &ServerLink,
    time: Option<Duration>,
    on: &mut impl FnMut(Notice),
) -> Result<DisplayInfo, DisplayError> {
    let display = link.name().to_string();
    let began = clock::now().as_nanos();
    let unreachable = |source| DisplayError::Unreachable {
        display: display.clone(),
        source,
    };
    let (connected, cookie) = link.connect().map_err(unreachable)?;
    let transport = connected.transport();
    let listener = Listener::of(&connected);
    let mut talk = SetupConnection::over(connected).map_err(unreachable)?;
    talk.set_patience(time.map_or(PATIENCE, |time| time.clamp(FIRST_PATIENCE, PATIENCE)));
    let late = || on(Notice::Silent(display.clone()));
    let setup = talk.set_up_or(cookie.as_ref(), late);
    let setup = setup.map_err(|no| no_setup(&display, no))?;
    let setup_ns = clock::now().as_nanos().saturating_sub(began);
    let screen = link.name().screen();
    let index = usize::try_from(screen).unwrap_or(usize::MAX);
    let root = setup
        .roots
        .get(index)
        .ok_or_else(|| DisplayError::NoScreen {
            display: display.clone(),
            screen,
        })?;
    let pid = listener.server;
    let process = pid.map(ProcessInfo::of).unwrap_or_default();
    // For another user's process, the executable's path may be unreadable while the name is readable.
    let executable = process.executable.or(process.name);
    let server = Server {
        display: display.clone(),
        vendor: String::from_utf8_lossy(&setup.vendor).into_owned(),
        release: setup.release_number,
        depth: root.root_depth,
        screen: (root.width_in_pixels, root.height_in_pixels),
        executable,
        arguments: process.command.into_iter().skip(1).collect(),
        pid,
    };
    let failed = |why| no_setup(&display, SetupFailure::Failed(why));
    let mut trips = Vec::new();
    let extensions = extensions(&mut talk, &mut trips).map_err(failed)?;
    let mut measured = Link {
        display: display.clone(),
        transport: transport.to_owned(),
        relay: listener.relay,
        setup_ns: Some(setup_ns),
        ..Link::default()
    };
    if measured.is_remote() {
        for _ in 0..ROUND_TRIPS {
            let asked = clock::now().as_nanos();
            talk.send(GetInputFocusRequest, 0).map_err(failed)?;
            talk.reply().map_err(failed)?;
            trips.push(clock::now().as_nanos().saturating_sub(asked));
        }
        measured.round_trips_ns = trips;
        let is_ssh = |relay: &str| relay.starts_with("sshd");
        measured.tcp_round_trip_ns = match measured.relay.as_deref().is_some_and(is_ssh) {
            true => tcp_times::of_ssh(),
            false => tcp_times::of_socket(talk.socket()),
        };
        // A server resets when its last client is gone, and closes connections that begin at that moment.
        talk.socket().shut_down_writing();
        talk.set_patience(CLOSES_WITHIN);
        // The message is an error, because the server closes the connection.
        let _ = talk.message();
    }
    Ok(DisplayInfo {
        server,
        extensions,
        link: Some(measured).filter(Link::is_remote),
    })
}

/// The error for a failed setup with the server of `display`.
pub(crate) fn no_setup(display: &str, no: SetupFailure) -> DisplayError {
    let display = display.to_owned();
    match no {
        SetupFailure::Refused(reason) => DisplayError::Refused { display, reason },
        SetupFailure::Failed(reason) => DisplayError::Failed { display, reason },
    }
}

/// True if the server has RANDR 1.3, and therefore the request GetScreenResourcesCurrent.
pub(crate) fn has_current_resources(
    link: &ServerLink,
    extensions: &[ExtensionOpcodes],
) -> Result<bool, DisplayError> {
    let question = randr::QueryVersionRequest {
        major_version: 1,
        minor_version: 3,
    };
    let talk = Conversation::begin(link, PATIENCE, extensions.to_vec());
    let version = talk.and_then(|mut talk| talk.ask_one(question));
    let failed = |why| no_setup(&link.name().to_string(), SetupFailure::Failed(why));
    let version = version.map_err(failed)?;
    Ok(version.is_some_and(|version| (version.major_version, version.minor_version) >= (1, 3)))
}

/// The process on the other end of a connection to a display.
#[derive(Default)]
struct Listener {
    /// The X server's process, if the listening process is an X server on this machine.
    server: Option<u32>,
    /// The name of the listening process, if it is not an X server.
    relay: Option<String>,
}

impl Listener {
    fn of(connected: &Connected) -> Listener {
        match connected {
            Connected::Unix(stream) => Listener::process(Peer::of(stream).and_then(|one| one.pid)),
            Connected::Tcp(stream) => {
                let peer = stream.peer_addr();
                if !peer.is_ok_and(|at| at.ip().to_canonical().is_loopback()) {
                    return Listener::default();
                }
                // Only root may list the descriptors of sshd, which sets SSH_CONNECTION.
                let ssh = || std::env::var_os("SSH_CONNECTION").map(|_| "sshd".to_owned());
                match tcp_peer::process_at(stream) {
                    None => Listener {
                        server: None,
                        relay: ssh(),
                    },
                    known => Listener::process(known),
                }
            }
        }
    }

    fn process(pid: Option<u32>) -> Listener {
        let Some(pid) = pid else {
            return Listener::default();
        };
        // A Wayland compositor listens on behalf of the Xwayland that it starts.
        let server = [pid]
            .into_iter()
            .chain(children(pid))
            .find(|pid| is_x_server(*pid));
        Listener {
            server,
            relay: match server {
                Some(_) => None,
                None => ProcessInfo::of(pid).name,
            },
        }
    }
}

/// The children of a process (proc_pid_task(5)).
fn children(pid: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let lists = threads.into_iter().flatten().flatten();
    let lists =
        lists.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let pids = |list: String| -> Vec<u32> {
        list.split_ascii_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect()
    };
    lists.flat_map(pids).collect()
}

/// True if the process is an X server: its program contains the words "Fatal server error" (os/log.c), as all servers
/// built from X.Org's sources do. This program must not contain them, so they are joined at run time. If the program
/// cannot be read, its name decides: the servers' names begin with a capital X.
fn is_x_server(pid: u32) -> bool {
    let known = ["Fatal server", "error"].join(" ");
    match File::open(format!("/proc/{pid}/exe")) {
        Ok(program) => contains(program.take(MOST_OF_A_PROGRAM), known.as_bytes()),
        Err(_) => ProcessInfo::of(pid)
            .name
            .is_none_or(|name| name.starts_with('X')),
    }
}

/// True if `text` occurs in a file. Reads the file in blocks. Returns false if the file cannot be read.
fn contains(mut file: impl Read, text: &[u8]) -> bool {
    let mut piece = Vec::new();
    loop {
        piece.drain(..piece.len().saturating_sub(text.len()));
        match file.by_ref().take(1 << 16).read_to_end(&mut piece) {
            Ok(read) if read > 0 && memchr::memmem::find(&piece, text).is_none() => {}
            read => return read.is_ok_and(|read| read > 0),
        }
    }
}

/// Returns the server's extensions. Sends all requests before it reads the first reply. Adds the time of a round trip
/// to `trips`.
fn extensions(
    talk: &mut SetupConnection,
    trips: &mut Vec<u64>,
) -> Result<Vec<ExtensionOpcodes>, String> {
    let unreadable = |_| "it sent a reply that cannot be read".to_owned();
    let asked = clock::now().as_nanos();
    talk.send(ListExtensionsRequest, 0)?;
    let names = talk.reply()?;
    trips.push(clock::now().as_nanos().saturating_sub(asked));
    let names = ListExtensionsReply::try_parse(&names)
        .map_err(unreadable)?
        .0;
    let names: Vec<Vec<u8>> = names.names.into_iter().map(|name| name.name).collect();
    for name in &names {
        let name = name.as_slice().into();
        talk.send(QueryExtensionRequest { name }, 0)?;
    }
    let mut known = Vec::new();
    for name in names {
        let reply = talk.reply()?;
        let reply = QueryExtensionReply::try_parse(&reply)
            .map_err(unreadable)?
            .0;
        if reply.present {
            known.push(ExtensionOpcodes {
                name: String::from_utf8_lossy(&name).into_owned(),
                major: reply.major_opcode,
                first_event: reply.first_event,
                first_error: reply.first_error,
            });
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn text_is_found_also_across_pieces() {
        for before in [0, 1, (1 << 16) - 3, (1 << 16) + 5, 1 << 18] {
            let file = [vec![b'F'; before], b"Fatal server error".to_vec()].concat();
            assert!(contains(&file[..], b"Fatal server error"), "{before}");
            assert!(!contains(&file[..file.len() - 1], b"Fatal server error"));
        }
        assert!(!contains(&b""[..], b"F"));
    }
}
