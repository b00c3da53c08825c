//! Sequence numbers of requests, widened from the 16 bits on the wire.

use std::fmt;

/// The number of a request on its connection; the first request has number 1. The wire contains only the low 16 bits
/// (protocol, section "Request Format"). This number never wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SequenceNumber(pub u64);

impl SequenceNumber {
    /// The number of the request that follows.
    pub fn next(self) -> SequenceNumber {
        SequenceNumber(self.0 + 1)
    }

    /// The largest sequence number up to `latest` with the low 16 bits `low`.
    ///
    /// `latest` is the last request sent, because the server cannot have replied to a later one. `None` if there is no
    /// such number (a reply before any request).
    pub fn widen(low: u16, latest: SequenceNumber) -> Option<SequenceNumber> {
        let behind = (latest.0 as u16).wrapping_sub(low);
        latest.0.checked_sub(u64::from(behind)).map(SequenceNumber)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::SequenceNumber;

    #[test]
    fn sequence_numbers_widen_back_from_the_latest_request() {
        let widen = |low, latest| SequenceNumber::widen(low, SequenceNumber(latest));
        assert_eq!(widen(5, 7), Some(SequenceNumber(5)));
        assert_eq!(widen(7, 7), Some(SequenceNumber(7)));
        assert_eq!(widen(0xFFFF, 0x1_0002), Some(SequenceNumber(0xFFFF)));
        assert_eq!(widen(2, 0x7_0002), Some(SequenceNumber(0x7_0002)));
        assert_eq!(widen(9, 7), None);
    }
}
