//! Requests that are sent together behind a pause, and as streams have them.

use std::io;

use crate::sampling::live::LiveServer;

/// Requests of the batches whose replies and events are counted.
pub(crate) const BATCH: usize = 16;
/// So often on end: all but the first as streams have them, which is what prices are of.
const ON_END: usize = 8;

/// Requests that are sent together.
pub(crate) struct Batch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) requests: usize,
    answers: u64,
}

impl Batch {
    pub(crate) fn once(bytes: Vec<u8>, requests: usize, answers: u64) -> Batch {
        Batch {
            bytes,
            requests,
            answers,
        }
    }

    /// One request many times.
    pub(crate) fn repeated(bytes: &[u8], answered: bool) -> Batch {
        Batch::once(bytes.to_vec(), 1, u64::from(answered)).times(BATCH)
    }

    fn times(&self, times: usize) -> Batch {
        Batch {
            bytes: self.bytes.repeat(times),
            requests: self.requests * times,
            answers: self.answers * times as u64,
        }
    }

    /// Its processor time behind such a pause; `None` where it cannot be read.
    pub(crate) fn after(
        &self,
        server: &mut LiveServer,
        pause: impl FnOnce(),
    ) -> io::Result<Option<f64>> {
        server.behind(pause, &self.bytes, self.requests as u64, self.answers)
    }
}

/// A batch once, and several times on end.
pub(crate) struct Repeated {
    pub(crate) once: Batch,
    on_end: Batch,
    times: usize,
}

impl Repeated {
    pub(crate) fn new(once: Batch) -> Repeated {
        Repeated::on_end(once, ON_END)
    }

    /// So often on end, twice at least.
    pub(crate) fn on_end(once: Batch, times: usize) -> Repeated {
        let times = times.max(2);
        Repeated {
            on_end: once.times(times),
            once,
            times,
        }
    }

    /// What the batch takes in a stream of itself, in microseconds: what a cold one is dearer than. The same
    /// by itself a moment later may be as cold, on a core that others have a part in.
    pub(crate) fn streamed(&self, server: &mut LiveServer) -> io::Result<Option<f64>> {
        let once = self.once.after(server, || {})?;
        let on_end = self.on_end.after(server, || {})?;
        let more = once.zip(on_end).map(|(once, on_end)| on_end - once);
        Ok(more.map(|more| more / (self.times - 1) as f64))
    }
}
