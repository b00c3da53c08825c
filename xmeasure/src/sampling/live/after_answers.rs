//! Loads of a server that goes on when it has done what it was sent: for its host, or for a viewer.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::{LiveServer, PAUSE};
use crate::plan::AIM;
use crate::sampling::batch::Batch;
use crate::sampling::reading::Reading;
use crate::server::clock::ProcessClock;
use crate::server::exchange::Until;
use crate::workloads::workload::Sync;

/// By then most of it is done, and the pace is read.
const SOON: Duration = Duration::from_micros(500);

/// How often and for how long the server is watched after it has drawn: longer than the pause
/// between two updates of any viewer.
const WATCHES: usize = 5;
const WATCHED: Duration = Duration::from_millis(50);

impl LiveServer {
    /// Finds out how long the server goes on with `drawing` after it has answered and fallen
    /// asleep, such as to encode what a viewer will be sent: what it does then is read as well, all
    /// but as much as prices are unsure by. Gives that time; none of most servers.
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
            let nearly = all.mul_f64(1.0 - AIM);
            let done = seen.iter().find(|(_, time)| *time >= nearly);
            // Done at the first look is done when it fell asleep.
            let at = done.map_or(Duration::ZERO, |(at, _)| *at);
            lasts.push(if at < PAUSE { Duration::ZERO } else { at });
        }
        lasts.sort();
        self.lingers = lasts.get(WATCHES / 2).copied().unwrap_or_default();
        Ok(self.lingers)
    }

    /// The processor time that `bytes` cost a server that slept, in microseconds, what it does within
    /// `wait` afterwards included; `None` where it cannot be read.
    pub(super) fn and_what_follows(
        &mut self,
        batch: &Batch,
        wait: Duration,
    ) -> io::Result<Reading> {
        let before = self.processor_time();
        self.raw.exchange(&batch.load(), Until::Sent)?;
        let pace = self.wait(wait);
        let reading = self.since(before, Duration::ZERO);
        Ok(self.brought(reading, pace))
    }

    /// Waits for so long; the pace soon after the beginning.
    fn wait(&mut self, wait: Duration) -> Option<f64> {
        let soon = wait.min(SOON);
        thread::sleep(soon);
        let pace = self.pace_now();
        thread::sleep(wait - soon);
        pace
    }
}
