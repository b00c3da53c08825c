//! The speed of the server's processor during the measurement, and figures brought to one pace.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use x11prof_cost_model::{Micros, Pace};

use super::clocks::Asleep;
use super::{LiveServer, micros};
use crate::sampling::executor::SettledPace;
use crate::sampling::pace::{Looked, OF_FEW_LOOKS, OF_MANY_LOOKS, PaceWatch};
use crate::sampling::reading::{Reading, SenderPlace};
use crate::sampling::rounding::rounded;

/// The interval between two looks at the pace.
const LOOKS: Duration = Duration::from_micros(500);
/// The duration of the first watch, with these pauses: others' work on the core comes in bursts of up to a tenth of a
/// second.
const FINDING: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_micros(100);
/// The number of looks after single requests that make one reading.
const AT_ONCE: u32 = 3;

impl LiveServer {
    /// Finds the speed of the server's processor, if this thread is pinned there with it, and brings all figures to
    /// that speed until they are settled.
    pub(crate) fn find_pace(&mut self) {
        if self.pin.is_none() {
            return;
        }
        let start = Instant::now();
        while start.elapsed() < FINDING {
            self.looks.look();
            thread::sleep(BETWEEN);
        }
        self.at_us = self.looks.pace().map(|pace| pace.mean_us.0);
    }

    /// Looks from now on how fast the server's processor is, where both are pinned there.
    pub(super) fn begin_watch(&mut self) {
        self.watch = self.pin.map(|pin| PaceWatch::start(pin.both, LOOKS));
    }

    /// Ends the watch, and returns the pace seen.
    pub(super) fn end_watch(&mut self) -> Option<Pace> {
        self.watch.take()?.finish()
    }

    /// Stops looking while batches run, and brings later figures to the mean pace since then, or to the pace that is
    /// `aim` times as slow as the fastest.
    pub(super) fn settled(&mut self, aim: Option<f64>) -> Option<SettledPace> {
        let pace = self.end_watch()?;
        let before = self.at_us?;
        let mean = pace.mean_us.0;
        let at = aim.map_or(mean, |aim| pace.fastest_us.0 * aim);
        self.at_us = Some(mean);
        self.level = (at / mean).powf(OF_MANY_LOOKS);
        Some(SettledPace {
            pace: Pace {
                at_us: Some(Micros(rounded(at, 5))),
                ..pace
            },
            mean_us: mean,
            factor: (mean / before).powf(OF_FEW_LOOKS) * self.level,
        })
    }

    /// The looks so far.
    fn looked(&self) -> Option<Looked> {
        self.watch.as_ref().map(PaceWatch::so_far)
    }

    /// The present duration of a look, if this thread is on the server's processor.
    pub(super) fn pace_now(&mut self) -> Option<f64> {
        if self.at_us.is_none() || self.place != SenderPlace::Usual {
            return None;
        }
        let all: Duration = (0..AT_ONCE).map(|_| self.looks.look()).sum();
        Some(micros(all) / f64::from(AT_ONCE))
    }

    /// The result of `what`, and the duration of a look at that time: during `what` if the processor is watched,
    /// otherwise right before and after.
    pub(super) fn meanwhile<T>(
        &mut self,
        what: impl FnOnce(&mut LiveServer) -> io::Result<T>,
    ) -> io::Result<(T, Option<f64>)> {
        if let Some(before) = self.looked() {
            let all = what(self)?;
            let pace = self.looked().and_then(|looked| looked.since(before));
            return Ok((all, pace));
        }
        let before = self.pace_now();
        let all = what(self)?;
        let pace = before.zip(self.pace_now());
        Ok((all, pace.map(|(before, after)| (before + after) / 2.0)))
    }

    /// A reading at the pace that figures are brought to.
    pub(super) fn paced(
        &mut self,
        what: impl FnOnce(&mut LiveServer) -> io::Result<Reading>,
    ) -> io::Result<Reading> {
        let (reading, pace) = self.meanwhile(what)?;
        Ok(self.brought(reading, pace))
    }

    /// A reading during which a look took `pace`, at the pace that figures are brought to.
    pub(super) fn brought(&self, reading: Reading, pace: Option<f64>) -> Reading {
        let factor = pace.zip(self.at_us);
        let factor = factor.map_or(1.0, |(pace, at)| (at / pace).powf(OF_FEW_LOOKS));
        Reading {
            pace,
            ..reading.times(factor * self.level)
        }
    }

    /// The server's work since `before`, at the pace right after it.
    pub(super) fn just_now(&mut self, before: Option<Asleep>) -> Reading {
        let reading = self.since(before, Duration::ZERO);
        let pace = self.pace_now();
        self.brought(reading, pace)
    }
}
