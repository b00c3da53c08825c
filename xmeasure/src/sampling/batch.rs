//! Requests that are sent together after a pause, and what they take in a stream.

use std::io;

use crate::sampling::executor::{Executor, Pause};

/// How often a batch is repeated in its stream.
const STREAMED: usize = 8;

/// Requests that are sent together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: u64,
    /// Replies that they bring.
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

    /// One request.
    pub(crate) fn single(bytes: Vec<u8>, answered: bool) -> Batch {
        Batch::new(bytes, 1, u64::from(answered))
    }

    /// The same, `times` times.
    pub(crate) fn repeated(&self, times: usize) -> Batch {
        Batch {
            bytes: self.bytes.repeat(times),
            requests: self.requests * times as u64,
            answers: self.answers * times as u64,
        }
    }

    /// One batch after the other.
    pub(crate) fn then(&self, next: &Batch) -> Batch {
        Batch {
            bytes: [self.bytes.as_slice(), &next.bytes].concat(),
            requests: self.requests + next.requests,
            answers: self.answers + next.answers,
        }
    }

    /// Its processor time after such a pause, in microseconds; `None` where it cannot be read.
    pub(crate) fn after(
        &self,
        server: &mut dyn Executor,
        pause: &[Pause],
    ) -> io::Result<Option<f64>> {
        server.after(pause, self)
    }
}

/// A batch once, and several times in a stream.
pub(crate) struct Streamed {
    pub(crate) once: Batch,
    stream: Batch,
    times: usize,
}

impl Streamed {
    /// A batch, and a short stream of it.
    pub(crate) fn new(once: Batch) -> Streamed {
        Streamed::repeated(once, STREAMED)
    }

    /// A batch, and a stream of `times` of it: at least two.
    pub(crate) fn repeated(once: Batch, times: usize) -> Streamed {
        let times = times.max(2);
        Streamed {
            stream: once.repeated(times),
            once,
            times,
        }
    }

    /// What the batch takes in a stream of itself, in microseconds, which prices are of. (The same
    /// batch by itself a moment later may be as cold as after a sleep, where others use the
    /// processor's core.)
    pub(crate) fn streamed(&self, server: &mut dyn Executor) -> io::Result<Option<f64>> {
        let once = self.once.after(server, &[])?;
        let stream = self.stream.after(server, &[])?;
        let more = once.zip(stream).map(|(once, stream)| stream - once);
        Ok(more.map(|more| more / (self.times - 1) as f64))
    }
}
