//! `record --ring`: the last seconds of a recording are kept in a bounded number of bytes, and written down only when
//! something happens that was waited for. It has a thread of its own, which the recording never waits for.

mod condition;
mod heads;
mod kept;
mod segment;
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

/// How long it waits for a record before it looks at the signal.
const PATIENCE: Duration = Duration::from_millis(50);

/// The running ring.
pub(crate) struct Ring {
    thread: JoinHandle<Rung>,
    over: Arc<AtomicBool>,
}

impl Ring {
    /// Starts the ring. It ends when the watch is dropped.
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

    /// Waits for the end, which comes once the watch is dropped, or once nothing comes any more.
    pub(crate) fn finish(self) -> Rung {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Rung {
            files: Vec::new(),
            trouble: vec!["the ring's thread failed".to_owned()],
        })
    }
}

/// What follows the recording.
struct Both {
    waiting: Waiting,
    kept: Kept,
}

impl Follows for Both {
    fn observe(&mut self, observation: &Observation<'_>) {
        self.waiting.observe(observation);
    }

    fn took(&mut self, record: &Record, pipeline: &Pipeline) {
        self.kept.take(record, pipeline);
        self.happened(pipeline);
    }
}

impl Both {
    /// What was waited for is written down, a little later.
    fn happened(&mut self, pipeline: &Pipeline) {
        if let Some(why) = self.waiting.take() {
            self.kept.wanted(why);
        }
        self.kept.write_if_due(pipeline);
    }
}

fn turn(options: &RingOptions, watched: &Watched, signal: &AtomicBool, over: &AtomicBool) -> Rung {
    let mut pass = LivePass::default();
    let mut both = Both {
        waiting: Waiting::new(&options.when),
        kept: Kept::new(options),
    };
    loop {
        match watched.next(PATIENCE) {
            WatchEvent::Record(record) => pass.feed(record, &mut both),
            WatchEvent::Nothing if over.load(Ordering::Relaxed) => break,
            WatchEvent::Nothing => {}
            WatchEvent::End => break,
        }
        if signal.swap(false, Ordering::Relaxed) {
            both.waiting.signalled();
        }
        both.happened(pass.pipeline());
    }
    pass.end(&mut both);
    both.waiting.end();
    both.happened(pass.pipeline());
    both.kept.end(pass.pipeline(), watched.missed())
}
