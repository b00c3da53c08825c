//! Requests that are sent together, after a pause or in a stream.

/// Requests that are sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: u64,
    /// The number of their replies.
    pub(crate) answers: u64,
}

impl Batch {
    /// The requests in `bytes`.
    pub(crate) fn new(bytes: Vec<u8>, requests: u64, answers: u64) -> Batch {
        Batch {
            bytes,
            requests,
            answers,
        }
    }

    /// A batch of one request.
    pub(crate) fn single(bytes: Vec<u8>, answered: bool) -> Batch {
        Batch::new(bytes, 1, u64::from(answered))
    }

    /// The batch repeated `times` times.
    pub(crate) fn repeated(&self, times: usize) -> Batch {
        Batch {
            bytes: self.bytes.repeat(times),
            requests: self.requests * times as u64,
            answers: self.answers * times as u64,
        }
    }
}
