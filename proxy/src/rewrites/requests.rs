//! A client's requests, one after the other, as far as it takes to change some of them.

use x11prof_protocol::ByteOrder;

use super::memory::LONGEST_QUESTION;

/// What comes next of a client's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More bytes are needed to tell.
    Wait,
    /// This many bytes belong to a request that is under way, or to one that cannot be followed.
    Rest(usize),
    /// A request begins. This many of its bytes are there, its header at least; `whole` where it is one that is wanted
    /// whole, and these are all.
    Request { here: usize, whole: bool },
}

/// Where a client's stream is.
#[derive(Debug)]
pub(super) struct Requests {
    order: ByteOrder,
    big_requests: u8,
    /// BIG-REQUESTS was enabled: lengths of 0 mean long ones.
    big: bool,
    /// Bytes of the current request that are still to come.
    rest: u64,
    /// A request of no length: nothing after it can be told apart.
    lost: bool,
}

impl Requests {
    pub(super) fn new(order: ByteOrder, big_requests: u8) -> Requests {
        Requests {
            order,
            big_requests,
            big: false,
            rest: 0,
            lost: false,
        }
    }

    /// Looks at `bytes`, which begin where the last step has ended, and steps over what it says is there.
    /// `may_be` tells of a major opcode whether a request of it is wanted whole.
    pub(super) fn next(&mut self, bytes: &[u8], may_be: impl Fn(u8) -> bool) -> Next {
        if self.lost {
            return Next::Rest(bytes.len());
        }
        if self.rest > 0 {
            let here = usize::try_from(self.rest).map_or(bytes.len(), |rest| rest.min(bytes.len()));
            self.rest -= here as u64;
            return Next::Rest(here);
        }
        let (Some(&major), Some(units)) = (bytes.first(), self.order.u16(bytes, 2)) else {
            return Next::Wait;
        };
        let (header, len) = match units {
            0 if self.big => match self.order.u32(bytes, 4) {
                None => return Next::Wait,
                Some(units) => (8, 4 * u64::from(units)),
            },
            units => (4, 4 * u64::from(units)),
        };
        if len < header {
            self.lost = true;
            return Next::Rest(bytes.len());
        }
        if may_be(major) && header == 4 && len <= LONGEST_QUESTION as u64 {
            // It is short, so that the length fits.
            let here = len as usize;
            return match bytes.len() < here {
                true => Next::Wait,
                false => Next::Request { here, whole: true },
            };
        }
        self.big |= major == self.big_requests && major != 0;
        let here = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
        self.rest = len - here as u64;
        Next::Request { here, whole: false }
    }
}
