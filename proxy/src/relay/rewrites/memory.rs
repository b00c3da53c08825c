//! Caches the replies of a connection that do not change during the connection.
//!
//! An atom exists until the server resets. A server resets when its last client has disconnected (protocol,
//! "Connection Close"), so no atom disappears during this connection. The list of extensions does not change either.
//! A request InternAtom with only-if-exists may return None now and an atom later, so None is not cached.

use std::collections::{HashMap, VecDeque};

use x11prof_protocol::ByteOrder;

use super::Rewrite;

/// Core opcodes (protocol encoding, "Requests").
const INTERN_ATOM: u8 = 16;
const QUERY_EXTENSION: u8 = 98;
/// The offset of the name in InternAtom and QueryExtension; the constant `REPLY` is the length of their replies.
pub(super) const NAME_AT: usize = 8;
pub(super) const REPLY: usize = 32;
/// The longest cached name, in bytes.
const LONGEST_NAME: usize = 256;
/// The maximum number of cached replies, and of pending requests.
const ROOM: usize = 4096;

/// The maximum length in bytes of a request whose reply is cached.
pub(super) const LONGEST_QUESTION: usize = NAME_AT + LONGEST_NAME;

/// A request whose reply does not change (InternAtom or QueryExtension).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RepeatableRequest {
    pub(super) rewrite: Rewrite,
    name: Vec<u8>,
}

impl RepeatableRequest {
    /// The rewrite that replies to repeated requests of this major opcode; `None` if it is not among `rewrites`.
    pub(super) fn may_be(major: u8, rewrites: &[Rewrite]) -> Option<Rewrite> {
        let rewrite = match major {
            INTERN_ATOM => Rewrite::AnswerAtoms,
            QUERY_EXTENSION => Rewrite::AnswerQueries,
            _ => return None,
        };
        rewrites.contains(&rewrite).then_some(rewrite)
    }

    /// Parses a whole request; `None` if its lengths are inconsistent or only-if-exists is no BOOL, because the server
    /// must then reject it.
    pub(super) fn of(
        rewrite: Rewrite,
        request: &[u8],
        order: ByteOrder,
    ) -> Option<RepeatableRequest> {
        let len = usize::from(order.u16(request, 4)?);
        let is_bool =
            rewrite != Rewrite::AnswerAtoms || request.get(1).is_some_and(|bool| *bool <= 1);
        if !is_bool || NAME_AT + len.next_multiple_of(4) != request.len() {
            return None;
        }
        let name = request.get(NAME_AT..NAME_AT + len)?.to_vec();
        Some(RepeatableRequest { rewrite, name })
    }
}

/// The cached replies of a connection, and the requests that wait for their replies.
#[derive(Debug, Default)]
pub(super) struct Memory {
    answers: HashMap<RepeatableRequest, [u8; REPLY]>,
    asked: VecDeque<(u64, RepeatableRequest)>,
}

impl Memory {
    pub(super) fn answer(&self, question: &RepeatableRequest) -> Option<[u8; REPLY]> {
        self.answers.get(question).copied()
    }

    /// Adds the request with this number, which was sent to the server and has a reply.
    pub(super) fn ask(&mut self, number: u64, question: RepeatableRequest) {
        if self.asked.len() < ROOM {
            self.asked.push_back((number, question));
        }
    }

    /// Processes the server's message for the request with this number: the server has handled the requests up to it.
    /// `reply` is the request's reply; `None` for other messages, and for a reply that is longer than `REPLY` bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interned_atom_with_an_invalid_bool_is_left_to_the_server() {
        for (only_if_exists, expected) in [(0, true), (1, true), (2, false), (255, false)] {
            let request = [16, only_if_exists, 3, 0, 2, 0, 0, 0, b'A', b'B', 0, 0];
            let (rewrite, order) = (Rewrite::AnswerAtoms, ByteOrder::Little);
            let found = RepeatableRequest::of(rewrite, &request, order);
            assert_eq!(found.is_some(), expected, "{only_if_exists}");
        }
        // The byte is unused in QueryExtension.
        let request = [98, 2, 3, 0, 2, 0, 0, 0, b'A', b'B', 0, 0];
        let (rewrite, order) = (Rewrite::AnswerQueries, ByteOrder::Little);
        assert!(RepeatableRequest::of(rewrite, &request, order).is_some());
    }
}
