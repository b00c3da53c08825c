//! A connection of the recorder for requests to a display server. The server is not trusted: it may stop replying, or
//! announce a reply of any length.

use std::io;
use std::time::{Duration, Instant};

use x11prof_protocol::{ByteOrder, ServerSetup};
use x11rb_protocol::protocol::xproto::Setup;
use x11rb_protocol::x11_utils::Request;

use crate::display::authority::{Cookie, MIT_MAGIC_COOKIE_1};
use crate::display::server_link::{Connected, ServerLink};
use crate::sockets::socket::{Socket, Wait};

/// The time limit for all replies of the server together.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// A server that does not reply to the setup for this long is reported.
pub(crate) const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// The maximum length of an accepted reply in bytes.
const LONGEST: usize = 64 << 20;

/// The reason why a connection setup failed.
#[derive(Debug)]
pub enum SetupFailure {
    /// The server refused the connection; contains its reason.
    Refused(String),
    /// The connection failed; contains the reason.
    Failed(String),
}

/// A connection to a display server, with a deadline for the server's replies.
#[derive(Debug)]
pub struct SetupConnection {
    socket: Socket,
    patience: Duration,
    until: Instant,
}

impl SetupConnection {
    /// Creates the connection over an established socket.
    pub(crate) fn over(connected: Connected) -> io::Result<SetupConnection> {
        Ok(SetupConnection {
            socket: Socket::new(connected)?,
            patience: PATIENCE,
            until: Instant::now() + PATIENCE,
        })
    }

    /// Connects to the server. From then on the server must send its replies within `patience`. Returns the connection,
    /// and the cookie for `set_up`.
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub fn begin(
        link: &ServerLink,
        patience: Duration,
    ) -> io::Result<(SetupConnection, Option<Cookie>)> {
        let (connected, cookie) = link.connect()?;
        let mut talk = SetupConnection::over(connected)?;
        talk.set_patience(patience);
        Ok((talk, cookie))
    }

    /// Performs the connection setup with the server, with `cookie` as the authorization.
    ///
    /// # Errors
    /// Fails if the server refuses, stops replying, or is not an X server.
    pub fn set_up(&mut self, cookie: Option<&Cookie>) -> Result<Setup, SetupFailure> {
        self.set_up_or(cookie, || {})
    }

    /// Like [`set_up`](SetupConnection::set_up), but calls `late` if the server does not reply soon.
    pub(crate) fn set_up_or(
        &mut self,
        cookie: Option<&Cookie>,
        late: impl FnOnce(),
    ) -> Result<Setup, SetupFailure> {
        self.say(&setup_request(ByteOrder::native(), cookie))
            .map_err(SetupFailure::Failed)?;
        let soon = self.until.min(Instant::now() + FIRST_PATIENCE);
        if matches!(self.socket.is_readable_until(soon), Ok(false)) {
            late();
        }
        let mut answer = self.hear(8).map_err(SetupFailure::Failed)?;
        let &[_, _, _, _, _, _, a, b] = answer.as_slice() else {
            return Err(SetupFailure::Failed("it sent too little".to_owned()));
        };
        let rest = 4 * usize::from(u16::from_ne_bytes([a, b]));
        answer.extend(self.hear(rest).map_err(SetupFailure::Failed)?);
        let setup = ServerSetup::of_answer(&answer);
        match setup.refusal() {
            Some(reason) => Err(SetupFailure::Refused(reason)),
            None => setup.decode().map_err(|_| {
                SetupFailure::Failed("it sent a setup that cannot be read".to_owned())
            }),
        }
    }

    /// Reads the next reply, and skips events before it. Returns the bytes of the reply.
    ///
    /// # Errors
    /// Fails if the server replies with an error, stops replying, or closes the connection.
    pub fn reply(&mut self) -> Result<Vec<u8>, String> {
        loop {
            let message = self.message()?;
            match message.first() {
                Some(0) => return Err("it replied with an error".to_owned()),
                Some(1) => return Ok(message),
                _ => {}
            }
        }
    }

    /// Reads the next reply, error or event, and returns its bytes.
    pub(crate) fn message(&mut self) -> Result<Vec<u8>, String> {
        let mut message = self.hear(32)?;
        let (&[kind, ..], Some(&[a, b, c, d])) = (message.as_slice(), message.get(4..8)) else {
            return Err("it sent too little".to_owned());
        };
        let more = match kind & 0x7F {
            // Only a reply and the generic event can be longer (Generic Event Extension).
            1 | 35 => u32::from_ne_bytes([a, b, c, d]),
            _ => 0,
        };
        let more = usize::try_from(more)
            .unwrap_or(usize::MAX)
            .saturating_mul(4);
        message.extend(self.hear(more)?);
        Ok(message)
    }

    /// Reads the next message, and returns its bytes; `None` if no message begins within `wait`.
    pub(crate) fn next_within(&mut self, wait: Duration) -> Result<Option<Vec<u8>>, String> {
        let readable = self.socket.is_readable_until(Instant::now() + wait);
        if !readable.map_err(|error| error.to_string())? {
            return Ok(None);
        }
        self.set_patience(PATIENCE);
        self.message().map(Some)
    }

    /// Sets the deadline for the server's replies to `patience` from now.
    pub fn set_patience(&mut self, patience: Duration) {
        (self.patience, self.until) = (patience, Instant::now() + patience);
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns the socket of the connection.
    pub(crate) fn into_socket(self) -> Socket {
        self.socket
    }

    /// Sends a request, and returns its bytes. `major` is the opcode of its extension, or 0 for a core request.
    ///
    /// # Errors
    /// Fails if the server accepts no data or has closed the connection.
    pub fn send(&self, request: impl Request, major: u8) -> Result<Vec<u8>, String> {
        let bytes = request.serialize(major).0;
        self.say(&bytes)?;
        Ok(bytes)
    }

    pub(crate) fn say(&self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            let writable = self.socket.is_writable_until(self.until);
            if !writable.map_err(|error| error.to_string())? {
                return Err(self.silent());
            }
            let sent = self.socket.send(bytes, &[], Wait::No);
            let sent = sent.map_err(|error| error.to_string())?;
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads `len` bytes. Memory grows with the received bytes, not with the announced length.
    fn hear(&self, len: usize) -> Result<Vec<u8>, String> {
        if len > LONGEST {
            return Err(format!("it announced a reply of {len} bytes"));
        }
        let mut bytes = Vec::new();
        let mut room = [0; 16 << 10];
        while bytes.len() < len {
            let readable = self.socket.is_readable_until(self.until);
            if !readable.map_err(|error| error.to_string())? {
                return Err(self.silent());
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

    fn silent(&self) -> String {
        format!(
            "it was silent for {} s; a client that has grabbed the server makes it silent, too",
            self.patience.as_secs()
        )
    }
}

/// The bytes of a client's setup with this cookie.
pub fn setup_request(order: ByteOrder, cookie: Option<&Cookie>) -> Vec<u8> {
    match cookie {
        Some(cookie) => ServerSetup::request(order, MIT_MAGIC_COOKIE_1, cookie.as_bytes()),
        None => ServerSetup::request(order, &[], &[]),
    }
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
        let talk = SetupConnection {
            socket,
            patience,
            until,
        };
        (talk, server)
    }

    #[test]
    fn oversized_reply_is_rejected_before_it_arrives() {
        let mut reply = vec![1, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0xFF];
        reply.resize(32, 0);
        let (mut talk, _server) = talk(&reply, PATIENCE);
        assert_eq!(
            talk.reply().unwrap_err(),
            "it announced a reply of 17179869180 bytes"
        );
    }

    #[test]
    fn silent_server_times_out() {
        let (mut talk, _server) = talk(b"", Duration::from_millis(20));
        assert!(talk.reply().unwrap_err().contains("silent"));
        let (mut talk, _server) = super::tests::talk(b"\x01", Duration::from_millis(20));
        assert!(
            matches!(talk.set_up(None), Err(SetupFailure::Failed(why)) if why.contains("silent"))
        );
    }

    #[test]
    fn refusal_reports_its_reason() {
        let (mut talk, _server) = talk(b"\0\x06\x0b\0\0\0\x02\0No way\0\0", PATIENCE);
        assert!(matches!(talk.set_up(None), Err(SetupFailure::Refused(why)) if why == "No way"));
    }

    #[test]
    fn long_reasons_are_cut() {
        // A request for further authentication.
        let mut long = vec![2, 0, 0, 0, 0, 0];
        long.extend(10_000_u16.to_ne_bytes());
        long.resize(8 + 40_000, b'a');
        let (mut talk, _server) = talk(&long, PATIENCE);
        let refused = talk.set_up(None);
        assert!(matches!(refused, Err(SetupFailure::Refused(why)) if why.len() == 255));
    }
}
