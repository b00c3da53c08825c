//! What a connection has been told and will not be told otherwise while it lasts.
//!
//! An atom that exists stays until the server resets, and a server resets when its last client has gone
//! (protocol, "Connection Close"), which is not while this one is there. Which extensions there are changes no sooner.
//! None in answer to an InternAtom that asks only whether there is such an atom may change at any time, and is not kept.

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
/// Answers that are remembered, and questions whose answers are awaited, at most.
const ROOM: usize = 4096;

/// The longest request that may be a question.
pub(super) const LONGEST_QUESTION: usize = NAME_AT + LONGEST_NAME;

/// A question whose answer stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) rewrite: Rewrite,
    name: Vec<u8>,
}

impl Question {
    /// Whether a request of this opcode may be one, for these rewrites.
    pub(super) fn may_be(major: u8, rewrites: &[Rewrite]) -> Option<Rewrite> {
        let rewrite = match major {
            INTERN_ATOM => Rewrite::AnswerAtoms,
            QUERY_EXTENSION => Rewrite::AnswerQueries,
            _ => return None,
        };
        rewrites.contains(&rewrite).then_some(rewrite)
    }

    /// The question that a whole request is; `None` where its lengths contradict each other, for that is
    /// the server's to refuse.
    pub(super) fn of(rewrite: Rewrite, request: &[u8], order: ByteOrder) -> Option<Question> {
        let len = usize::from(order.u16(request, 4)?);
        if NAME_AT + len.next_multiple_of(4) != request.len() {
            return None;
        }
        let name = request.get(NAME_AT..NAME_AT + len)?.to_vec();
        Some(Question { rewrite, name })
    }
}

/// The answers of a connection, and the questions that wait for theirs.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: HashMap<Question, [u8; REPLY]>,
    asked: VecDeque<(u64, Question)>,
}

impl Memory {
    pub(super) fn answer(&self, question: &Question) -> Option<[u8; REPLY]> {
        self.answers.get(question).copied()
    }

    /// The server was asked this by the request of this number.
    pub(super) fn ask(&mut self, number: u64, question: Question) {
        if self.asked.len() < ROOM {
            self.asked.push_back((number, question));
        }
    }

    /// The server has got as far as the request of this number; `reply` are the bytes of its reply, where it is
    /// one that is no longer than these.
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
