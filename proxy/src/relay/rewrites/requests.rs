//! Splits the bytes of a client into requests, so that some requests can be changed.

use x11prof_protocol::ByteOrder;

use super::memory::LONGEST_QUESTION;

/// The next piece of a client's bytes, as far as they have arrived.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestPiece {
    /// More bytes are needed to find the next piece.
    Wait,
    /// The next bytes, this many, belong to the current request, or to a stream that cannot be followed.
    Rest(usize),
    /// A request begins, and its first `here` bytes have arrived, at least its header. `whole` is true if `may_be`
    /// selected the request and these bytes are all of it.
    Request { here: usize, whole: bool },
}

/// The position in the stream of a client's bytes.
#[derive(Debug)]
pub(super) struct RequestSplitter {
    order: ByteOrder,
    big_requests: u8,
    /// True if BIG-REQUESTS was enabled, so that a length of 0 marks a long request.
    big: bool,
    /// The number of bytes of the current request that are still to come.
    rest: u64,
    /// True after a request without a length, whose end is unknown.
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

    /// Finds the next piece at the start of `bytes`, and skips it. `bytes` must begin at the end of the previous piece.
    /// `may_be` returns true for the major opcodes of requests that are needed whole.
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
