//! The time of a batch within a stream of equal batches.

use std::io;

use crate::sampling::batch::Batch;
use crate::sampling::executor::Executor;

/// The number of a batch's repetitions in its stream.
const STREAMED: usize = 8;

/// A batch, and a stream that contains it several times.
pub(crate) struct Streamed {
    pub(crate) once: Batch,
    stream: Batch,
    times: usize,
}

impl Streamed {
    /// Creates a batch, and a short stream that repeats it.
    pub(crate) fn new(once: Batch) -> Streamed {
        Streamed::repeated(once, STREAMED)
    }

    /// Creates a batch, and a stream that repeats it `times` times, at least twice.
    pub(crate) fn repeated(once: Batch, times: usize) -> Streamed {
        let times = times.max(2);
        Streamed {
            stream: once.repeated(times),
            once,
            times,
        }
    }

    /// The time of the batch within a stream of equal batches, in microseconds, which is the time that costs describe;
    /// `None` if it cannot be read. (A single batch shortly after another one may be as slow as after a sleep, if other
    /// processes use the core.)
    pub(crate) fn streamed(&self, server: &mut dyn Executor) -> io::Result<Option<f64>> {
        let once = server.after(&[], &self.once)?;
        let stream = server.after(&[], &self.stream)?;
        let more = once.zip(stream).map(|(once, stream)| stream - once);
        Ok(more.map(|more| more / (self.times - 1) as f64))
    }
}
