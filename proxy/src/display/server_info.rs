//! The display server's properties, asked for over one short connection of our own.

use thiserror::Error;
use x11prof_protocol::ByteOrder;
use x11prof_trace::{ExtensionOpcodes, Server};
use x11rb_protocol::protocol::randr;
use x11rb_protocol::protocol::xproto::{
    ListExtensionsReply, ListExtensionsRequest, QueryExtensionReply, QueryExtensionRequest,
};
use x11rb_protocol::x11_utils::TryParse;

use crate::display::server_link::{Connected, ServerLink};
use crate::display::setup_connection::{PATIENCE, SetupConnection, SetupFailure};
use crate::display::viewers::is_viewed;
use crate::processes::peer::Peer;
use crate::processes::process_info::ProcessInfo;

/// Why a display server could not be used.
#[derive(Debug, Error)]
pub enum DisplayError {
    /// The server cannot be reached.
    #[error("cannot connect to display {display}: {source}; is a server running there?")]
    Unreachable {
        /// The display.
        display: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The server refuses the connection.
    #[error(
        "display {display} refused the connection: {reason} (is XAUTHORITY set, or ~/.Xauthority there?)"
    )]
    Refused {
        /// The display.
        display: String,
        /// The server's reason.
        reason: String,
    },
    /// The server has no such screen.
    #[error("display {display} has no screen {screen}")]
    NoScreen {
        /// The display.
        display: String,
        /// The screen.
        screen: u32,
    },
    /// The server answers, but not what attaching to its clients needs.
    #[error("display {display} cannot be attached to: {reason}")]
    NotAttached {
        /// The display.
        display: String,
        /// The reason.
        reason: String,
    },
    /// The server closed the connection, or spoke another protocol.
    #[error("display {display} does not reply like an X server: {reason}")]
    Failed {
        /// The display.
        display: String,
        /// The reason.
        reason: String,
    },
}

/// Asks the server for its identity and for the opcodes of its extensions.
pub(crate) fn ask(link: &ServerLink) -> Result<(Server, Vec<ExtensionOpcodes>), DisplayError> {
    let display = link.name().to_string();
    let unreachable = |source| DisplayError::Unreachable {
        display: display.clone(),
        source,
    };
    let (connected, cookie) = link.connect().map_err(unreachable)?;
    let pid = server_pid(&connected);
    let mut talk = SetupConnection::over(connected).map_err(unreachable)?;
    let setup = talk.set_up(cookie.as_ref()).map_err(|no| match no {
        SetupFailure::Refused(reason) => DisplayError::Refused {
            display: display.clone(),
            reason,
        },
        SetupFailure::Failed(reason) => DisplayError::Failed {
            display: display.clone(),
            reason,
        },
    })?;
    let screen = link.name().screen();
    let index = usize::try_from(screen).unwrap_or(usize::MAX);
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
    let extensions = extensions(&mut talk).map_err(|reason| DisplayError::Failed {
        display: display.clone(),
        reason,
    })?;
    Ok((server, extensions))
}

/// True if the server has RANDR 1.3, and with it GetScreenResourcesCurrent.
pub(crate) fn has_current_resources(
    link: &ServerLink,
    extensions: &[ExtensionOpcodes],
) -> Result<bool, DisplayError> {
    let Some(known) = extensions
        .iter()
        .find(|extension| extension.name == "RANDR")
    else {
        return Ok(false);
    };
    let failed = |reason: String| DisplayError::Failed {
        display: link.name().to_string(),
        reason,
    };
    let talk = SetupConnection::begin(link, PATIENCE);
    let (mut talk, cookie) = talk.map_err(|error| failed(error.to_string()))?;
    talk.set_up(cookie.as_ref()).map_err(|no| match no {
        SetupFailure::Refused(reason) | SetupFailure::Failed(reason) => failed(reason),
    })?;
    let question = randr::QueryVersionRequest {
        major_version: 1,
        minor_version: 3,
    };
    talk.send(question, known.major).map_err(failed)?;
    let reply = talk.reply().map_err(failed)?;
    let number = |at| ByteOrder::native().u32(&reply, at).unwrap_or(0);
    Ok((number(8), number(12)) >= (1, 3))
}

/// The process that listens on the other end, where that is on this machine.
fn server_pid(connected: &Connected) -> Option<u32> {
    match connected {
        Connected::Unix(stream) => Peer::of(stream)?.pid,
        Connected::Tcp(_) => None,
    }
}

/// The server's extensions. All questions are sent before the first answer is read.
fn extensions(talk: &mut SetupConnection) -> Result<Vec<ExtensionOpcodes>, String> {
    let unreadable = |_| "it sent a reply that cannot be read".to_owned();
    talk.send(ListExtensionsRequest, 0)?;
    let names = talk.reply()?;
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
