//! `record --ring`: keeps the last seconds of a recording in a bounded number of bytes, and writes them to a file when
//! a condition of `--when` is met. The recorder never waits for the ring's thread.

mod condition;
mod kept;
mod segment;
mod segment_preamble;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use signal_hook::consts::SIGUSR1;
use x11prof_analyzer::{Follows, LivePass, Observation, Pipeline};
use x11prof_proxy::{Watch, WatchEvent, Watched, watch};
use x11prof_trace::Record;

use crate::error::CommandError;
pub(crate) use condition::Condition;
use kept::Kept;
pub(crate) use kept::{RingOptions, Rung};
use waiting::Waiting;

/// The longest wait for a record between two checks for SIGUSR1.
const PATIENCE: Duration = Duration::from_millis(50);

/// A running ring: the thread that keeps the last seconds of a recording.
pub(crate) struct Ring {
    thread: JoinHandle<Rung>,
    over: Arc<AtomicBool>,
}

impl Ring {
    /// Starts a ring. Returns the ring, and the watch that passes records to the ring. The ring ends when the watch is
    /// dropped.
    pub(crate) fn start(options: RingOptions) -> Result<(Ring, Watch), CommandError> {
        let signal = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR1, Arc::clone(&signal))
            .map_err(|error| CommandError::failed(format_args!("signals: {error}")))?;
        let (watch, watched) = watch();
        let over = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&over);
        let thread = std::thread::Builder::new()
            .name("x11prof-ring".to_owned())
            .spawn(move || turn(&options, &watched, &signal, &ending))
            .map_err(|error| CommandError::failed(format_args!("a thread: {error}")))?;
        Ok((Ring { thread, over }, watch))
    }

    /// Waits until the ring ends. Call it after the watch was dropped.
    pub(crate) fn finish(self) -> Rung {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Rung {
            files: Vec::new(),
            trouble: vec!["the ring's thread failed".to_owned()],
        })
    }
}

/// Reads the records of a recording, checks the conditions of `--when`, and stores the segments of the ring.
struct RingFollower {
    waiting: Waiting,
    kept: Kept,
}

impl Follows for RingFollower {
    fn observe(&mut self, observation: &Observation<'_>) {
        self.waiting.observe(observation);
    }

    fn took(&mut self, record: &Record, pipeline: &Pipeline) {
        self.kept.take(record, pipeline);
        self.happened();
    }
}

impl RingFollower {
    /// Schedules a file if a condition was met.
    fn happened(&mut self) {
        if let Some(why) = self.waiting.take() {
            self.kept.wanted(why);
        }
    }
}

fn turn(options: &RingOptions, watched: &Watched, signal: &AtomicBool, over: &AtomicBool) -> Rung {
    let mut pass = LivePass::default();
    let mut follower = RingFollower {
        waiting: Waiting::new(&options.when),
        kept: Kept::new(options),
    };
    // The ring may be behind, so a signal applies after the records that had arrived when it was received.
    let (mut taken, mut signalled) = (0, None);
    loop {
        match watched.next(PATIENCE) {
            WatchEvent::Record(record) => {
                taken += 1;
                follower.kept.missed(watched.missed_before());
                pass.feed(record, &mut follower);
            }
            WatchEvent::Nothing if over.load(Ordering::Relaxed) => break,
            WatchEvent::Nothing => {}
            WatchEvent::End => break,
        }
        if signal.swap(false, Ordering::Relaxed) {
            signalled.get_or_insert(watched.came());
        }
        if signalled.take_if(|came| taken >= *came).is_some() {
            follower.waiting.signalled();
        }
        follower.happened();
        let kept = &mut follower.kept;
        kept.write_if_due(pass.pipeline(), taken, watched.came());
    }
    pass.end(&mut follower);
    if signalled.is_some() {
        follower.waiting.signalled();
    }
    follower.waiting.end();
    follower.happened();
    follower.kept.end(pass.pipeline(), watched.missed())
}
