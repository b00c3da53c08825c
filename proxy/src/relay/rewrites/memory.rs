//! A connection's memory of answers that stay the same while it lasts.
//!
//! An atom exists until the server resets. A server resets when its last client has gone (protocol, "Connection
//! Close"), so not during this connection. The list of extensions changes no sooner. An InternAtom that asks only for
//! an existing atom may be answered None now and an atom later; this None is not kept.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::ByteOrder;

use super::Rewrite;

/// Core opcodes (protocol encoding, "Requests").
const INTERN_ATOM: u8 = 16;
const QUERY_EXTENSION: u8 = 98;
/// Bytes before the name in both, and of both replies.
pub(super) const NAME_AT: usize = 8;
pub(super) const REPLY: usize = 32;
/// The longest name that is remembered, in bytes.
const LONGEST_NAME: usize = 256;
/// The most answers that are kept, and the most open requests.
const ROOM: usize = 4096;

/// The longest request that may be a request.
pub(super) const LONGEST_QUESTION: usize = NAME_AT + LONGEST_NAME;

/// A request whose answer stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RepeatableQuestion {
    pub(super) rewrite: Rewrite,
    name: Vec<u8>,
}

impl RepeatableQuestion {
    /// The rewrite that may answer requests of this opcode.
    pub(super) fn may_be(major: u8, rewrites: &[Rewrite]) -> Option<Rewrite> {
        let rewrite = match major {
            INTERN_ATOM => Rewrite::AnswerAtoms,
            QUERY_EXTENSION => Rewrite::AnswerQueries,
            _ => return None,
        };
        rewrites.contains(&rewrite).then_some(rewrite)
    }

    /// The question that a whole request is; `None` if its lengths contradict each other, for that is
    /// the server's to refuse.
    pub(super) fn of(
        rewrite: Rewrite,
        request: &[u8],
        order: ByteOrder,
    ) -> Option<RepeatableQuestion> {
        let len = usize::from(order.u16(request, 4)?);
        if NAME_AT + len.next_multiple_of(4) != request.len() {
            return None;
        }
        let name = request.get(NAME_AT..NAME_AT + len)?.to_vec();
        Some(RepeatableQuestion { rewrite, name })
    }
}

/// The answers of a connection, and the requests that wait for theirs.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: HashMap<RepeatableQuestion, [u8; REPLY]>,
    asked: VecDeque<(u64, RepeatableQuestion)>,
}

impl Memory {
    pub(super) fn answer(&self, question: &RepeatableQuestion) -> Option<[u8; REPLY]> {
        self.answers.get(question).copied()
    }

    /// The server was asked this by the request of this number.
    pub(super) fn ask(&mut self, number: u64, question: RepeatableQuestion) {
        if self.asked.len() < ROOM {
            self.asked.push_back((number, question));
        }
    }

    /// The server has reached the request `number`. `reply` has the bytes of the reply, if it is no longer than
    /// `REPLY`.
    pub(super) fn reached(&mut self, number: u64, reply: Option<[u8; REPLY]>, order: ByteOrder) {
        while let Some((asked, _)) = self.asked.front()
            && *asked <= number
        {
            let Some((asked, question)) = self.asked.pop_front() else {
                return;
            };
            let answer = reply.filter(|_| asked == number);
            let stays = |answer: &[u8; REPLY]| match question.rewrite {
                Rewrite::AnswerAtoms => order.u32(answer, 8).is_some_and(|atom| atom != 0),
                _ => true,
            };
            if let Some(answer) = answer.filter(stays)
                && self.answers.len() < ROOM
            {
                self.answers.insert(question, answer);
            }
        }
    }
}
