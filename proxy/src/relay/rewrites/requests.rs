//! Splits the bytes of a client into requests, so that some requests can be changed.

use x11prof_protocol::ByteOrder;

use super::memory::LONGEST_QUESTION;

/// The result of [`RequestSplitter::next`]: the next part of the client's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestPiece {
    /// More bytes must arrive before the next part can be found.
    Wait,
    /// The given number of bytes belong to the current request, or to a stream whose requests cannot be found any more.
    Rest(usize),
    /// A request begins. Its first `here` bytes have arrived, at least its header. `whole` is true if these bytes are
    /// the whole request, which is required for requests that `may_be` selects.
    Request { here: usize, whole: bool },
}

/// Splits the bytes of a client into requests. Stores the position in the current request.
#[derive(Debug)]
pub(super) struct RequestSplitter {
    order: ByteOrder,
    big_requests: u8,
    /// True if BIG-REQUESTS was enabled, so that a length of 0 marks a long request.
    big: bool,
    /// The number of bytes of the current request that have not been processed.
    rest: u64,
    /// True after a request with an invalid length, whose end is unknown.
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

    /// Finds the next part at the start of `bytes`, which must begin at the end of the previous part. `may_be`
    /// returns true for the major opcodes of requests that are needed whole.
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
