//! What the display server says of itself, asked over one short connection of our own. It is not
//! trusted: it may fall silent, and promise more than anybody can take.

use std::io;
use std::time::{Duration, Instant};

use thiserror::Error;
use x11prof_protocol::ByteOrder;
use x11prof_trace::{ExtensionOpcodes, Server};
use x11rb_protocol::protocol::xproto::{
    ListExtensionsReply, QueryExtensionReply, Setup, SetupRequest,
};
use x11rb_protocol::x11_utils::{Serialize, TryParse};

use crate::authority::{Cookie, MIT_MAGIC_COOKIE_1};
use crate::peer::Peer;
use crate::process_info::ProcessInfo;
use crate::server_link::{Connected, ServerLink};
use crate::socket::{Socket, Wait};
use crate::viewers::is_viewed;

/// How long the server may take for all of its answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest answer that is taken in.
const LONGEST: usize = 64 << 20;
/// Core opcodes (protocol encoding, "Requests").
const QUERY_EXTENSION: u8 = 98;
const LIST_EXTENSIONS: u8 = 99;
/// Minor opcode (randrproto).
const RANDR_QUERY_VERSION: u8 = 0;

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
    let unreachable = |source| DisplayError::Unreachable {
        display: display.clone(),
        source,
    };
    let (connected, cookie) = link.connect().map_err(unreachable)?;
    let pid = server_pid(&connected);
    let mut talk = SetupConnection {
        socket: Socket::new(connected).map_err(unreachable)?,
        until: Instant::now() + PATIENCE,
    };
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
    let extensions = talk.extensions().map_err(|reason| DisplayError::Failed {
        display: display.clone(),
        reason,
    })?;
    Ok((server, extensions))
}

/// Whether the server has RANDR 1.3, and with it GetScreenResourcesCurrent.
pub(crate) fn has_current_resources(
    link: &ServerLink,
    extensions: &[ExtensionOpcodes],
) -> Result<bool, DisplayError> {
    let Some(randr) = extensions
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
    let mut question = vec![randr.major, RANDR_QUERY_VERSION];
    question.extend(3_u16.to_ne_bytes());
    for number in [1_u32, 3] {
        question.extend(number.to_ne_bytes());
    }
    talk.say(&question).map_err(failed)?;
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

/// Why there is no connection.
pub(crate) enum SetupFailure {
    /// The server's reason.
    Refused(String),
    /// What happened.
    Failed(String),
}

/// The connection, and until when it may last.
pub(crate) struct SetupConnection {
    socket: Socket,
    until: Instant,
}

impl SetupConnection {
    /// Connects, for so long; the cookie to show is beside it.
    pub(crate) fn begin(
        link: &ServerLink,
        patience: Duration,
    ) -> io::Result<(SetupConnection, Option<Cookie>)> {
        let (connected, cookie) = link.connect()?;
        let talk = SetupConnection {
            socket: Socket::new(connected)?,
            until: Instant::now() + patience,
        };
        Ok((talk, cookie))
    }

    pub(crate) fn set_up(&mut self, cookie: Option<&Cookie>) -> Result<Setup, SetupFailure> {
        let (name, data) = match cookie {
            Some(cookie) => (MIT_MAGIC_COOKIE_1.to_vec(), cookie.as_bytes().to_vec()),
            None => (Vec::new(), Vec::new()),
        };
        let request = SetupRequest {
            byte_order: if cfg!(target_endian = "little") {
                b'l'
            } else {
                b'B'
            },
            protocol_major_version: 11,
            protocol_minor_version: 0,
            authorization_protocol_name: name,
            authorization_protocol_data: data,
        };
        self.say(&request.serialize())
            .map_err(SetupFailure::Failed)?;
        let mut answer = self.hear(8).map_err(SetupFailure::Failed)?;
        let &[status, reason_len, _, _, _, _, a, b] = answer.as_slice() else {
            return Err(SetupFailure::Failed("it sent too little".to_owned()));
        };
        let rest = 4 * usize::from(u16::from_ne_bytes([a, b]));
        answer.extend(self.hear(rest).map_err(SetupFailure::Failed)?);
        if status == 1 {
            let setup = Setup::try_parse(&answer);
            return setup.map(|(setup, _)| setup).map_err(|_| {
                SetupFailure::Failed("it sent a setup that cannot be read".to_owned())
            });
        }
        let reason = answer.get(8..).unwrap_or_default();
        // A refusal says how long its reason is, the question for more (status 2) does not.
        let reason = match status {
            0 => reason.get(..usize::from(reason_len)).unwrap_or(reason),
            _ => reason,
        };
        let reason = String::from_utf8_lossy(reason);
        Err(SetupFailure::Refused(
            reason.trim_matches(['\0', '\n', ' ']).to_owned(),
        ))
    }

    /// All questions are sent before the first answer is awaited.
    fn extensions(&mut self) -> Result<Vec<ExtensionOpcodes>, String> {
        let unreadable = |_| "it sent an answer that cannot be read".to_owned();
        self.say(&[[LIST_EXTENSIONS, 0], 1_u16.to_ne_bytes()].concat())?;
        let names = self.reply()?;
        let names = ListExtensionsReply::try_parse(&names)
            .map_err(unreadable)?
            .0;
        let names: Vec<Vec<u8>> = names.names.into_iter().map(|name| name.name).collect();
        self.say(
            &names
                .iter()
                .flat_map(|name| question(name))
                .collect::<Vec<u8>>(),
        )?;
        let mut known = Vec::new();
        for name in names {
            let reply = self.reply()?;
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

    /// The next reply; events before it are passed over.
    pub(crate) fn reply(&mut self) -> Result<Vec<u8>, String> {
        loop {
            let message = self.message()?;
            match message.first() {
                Some(0) => return Err("it answered with an error".to_owned()),
                Some(1) => return Ok(message),
                _ => {}
            }
        }
    }

    /// The next reply, error or event.
    pub(crate) fn message(&mut self) -> Result<Vec<u8>, String> {
        let mut message = self.hear(32)?;
        let (&[kind, ..], Some(&[a, b, c, d])) = (message.as_slice(), message.get(4..8)) else {
            return Err("it sent too little".to_owned());
        };
        let more = match kind & 0x7F {
            // A reply, and the one event that can be longer (Generic Event Extension).
            1 | 35 => u32::from_ne_bytes([a, b, c, d]),
            _ => 0,
        };
        let more = usize::try_from(more)
            .unwrap_or(usize::MAX)
            .saturating_mul(4);
        message.extend(self.hear(more)?);
        Ok(message)
    }

    /// The next message, where one begins within `wait`.
    pub(crate) fn next_within(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, String> {
        let readable = self.socket.is_readable_until(Instant::now() + wait);
        if !readable.map_err(|error| error.to_string())? {
            return Ok(None);
        }
        self.set_patience(PATIENCE);
        self.message().map(Some)
    }

    /// From now on it may last so long.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.until = Instant::now() + patience;
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The connection alone.
    pub(crate) fn into_socket(self) -> Socket {
        self.socket
    }

    pub(crate) fn say(&self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            let writable = self.socket.is_writable_until(self.until);
            if !writable.map_err(|error| error.to_string())? {
                return Err(silent());
            }
            let sent = self.socket.send(bytes, &[], Wait::No);
            let sent = sent.map_err(|error| error.to_string())?;
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// So many bytes, as they come: what is promised takes no memory.
    fn hear(&self, len: usize) -> Result<Vec<u8>, String> {
        if len > LONGEST {
            return Err(format!("it announced an answer of {len} bytes"));
        }
        let mut bytes = Vec::new();
        let mut room = [0; 16 << 10];
        while bytes.len() < len {
            let readable = self.socket.is_readable_until(self.until);
            if !readable.map_err(|error| error.to_string())? {
                return Err(silent());
            }
            let wanted = room.len().min(len - bytes.len());
            let room = room.get_mut(..wanted).unwrap_or_default();
            let (come, _) = self
                .socket
                .receive(room, Wait::Yes)
                .map_err(|error| error.to_string())?;
            if come == 0 {
                return Err("it closed the connection".to_owned());
            }
            bytes.extend_from_slice(room.get(..come).unwrap_or_default());
        }
        Ok(bytes)
    }
}

fn silent() -> String {
    format!("it was silent for {} s", PATIENCE.as_secs())
}

/// A QueryExtension.
fn question(name: &[u8]) -> Vec<u8> {
    let padded = name.len().next_multiple_of(4);
    // A name in a list has 255 bytes at most.
    let units = u16::try_from(2 + padded / 4).unwrap_or(2);
    let mut request = vec![QUERY_EXTENSION, 0];
    request.extend(units.to_ne_bytes());
    request.extend(u16::try_from(name.len()).unwrap_or(0).to_ne_bytes());
    request.extend([0; 2]);
    request.extend(name);
    request.resize(8 + padded, 0);
    request
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn talk(answers: &[u8], patience: Duration) -> (SetupConnection, UnixStream) {
        let (mut server, ours) = UnixStream::pair().unwrap();
        server.write_all(answers).unwrap();
        let socket = Socket::new(ours).unwrap();
        let until = Instant::now() + patience;
        (SetupConnection { socket, until }, server)
    }

    #[test]
    fn a_reply_of_absurd_length_is_refused_before_it_comes() {
        let mut reply = vec![1, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF];
        reply.resize(32, 0);
        let (mut talk, _server) = talk(&reply, PATIENCE);
        assert_eq!(
            talk.extensions().unwrap_err(),
            "it announced an answer of 17179869180 bytes"
        );
    }

    #[test]
    fn a_server_that_never_answers_is_given_up() {
        let (mut talk, _server) = talk(b"", Duration::from_millis(20));
        assert!(talk.extensions().unwrap_err().contains("silent"));
        let (mut talk, _server) = super::tests::talk(b"\x01", Duration::from_millis(20));
        assert!(
            matches!(talk.set_up(None), Err(SetupFailure::Failed(why)) if why.contains("silent"))
        );
    }

    #[test]
    fn a_refusal_gives_its_reason() {
        let (mut talk, _server) = talk(b"\0\x06\x0b\0\0\0\x02\0No way\0\0", PATIENCE);
        assert!(
            matches!(talk.set_up(None), Err(SetupFailure::Refused(why)) if why == "SetupFailure way")
        );
    }
}
