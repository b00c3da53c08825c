//! Measures a server that continues to work after its replies, for its host or for a viewer.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::{LiveServer, PAUSE};
use crate::sampling::batch::Batch;
use crate::sampling::reading::Reading;
use crate::server::clock::ProcessClock;
use crate::server::exchange::Until;
use crate::workloads::workload::Sync;

/// The number and the duration of the observations of a server that has drawn. The duration is longer than the
/// interval between two updates of any viewer.
const WATCHES: usize = 5;
const WATCHED: Duration = Duration::from_millis(50);
/// The share of the late work that may be missed.
const MISSED: f64 = 0.03;

impl LiveServer {
    /// Finds how long the server continues to work after it has replied to `drawing` and fallen asleep, for example
    /// to encode its screen for a viewer. Later readings include this work, up to the uncertainty of costs. Returns
    /// the time; zero for most servers.
    pub(super) fn watch_after_answers(&mut self, drawing: &Batch) -> io::Result<Duration> {
        let mut lasts = Vec::new();
        for _ in 0..WATCHES {
            thread::sleep(WATCHED);
            let Some(before) = self.processor_time() else {
                return Ok(Duration::ZERO);
            };
            self.timed(drawing.load(), Sync::ReadBack, Until::LastAnswered)?;
            let (start, mut seen) = (Instant::now(), Vec::new());
            while start.elapsed() < WATCHED {
                let now = self.clock.and_then(ProcessClock::now);
                seen.push((
                    start.elapsed(),
                    now.unwrap_or(before.time).saturating_sub(before.time),
                ));
                thread::sleep(PAUSE);
            }
            let all = seen.last().map_or(Duration::ZERO, |(_, all)| *all);
            let nearly = all.mul_f64(1.0 - MISSED);
            let done = seen.iter().find(|(_, time)| *time >= nearly);
            // If the work is complete at the first observation, it was complete when the server fell asleep.
            let at = done.map_or(Duration::ZERO, |(at, _)| *at);
            lasts.push(if at < PAUSE { Duration::ZERO } else { at });
        }
        lasts.sort();
        self.lingers = lasts.get(WATCHES / 2).copied().unwrap_or_default();
        Ok(self.lingers)
    }

    /// The CPU time for `bytes` on a sleeping server in microseconds, including its work within `wait` afterwards;
    /// `None` if it cannot be read.
    pub(super) fn and_what_follows(
        &mut self,
        batch: &Batch,
        wait: Duration,
    ) -> io::Result<Reading> {
        let before = self.processor_time();
        self.raw.exchange(&batch.load(), Until::Sent)?;
        thread::sleep(wait);
        Ok(self.since(before, Duration::ZERO))
    }
}
