//! The player: a process that replays requests. The player is a client of the recorder's display. x11prof starts itself
//! in this mode.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use x11prof_replay::{Pace, PlayConfig, Played, ReplayError, Script, play};

use crate::commands::internal_program::tell;
use crate::error::{CommandError, Outcome, shown};
use crate::input;

/// The first word of the player's command line, which is internal and not in `--help`.
pub(crate) const WORD: &str = "--replay-player";
/// The word on the player's command line that selects the recorded pace.
pub(super) const RECORDED: &str = "recorded";
pub(super) const FULL: &str = "full";
/// The word on the player's command line for a display that other programs use.
pub(super) const SHARED: &str = "shared";
pub(super) const PRIVATE: &str = "private";

/// Replays a trace. The `words` are the result file, the trace, the pace, the kind of display and the folder for
/// screenshots.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut words = words.into_iter();
    let mut next = || words.next();
    let (Some(outcome), Some(trace), Some(pace), Some(display)) = (next(), next(), next(), next())
    else {
        return Err(CommandError::usage("for x11prof itself: x11prof replay"));
    };
    let config = PlayConfig {
        pace: match pace.to_str() {
            Some(FULL) => Pace::Full,
            _ => Pace::Recorded,
        },
        pictures: words.next().map(PathBuf::from),
    };
    let played = played(Path::new(&trace), display == SHARED, &config);
    tell(Path::new(&outcome), played)
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
