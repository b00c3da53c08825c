//! A connection of the recorder to a server, on which many requests can be in flight. A missing reply or an error
//! counts as unknown, because windows may be destroyed meanwhile.

use std::time::Duration;

use x11prof_protocol::parse_reply;
use x11prof_trace::ExtensionOpcodes;
use x11rb_protocol::protocol::xproto::{GetInputFocusRequest, Setup};
use x11rb_protocol::x11_utils::{ReplyRequest, Request};

use crate::display::server_link::ServerLink;
use crate::display::setup_connection::{SetupConnection, SetupFailure};
use crate::sockets::socket::Socket;

/// Connections of an attached recorder: one for requests, two guards, and RECORD's.
const CONNECTIONS: usize = 4;
/// The maximum number of requests in flight. Their replies fit the server's buffers.
const AT_A_TIME: usize = 256;

/// The reason why there is no connection, in text form.
pub(crate) fn refused(no: SetupFailure) -> String {
    match no {
        SetupFailure::Refused(why) => {
            format!("{why}; the recorder needs {CONNECTIONS} connections")
        }
        SetupFailure::Failed(why) => why,
    }
}

/// A connection of the recorder for requests to a server.
pub(crate) struct Conversation {
    talk: SetupConnection,
    setup: Setup,
    extensions: Vec<ExtensionOpcodes>,
    /// The last request's sequence number, 16 bits as on the wire.
    sent: u16,
}

impl Conversation {
    /// Connects to a server that has these extensions. `patience` is the time limit for its replies.
    pub(crate) fn begin(
        link: &ServerLink,
        patience: Duration,
        extensions: Vec<ExtensionOpcodes>,
    ) -> Result<Conversation, String> {
        let talk = SetupConnection::begin(link, patience);
        let (mut talk, cookie) = talk.map_err(|error| error.to_string())?;
        let setup = talk.set_up(cookie.as_ref()).map_err(refused)?;
        Ok(Conversation {
            talk,
            setup,
            extensions,
            sent: 0,
        })
    }

    /// The server's reply to the connection setup, with the properties of the display.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.talk.socket()
    }

    /// The major opcode of the extension with this name; `None` if the server does not have the extension.
    pub(crate) fn major(&self, name: &str) -> Option<u8> {
        let mut all = self.extensions.iter();
        all.find(|one| one.name == name).map(|one| one.major)
    }

    /// Sets the time limit for each reply from now on.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.talk.set_patience(patience);
    }

    /// Sends a request. Returns `None` if the server does not have the request's extension.
    pub(crate) fn send<R: Request>(&mut self, request: R) -> Result<Option<()>, String> {
        let Some(bytes) = self.bytes(request) else {
            return Ok(None);
        };
        self.talk.say(&bytes)?;
        self.sent = self.sent.wrapping_add(1);
        Ok(Some(()))
    }

    /// Waits until the server has handled all requests up to now. Returns true if none of them had an error.
    pub(crate) fn settle(&mut self) -> Result<bool, String> {
        self.send(GetInputFocusRequest)?;
        let mut fine = true;
        loop {
            let message = self.talk.message()?;
            fine &= message.first() != Some(&0);
            if message.first() == Some(&1) && number(&message) == self.sent {
                return Ok(fine);
            }
        }
    }

    /// Sends all requests in `questions`, and returns their replies in the same order; `None` for a request without a
    /// reply.
    pub(crate) fn ask<R: ReplyRequest + Clone>(
        &mut self,
        questions: &[R],
    ) -> Result<Vec<Option<R::Reply>>, String> {
        let mut answers = Vec::with_capacity(questions.len());
        for some in questions.chunks(AT_A_TIME) {
            self.ask_some(some, &mut answers)?;
        }
        Ok(answers)
    }

    /// Sends one request, and returns its reply; `None` if the server sent an error.
    pub(crate) fn ask_one<R: ReplyRequest + Clone>(
        &mut self,
        question: R,
    ) -> Result<Option<R::Reply>, String> {
        Ok(self.ask(&[question])?.pop().flatten())
    }

    fn ask_some<R: ReplyRequest + Clone>(
        &mut self,
        questions: &[R],
        answers: &mut Vec<Option<R::Reply>>,
    ) -> Result<(), String> {
        let from = answers.len();
        answers.extend(questions.iter().map(|_| None));
        let mut bytes = Vec::new();
        for question in questions {
            let Some(question) = self.bytes(question.clone()) else {
                return Ok(());
            };
            bytes.extend(question);
        }
        let first = self.sent.wrapping_add(1);
        self.talk.say(&bytes)?;
        self.sent = self.sent.wrapping_add(questions.len() as u16);
        let mut left = questions.len();
        while left > 0 {
            let message = self.talk.message()?;
            let kind = message.first().copied().unwrap_or(0);
            // Late replies to earlier requests have other sequence numbers.
            let at = usize::from(number(&message).wrapping_sub(first));
            if kind > 1 || at >= questions.len() {
                continue;
            }
            left -= 1;
            if kind == 1
                && let Some(answer) = answers.get_mut(from + at)
            {
                *answer = parse_reply::<R, _>(&bytes, &message);
            }
        }
        Ok(())
    }

    fn bytes<R: Request>(&self, request: R) -> Option<Vec<u8>> {
        let major = match R::EXTENSION_NAME {
            None => 0,
            Some(name) => self.major(name)?,
        };
        Some(request.serialize(major).0)
    }
}

/// The sequence number of a reply or an error.
fn number(message: &[u8]) -> u16 {
    match message.get(2..4) {
        Some(&[a, b]) => u16::from_ne_bytes([a, b]),
        _ => 0,
    }
}
