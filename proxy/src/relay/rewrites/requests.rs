//! Splits a client's stream into requests, as far as some of them are changed.

use x11prof_protocol::ByteOrder;

use super::memory::LONGEST_QUESTION;

/// The next piece of a client's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestPiece {
    /// More bytes are needed to tell.
    Wait,
    /// The number of bytes that belong to a request under way, or to a stream that cannot be followed.
    Rest(usize),
    /// A request begins. Its first `here` bytes are there, at least its header; `whole` if it was wanted whole and
    /// these are all.
    Request { here: usize, whole: bool },
}

/// The position in a client's stream.
#[derive(Debug)]
pub(super) struct RequestSplitter {
    order: ByteOrder,
    big_requests: u8,
    /// BIG-REQUESTS was enabled: lengths of 0 mean long ones.
    big: bool,
    /// Bytes of the current request that are still to come.
    rest: u64,
    /// A request had no length, so the end of it is unknown.
    lost: bool,
}

impl RequestSplitter {
    pub(super) fn new(order: ByteOrder, big_requests: u8) -> RequestSplitter {
        RequestSplitter {
            order,
            big_requests,
            big: false,
            rest: 0,
            lost: false,
        }
    }

    /// Finds the next piece at the start of `bytes`, which begin at the end of the last step, and steps over it.
    /// `may_be` says which major opcodes are wanted whole.
    pub(super) fn next(&mut self, bytes: &[u8], may_be: impl Fn(u8) -> bool) -> RequestPiece {
        if self.lost {
            return RequestPiece::Rest(bytes.len());
        }
        if self.rest > 0 {
            let here = usize::try_from(self.rest).map_or(bytes.len(), |rest| rest.min(bytes.len()));
            self.rest -= here as u64;
            return RequestPiece::Rest(here);
        }
        let (Some(&major), Some(units)) = (bytes.first(), self.order.u16(bytes, 2)) else {
            return RequestPiece::Wait;
        };
        let (header, len) = match units {
            0 if self.big => match self.order.u32(bytes, 4) {
                None => return RequestPiece::Wait,
                Some(units) => (8, 4 * u64::from(units)),
            },
            units => (4, 4 * u64::from(units)),
        };
        if len < header {
            self.lost = true;
            return RequestPiece::Rest(bytes.len());
        }
        if may_be(major) && header == 4 && len <= LONGEST_QUESTION as u64 {
            // The request is short, so its length fits.
            let here = len as usize;
            return match bytes.len() < here {
                true => RequestPiece::Wait,
                false => RequestPiece::Request { here, whole: true },
            };
        }
        self.big |= major == self.big_requests && major != 0;
        let here = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
        self.rest = len - here as u64;
        RequestPiece::Request { here, whole: false }
    }
}
