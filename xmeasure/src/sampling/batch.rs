//! A batch: requests that are sent together, after a pause or in a stream.

/// Requests that are sent together, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: u64,
    /// The number of replies to the requests.
    pub(crate) answers: u64,
}

impl Batch {
    /// Creates a batch of `requests` requests with `answers` replies in all.
    pub(crate) fn new(bytes: Vec<u8>, requests: u64, answers: u64) -> Batch {
        Batch {
            bytes,
            requests,
            answers,
        }
    }

    /// Creates a batch of one request; `answered` is true if it has a reply.
    pub(crate) fn single(bytes: Vec<u8>, answered: bool) -> Batch {
        Batch::new(bytes, 1, u64::from(answered))
    }

    /// A batch that contains this batch `times` times.
    pub(crate) fn repeated(&self, times: usize) -> Batch {
        Batch {
            bytes: self.bytes.repeat(times),
            requests: self.requests * times as u64,
            answers: self.answers * times as u64,
        }
    }
}
