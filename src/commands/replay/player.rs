//! The player: a process that replays requests. The player is a client of the recorder's display. x11prof starts itself
//! in this mode.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use x11prof_replay::{Pace, PlayConfig, Played, ReplayError, Script, play};

use crate::commands::internal_program::tell;
use crate::error::{CommandError, Outcome, end_by_signal, shown};
use crate::input;

/// The first word of the player's command line, which is internal and not in `--help`.
pub(crate) const WORD: &str = "--replay-player";
/// The word on the player's command line that selects the recorded pace.
pub(super) const RECORDED: &str = "recorded";
pub(super) const FULL: &str = "full";
/// The word on the player's command line for a display that other programs use.
pub(super) const SHARED: &str = "shared";
pub(super) const PRIVATE: &str = "private";

/// The time in which the player releases keys and buttons after a signal.
const TIME_TO_STOP: Duration = Duration::from_secs(1);

/// Replays a trace. The `words` are the result file, the trace, the pace, the kind of display and the folder for
/// screenshots.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut words = words.into_iter();
    let mut next = || words.next();
    let (Some(outcome), Some(trace), Some(pace), Some(display)) = (next(), next(), next(), next())
    else {
        return Err(CommandError::usage("for x11prof itself: x11prof replay"));
    };
    let is_shared = display == SHARED;
    let stop = Arc::new(AtomicBool::new(false));
    // On a private server nothing has to be released.
    let signal = is_shared.then(|| stop_at_signals(&stop));
    let signal = signal.transpose().map_err(CommandError::failed)?;
    let config = PlayConfig {
        stop,
        pace: match pace.to_str() {
            Some(FULL) => Pace::Full,
            _ => Pace::Recorded,
        },
        pictures: words.next().map(PathBuf::from),
    };
    let played = played(Path::new(&trace), is_shared, &config);
    if let Some(signal) = signal.and_then(|signal| signal.try_recv().ok()) {
        return Ok(end_by_signal(signal));
    }
    tell(Path::new(&outcome), played)
}

/// Makes `stop` true at a signal, and returns the receiver of the signal's number. If the replay does not stop in time,
/// because the display does not reply, the signal ends the process.
fn stop_at_signals(stop: &Arc<AtomicBool>) -> io::Result<Receiver<i32>> {
    // A key must not stay pressed while this process is suspended, either.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP])?;
    let stop = Arc::clone(stop);
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        let signal = match signals.forever().next() {
            Some(SIGTSTP) | None => SIGTERM,
            Some(signal) => signal,
        };
        // Without a receiver the process is about to end.
        let _ = sender.send(signal);
        stop.store(true, Ordering::Release);
        thread::sleep(TIME_TO_STOP);
        end_by_signal(signal)
    })?;
    Ok(receiver)
}

fn played(trace: &Path, is_shared: bool, config: &PlayConfig) -> Result<Played, CommandError> {
    let failed = |error| CommandError::file(trace, error);
    let script = Script::read(&mut input::trace(trace)?, is_shared).map_err(failed)?;
    play(&script, config).map_err(|error| match error {
        ReplayError::Display { .. } | ReplayError::Silent { .. } => {
            CommandError::failed(format_args!("the replay of {}: {error}", shown(trace)))
        }
        error => failed(error),
    })
}
