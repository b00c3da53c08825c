//! What the display server says of itself, asked over one short connection of our own.

use thiserror::Error;
use x11prof_trace::{ExtensionOpcodes, Server};
use x11rb::connection::Connection;
use x11rb::errors::{ConnectError, ConnectionError, ReplyError};
use x11rb::protocol::xproto::ConnectionExt;
use x11rb::rust_connection::{DefaultStream, RustConnection};

use crate::authority::MIT_MAGIC_COOKIE_1;
use crate::peer::Peer;
use crate::process_info::ProcessInfo;
use crate::server_link::{Connected, ServerLink};
use crate::viewers::is_viewed;

/// Why a display server could not be used.
#[derive(Debug, Error)]
pub enum DisplayError {
    /// There is no connection to it.
    #[error("cannot connect to display {display}: {source}; is a server running there?")]
    Unreachable {
        /// The display.
        display: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It does not take us.
    #[error(
        "display {display} refused the connection: {reason} (is XAUTHORITY set, or ~/.Xauthority there?)"
    )]
    Refused {
        /// The display.
        display: String,
        /// What it said.
        reason: String,
    },
    /// It has no such screen.
    #[error("display {display} has no screen {screen}")]
    NoScreen {
        /// The display.
        display: String,
        /// The screen.
        screen: u32,
    },
    /// It went away, or spoke another protocol.
    #[error("display {display} does not answer as an X server: {reason}")]
    Failed {
        /// The display.
        display: String,
        /// What happened.
        reason: String,
    },
}

/// Asks the server for its identity and for the opcodes of its extensions.
pub(crate) fn ask(link: &ServerLink) -> Result<(Server, Vec<ExtensionOpcodes>), DisplayError> {
    let display = link.name().to_string();
    let failed = |reason: String| DisplayError::Failed {
        display: display.clone(),
        reason,
    };
    let unreachable = |source| DisplayError::Unreachable {
        display: display.clone(),
        source,
    };
    let (connected, cookie) = link.connect().map_err(unreachable)?;
    let pid = server_pid(&connected);
    let (stream, _) = match connected {
        Connected::Unix(stream) => DefaultStream::from_unix_stream(stream),
        Connected::Tcp(stream) => DefaultStream::from_tcp_stream(stream),
    }
    .map_err(unreachable)?;
    let (name, data) = match &cookie {
        Some(cookie) => (MIT_MAGIC_COOKIE_1.to_vec(), cookie.as_bytes().to_vec()),
        None => (Vec::new(), Vec::new()),
    };
    let screen = link.name().screen();
    let index = usize::try_from(screen).unwrap_or(usize::MAX);
    // The screen only matters to what we read below; x11rb would report it with less words.
    let connection = RustConnection::connect_to_stream_with_auth_info(stream, 0, name, data)
        .map_err(|error| match error {
            ConnectError::SetupFailed(setup) => DisplayError::Refused {
                display: display.clone(),
                reason: String::from_utf8_lossy(&setup.reason).trim().to_owned(),
            },
            ConnectError::SetupAuthenticate(setup) => DisplayError::Refused {
                display: display.clone(),
                reason: String::from_utf8_lossy(&setup.reason).trim().to_owned(),
            },
            error => failed(error.to_string()),
        })?;
    let setup = connection.setup();
    let root = setup
        .roots
        .get(index)
        .ok_or_else(|| DisplayError::NoScreen {
            display: display.clone(),
            screen,
        })?;
    let process = pid.map(ProcessInfo::of).unwrap_or_default();
    // Of another user's process the path may not be read, but the name may.
    let executable = process.executable.or(process.name);
    let viewed = pid
        .zip(executable.as_deref())
        .and_then(|(pid, executable)| is_viewed(pid, executable));
    let server = Server {
        display: display.clone(),
        vendor: String::from_utf8_lossy(&setup.vendor).into_owned(),
        release: setup.release_number,
        depth: root.root_depth,
        screen: (root.width_in_pixels, root.height_in_pixels),
        executable,
        arguments: process.command.into_iter().skip(1).collect(),
        pid,
        viewed,
    };
    let extensions = extensions(&connection).map_err(|error| failed(error.to_string()))?;
    Ok((server, extensions))
}

/// The process that listens on the other end, where that is on this machine.
fn server_pid(connected: &Connected) -> Option<u32> {
    match connected {
        Connected::Unix(stream) => Peer::of(stream)?.pid,
        Connected::Tcp(_) => None,
    }
}

/// All questions are sent before the first answer is awaited.
fn extensions(connection: &RustConnection) -> Result<Vec<ExtensionOpcodes>, ReplyError> {
    let names = connection.list_extensions()?.reply()?.names;
    let asked: Result<Vec<_>, ConnectionError> = names
        .iter()
        .map(|name| connection.query_extension(&name.name))
        .collect();
    let mut known = Vec::new();
    for (name, cookie) in names.iter().zip(asked?) {
        let reply = cookie.reply()?;
        if reply.present {
            known.push(ExtensionOpcodes {
                name: String::from_utf8_lossy(&name.name).into_owned(),
                major: reply.major_opcode,
                first_event: reply.first_event,
                first_error: reply.first_error,
            });
        }
    }
    Ok(known)
}
