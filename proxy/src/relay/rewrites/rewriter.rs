//! Rewrites the bytes of one connection, without I/O.
//!
//! If the rewriter replies to a request itself, the server receives a NoOperation of equal length, so that server and
//! client count the same number of requests. The rewriter replies at once only if no other message may precede the
//! reply: each earlier request has received its reply, or can have neither a reply nor an error.
//!
//! Otherwise the server gets the request unchanged, and nothing is gained. An event that the server sent before it
//! read the NoOperation arrives after the rewriter's reply. The rewriter gives the event the reply's sequence number,
//! because a client's sequence numbers must never decrease.

use std::collections::VecDeque;

use x11prof_protocol::ByteOrder;
use x11prof_trace::Direction;

use super::memory::{Memory, NAME_AT, REPLY, RepeatableRequest};
use super::reply_splitter::{self, MessageKind, ReplySplitter};
use super::requests::{self, RequestSplitter};
use super::{Counts, Opcodes, Rewrite};

/// Core opcodes (protocol encoding, "Requests").
const LIST_FONTS_WITH_INFO: u8 = 50;
const QUERY_EXTENSION: u8 = 98;
const LIST_EXTENSIONS: u8 = 99;
const NO_OPERATION: u8 = 127;
/// Extensions with which a client and its server share memory.
const SHARING: [&[u8]; 2] = [b"MIT-SHM", b"DRI3"];
/// A character that no extension's name contains.
const NO_LETTER: u8 = b'?';
/// The largest length of a reply to ListExtensions in units of 4 bytes: 255 names of 255 bytes.
const LONGEST_LIST: u32 = 255 * 256 / 4;
/// Minor opcodes of RANDR (randrproto 1.3). Both requests have the same fields, and so have their replies.
const GET_SCREEN_RESOURCES: u8 = 8;
const GET_SCREEN_RESOURCES_CURRENT: u8 = 25;
/// The server's sequence numbers have 16 bits. After this many requests without a message from the server, the rewriter
/// forwards requests to the server, so that each number stays unambiguous.
const FAR: u64 = 1 << 15;

/// Rewrites the bytes of one connection.
pub(crate) struct Rewriter<'a> {
    rewrites: &'a [Rewrite],
    opcodes: Opcodes,
    order: ByteOrder,
    requests: RequestSplitter,
    answers: ReplySplitter,
    memory: Memory,
    /// Bytes of incomplete messages, from the client and from the server.
    held: [Vec<u8>; 2],
    /// Replies of the rewriter that wait for the end of the server's current message.
    ready: Vec<u8>,
    /// The numbers of ListExtensions requests without replies so far. The rewriter removes names from their replies.
    lists: VecDeque<u64>,
    /// The bytes of an incomplete reply to ListExtensions.
    list: Vec<u8>,
    /// The number of requests so far.
    number: u64,
    /// The number of the last request, other than NoOperation, that was sent to the server.
    last_given: u64,
    /// The number of the last request to which the rewriter replied.
    last_answered: u64,
    /// The sequence number of the server's last message, extended from 16 bits.
    spoken_of: u64,
    /// The number of the last request for which the server can send no more messages.
    done: u64,
    /// The number of the last ListFontsWithInfo, which has several replies.
    many_replies: u64,
    /// True if the rewriter must no longer reply: the client has enabled a RECORD context, which has endless replies,
    /// or sequence numbers are ambiguous.
    answers_no_more: bool,
    pub(crate) counts: Counts,
}

impl<'a> Rewriter<'a> {
    /// Creates the rewriter of a connection, before the client sends any message after its setup.
    pub(crate) fn new(rewrites: &'a [Rewrite], opcodes: Opcodes, order: ByteOrder) -> Rewriter<'a> {
        Rewriter {
            rewrites,
            opcodes,
            order,
            requests: RequestSplitter::new(order, opcodes.big_requests),
            answers: ReplySplitter::new(order),
            memory: Memory::default(),
            held: [Vec::new(), Vec::new()],
            ready: Vec::new(),
            lists: VecDeque::new(),
            list: Vec::new(),
            number: 0,
            last_given: 0,
            last_answered: 0,
            spoken_of: 0,
            done: 0,
            many_replies: 0,
            answers_no_more: false,
            counts: Counts::default(),
        }
    }

    /// Returns a rewriter that begins after `number` requests whose replies are complete, for tests.
    #[cfg(test)]
    pub(super) fn after(self, number: u64) -> Rewriter<'a> {
        Rewriter {
            number,
            last_given: number,
            spoken_of: number,
            done: number,
            ..self
        }
    }

    /// Processes bytes from the client. Writes the bytes for the server to `server`, and any replies to `client`.
    pub(crate) fn take_from_client(
        &mut self,
        bytes: &[u8],
        server: &mut Vec<u8>,
        client: &mut Vec<u8>,
    ) {
        let mut held = std::mem::take(&mut self.held[0]);
        held.extend_from_slice(bytes);
        let mut rest = held.as_slice();
        while !rest.is_empty() {
            let may_be = |major| {
                let hidden =
                    major == QUERY_EXTENSION && self.rewrites.contains(&Rewrite::NoSharing);
                hidden || RepeatableRequest::may_be(major, self.rewrites).is_some()
            };
            let here = match self.requests.next(rest, may_be) {
                requests::RequestPiece::Wait => break,
                requests::RequestPiece::Rest(here) => {
                    server.extend_from_slice(&rest[..here]);
                    here
                }
                requests::RequestPiece::Request { here, whole } => {
                    self.request(&rest[..here], whole, server);
                    here
                }
            };
            rest = &rest[here..];
        }
        self.held[0] = rest.to_vec();
        self.give(client);
    }

    /// Processes a request, or the beginning of a request that is not needed whole.
    fn request(&mut self, request: &[u8], whole: bool, server: &mut Vec<u8>) {
        self.number += 1;
        let [major, minor] = [0, 1].map(|at| request.get(at).copied().unwrap_or_default());
        let question = RepeatableRequest::may_be(major, self.rewrites)
            .filter(|_| whole)
            .and_then(|rewrite| RepeatableRequest::of(rewrite, request, self.order));
        if let Some(question) = question {
            let answer = self.memory.answer(&question).filter(|_| self.is_free());
            if let Some(answer) = answer {
                self.answer(question.rewrite, answer);
                server.push(NO_OPERATION);
                server.extend_from_slice(&request[1..]);
                return;
            }
            self.memory.ask(self.number, question);
        }
        if major != NO_OPERATION {
            self.last_given = self.number;
        }
        if major == LIST_FONTS_WITH_INFO {
            self.many_replies = self.number;
        }
        self.answers_no_more |= major == self.opcodes.record && major != 0;
        let probes = major == self.opcodes.randr && major != 0 && minor == GET_SCREEN_RESOURCES;
        let at = server.len();
        server.extend_from_slice(request);
        if probes && self.rewrites.contains(&Rewrite::CurrentResources) {
            server[at + 1] = GET_SCREEN_RESOURCES_CURRENT;
            self.counts[Rewrite::CurrentResources.index()] += 1;
        }
        if self.rewrites.contains(&Rewrite::NoSharing) {
            match major {
                QUERY_EXTENSION if whole => self.hide_sharing(&mut server[at..]),
                LIST_EXTENSIONS => self.lists.push_back(self.number),
                _ => {}
            }
        }
    }

    /// Replaces the name of an extension that shares memory with a name that no server knows.
    fn hide_sharing(&mut self, request: &mut [u8]) {
        let len = self.order.u16(request, 4).map(usize::from);
        let name = len.and_then(|len| request.get_mut(NAME_AT..NAME_AT + len));
        if let Some(name) = name.filter(|name| SHARING.contains(&&**name)) {
            name.fill(NO_LETTER);
            self.counts[Rewrite::NoSharing.index()] += 1;
        }
    }

    /// Writes the complete reply to a ListExtensions to `client`, without the extensions that share memory.
    fn list_without_sharing(&mut self, client: &mut Vec<u8>) {
        let mut reply = std::mem::take(&mut self.list);
        let (header, mut rest) = reply.split_at(REPLY);
        let (mut names, mut count) = (Vec::new(), 0);
        for _ in 0..header[1] {
            let name = rest.first().map(|len| 1 + usize::from(*len));
            let Some((name, after)) = name.and_then(|len| rest.split_at_checked(len)) else {
                // The server's reply is invalid.
                client.append(&mut reply);
                return;
            };
            if !SHARING.contains(&&name[1..]) {
                names.extend_from_slice(name);
                count += 1;
            }
            rest = after;
        }
        if count < header[1] {
            names.resize(names.len().next_multiple_of(4), 0);
            let units = names.len() as u32 / 4;
            reply[1] = count;
            reply[4..8].copy_from_slice(&self.order.u32_bytes(units));
            reply.truncate(REPLY);
            reply.append(&mut names);
            self.counts[Rewrite::NoSharing.index()] += 1;
        }
        client.append(&mut reply);
    }

    /// True if the rewriter may reply to the current request itself.
    fn is_free(&self) -> bool {
        self.done >= self.last_given && self.number - self.spoken_of < FAR && !self.answers_no_more
    }

    fn answer(&mut self, rewrite: Rewrite, mut answer: [u8; REPLY]) {
        write_number(self.order, &mut answer, self.number);
        self.ready.extend_from_slice(&answer);
        self.last_answered = self.number;
        self.counts[rewrite.index()] += 1;
    }

    /// Processes bytes from the server, and writes the bytes for the client to `client`.
    pub(crate) fn take_from_server(&mut self, bytes: &[u8], client: &mut Vec<u8>) {
        let mut held = std::mem::take(&mut self.held[1]);
        held.extend_from_slice(bytes);
        let mut rest = held.as_slice();
        while !rest.is_empty() {
            let here = match self.answers.next(rest) {
                reply_splitter::ReplyPiece::Wait => break,
                reply_splitter::ReplyPiece::Rest(here) => {
                    let listing = !self.list.is_empty();
                    let to = if listing {
                        &mut self.list
                    } else {
                        &mut *client
                    };
                    to.extend_from_slice(&rest[..here]);
                    if listing && self.answers.are_between() {
                        self.list_without_sharing(client);
                    }
                    here
                }
                reply_splitter::ReplyPiece::Message { kind, alone } => {
                    let at = client.len();
                    client.extend_from_slice(&rest[..REPLY]);
                    self.message(kind, alone, &mut client[at..]);
                    let is_last = matches!(kind, MessageKind::Reply | MessageKind::Error);
                    if is_last && self.lists.front() == Some(&self.spoken_of) {
                        self.lists.pop_front();
                        let units = self.order.u32(rest, 4);
                        if !alone && units.is_some_and(|units| units <= LONGEST_LIST) {
                            self.list = client.split_off(at);
                        }
                    }
                    REPLY
                }
            };
            self.give(client);
            rest = &rest[here..];
        }
        self.held[1] = rest.to_vec();
    }

    /// Processes a message's first 32 bytes.
    fn message(&mut self, kind: MessageKind, alone: bool, bytes: &mut [u8]) {
        let Some(number) = self
            .order
            .u16(bytes, 2)
            .filter(|_| kind != MessageKind::Unnumbered)
        else {
            return;
        };
        let ahead = number.wrapping_sub(self.spoken_of as u16);
        let number = self.spoken_of + u64::from(ahead);
        if number > self.number || self.number - self.spoken_of > u64::from(u16::MAX) {
            // The number is ambiguous, so the message's request is unknown. Xlib and XCB prevent this case.
            self.answers_no_more = true;
            return;
        }
        self.spoken_of = number;
        let done = match kind {
            // An event with this number may precede an error of the same request.
            MessageKind::Event => number.saturating_sub(1),
            MessageKind::Reply if number == self.many_replies => number.saturating_sub(1),
            _ => number,
        };
        self.done = self.done.max(done);
        if kind == MessageKind::Event {
            self.memory.reached(done, None, self.order);
            if number < self.last_answered {
                write_number(self.order, bytes, self.last_answered);
            }
            return;
        }
        let reply = <[u8; REPLY]>::try_from(&*bytes).ok();
        let reply = reply.filter(|_| kind == MessageKind::Reply && alone);
        self.memory.reached(number, reply, self.order);
    }

    /// Sends the pending replies to the client if the position is between messages.
    fn give(&mut self, client: &mut Vec<u8>) {
        if self.answers.are_between() {
            client.append(&mut self.ready);
        }
    }

    /// Removes and returns the bytes that are held back in a direction. Called at the end of its stream.
    pub(crate) fn end(&mut self, direction: Direction) -> Vec<u8> {
        match direction {
            Direction::ToServer => std::mem::take(&mut self.held[0]),
            Direction::ToClient => {
                let mut list = std::mem::take(&mut self.list);
                list.append(&mut self.held[1]);
                list
            }
        }
    }
}

/// Writes the low 16 bits of a sequence number to its place in a message.
fn write_number(order: ByteOrder, message: &mut [u8], number: u64) {
    if let Some(field) = message.get_mut(2..4) {
        field.copy_from_slice(&order.u16_bytes(number as u16));
    }
}
