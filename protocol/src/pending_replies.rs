//! Pairs replies, errors and events of a connection with requests.

use std::collections::VecDeque;

use crate::{SequenceNumber, Symbol};

/// The maximum number of requests that wait for a reply. A 16-bit number cannot distinguish more.
const MAX_PENDING_REQUESTS: usize = 1 << 16;
/// The maximum number of pending requests after a call of [`PendingReplies::limit`].
const FEW: usize = 4;

/// A request that waits for its reply.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) sequence: SequenceNumber,
    pub(crate) name: Symbol,
    pub(crate) major: u8,
    pub(crate) minor: u8,
    /// True if the request has a reply by the protocol; false if the request is unknown.
    pub(crate) certain: bool,
    /// The way to recognize the last reply to the request.
    pub(crate) last: Last,
    /// The name of the extension that a QueryExtension request queries; `None` for other requests.
    pub(crate) asks_for: Option<Box<str>>,
}

/// The way to recognize the last reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// The request has only one reply, the first.
    First,
    /// The last of several replies has this second byte.
    Data(u8),
}

/// The pending requests of one connection. A server replies in the order of the requests, so the sequence numbers of
/// its messages never decrease (protocol, section "Request Format").
#[derive(Debug, Default)]
pub(crate) struct PendingReplies {
    sent: SequenceNumber,
    /// The largest sequence number of a message from the server so far.
    reached: SequenceNumber,
    pending: VecDeque<Pending>,
    is_limited: bool,
}

impl PendingReplies {
    /// If `is_limited` is true, limits the number of pending requests to `FEW`.
    pub(crate) fn limit(&mut self, is_limited: bool) {
        self.is_limited = is_limited;
    }

    /// The number of pending requests: requests that wait for a reply, and unknown requests, which may have a reply.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Assigns the next sequence number to a request, and returns it.
    #[inline]
    pub(crate) fn send(&mut self) -> SequenceNumber {
        self.sent = self.sent.next();
        self.sent
    }

    /// Assigns the next sequence numbers to `more` further requests.
    pub(crate) fn send_more(&mut self, more: u64) {
        self.sent.0 += more;
    }

    /// Continues after request `last`. Earlier requests are unknown, and no replies to them are expected.
    pub(crate) fn go_on_after(&mut self, last: SequenceNumber) {
        self.sent = self.sent.max(last);
        if self.pending.is_empty() {
            self.reached = self.reached.max(last);
        }
    }

    /// The requests that wait for a reply: sequence number, major opcode, minor opcode.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (SequenceNumber, u8, u8)> + '_ {
        let certain = self.pending.iter().filter(|one| one.certain);
        certain.map(|one| (one.sequence, one.major, one.minor))
    }

    pub(crate) fn last_sequence(&self) -> SequenceNumber {
        self.sent
    }

    #[cfg(test)]
    pub(crate) fn awaiting(&self) -> usize {
        self.pending.iter().filter(|one| one.certain).count()
    }

    /// Adds a request that waits for its reply. Call the function in the order of the sequence numbers. Returns false
    /// if too many requests wait already.
    pub(crate) fn expect(&mut self, pending: Pending) -> bool {
        let most = if self.is_limited {
            FEW
        } else {
            MAX_PENDING_REQUESTS
        };
        if self.pending.len() >= most {
            // An unknown request may have no reply.
            if self.pending.pop_front_if(|first| !first.certain).is_none() {
                return false;
            }
        }
        self.pending.push_back(pending);
        true
    }

    /// Returns the request to which a reply belongs: the oldest pending request whose sequence number has these low 16
    /// bits. `data` is the second byte of the reply. If no pending request matches, returns the sequence number that
    /// the bits represent, and `None`.
    pub(crate) fn reply(&mut self, low: u16, data: u8) -> (SequenceNumber, Option<RepliedRequest>) {
        let mut number = self.forward(low, self.oldest());
        while let Some(at) = number {
            let next = self.pending.partition_point(|one| one.sequence < at);
            match self.pending.get(next).map(|one| one.sequence) {
                Some(pending) if pending == at => {
                    self.reach(at);
                    return (at, self.answered(data));
                }
                pending => number = pending.and_then(|pending| self.forward(low, pending)),
            }
        }
        (self.answer(low).unwrap_or_default(), None)
    }

    /// Returns the sequence number of the request that failed, from the low 16 bits of the number, and removes the
    /// request from the pending requests. `None` if no request has this number.
    pub(crate) fn error(&mut self, low: u16) -> Option<SequenceNumber> {
        let number = self.answer(low)?;
        if let Ok(at) = self
            .pending
            .binary_search_by_key(&number, |one| one.sequence)
        {
            self.pending.remove(at);
        }
        Some(number)
    }

    /// The sequence number of the last request that the server had handled before an event, from the low 16 bits of the
    /// number; `None` if no request has this number.
    pub(crate) fn event(&mut self, low: u16) -> Option<SequenceNumber> {
        self.answer(low)
    }

    /// Returns the full sequence number of the request to which an error or event refers; `low` is the number's lower
    /// half. The server replies in order, so the number is not after the first request that waits for a reply. The
    /// function returns the newest such number, because the server and the sockets rarely contain 2^16 requests without
    /// a reply.
    fn answer(&mut self, low: u16) -> Option<SequenceNumber> {
        let bound = self.pending.iter().find(|one| one.certain);
        let bound = bound.map_or(self.sent, |one| one.sequence);
        let newest = SequenceNumber::widen(low, bound).filter(|number| *number >= self.reached);
        match newest.or_else(|| self.forward(low, self.reached)) {
            Some(number) => {
                self.reach(number);
                Some(number)
            }
            // Numbers decrease only if the stream is damaged.
            None => SequenceNumber::widen(low, self.sent),
        }
    }

    /// The first number from `from` on whose low 16 bits are `low`; `None` if no request with this number was sent.
    /// Client libraries widen numbers in the same way. More than 65536 requests can be in flight if one of them has a
    /// reply.
    fn forward(&self, low: u16, from: SequenceNumber) -> Option<SequenceNumber> {
        let ahead = low.wrapping_sub(from.0 as u16);
        let number = SequenceNumber(from.0 + u64::from(ahead));
        (number <= self.sent).then_some(number)
    }

    /// The sequence number of the first request to which a reply may belong.
    fn oldest(&self) -> SequenceNumber {
        let front = self
            .pending
            .front()
            .map_or(self.reached, |one| one.sequence);
        self.reached.max(front)
    }

    /// Notes that the server has reached this request: all replies to earlier requests have arrived.
    fn reach(&mut self, number: SequenceNumber) {
        self.reached = number;
        while self
            .pending
            .front()
            .is_some_and(|one| one.sequence < number)
        {
            self.pending.pop_front();
        }
    }

    /// Assigns a reply to the first pending request.
    fn answered(&mut self, data: u8) -> Option<RepliedRequest> {
        let front = self.pending.front_mut()?;
        let last = match front.last {
            Last::First => true,
            Last::Data(mark) => mark == data,
        };
        let answered = RepliedRequest {
            name: front.name,
            opcode: (front.major, front.minor),
            last,
            asks_for: front.asks_for.take(),
        };
        if last {
            self.pending.pop_front();
        }
        Some(answered)
    }
}

/// The pending request that a reply belongs to.
#[derive(Debug)]
pub(crate) struct RepliedRequest {
    pub(crate) name: Symbol,
    pub(crate) opcode: (u8, u8),
    pub(crate) last: bool,
    pub(crate) asks_for: Option<Box<str>>,
}
