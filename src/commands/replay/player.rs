//! The process that plays: a client of the recorder's display. x11prof starts itself so.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use x11prof_replay::{Pace, PlayConfig, Played, Script, play};

use crate::commands::stand_in::tell;
use crate::error::{CommandError, Outcome};
use crate::input;

/// The first word of the player's command line. Internal.
pub(crate) const WORD: &str = "--replay-player";
/// The paces, as words.
pub(super) const RECORDED: &str = "recorded";
pub(super) const FULL: &str = "full";

/// Plays: file of the outcome, trace, pace, folder of pictures.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut words = words.into_iter();
    let (Some(outcome), Some(trace), Some(pace)) = (words.next(), words.next(), words.next())
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
    tell(Path::new(&outcome), played(Path::new(&trace), &config))
}

fn played(trace: &Path, config: &PlayConfig) -> Result<Played, CommandError> {
    let failed = |error| CommandError::file(trace, error);
    let script = Script::read(&mut input::trace(trace)?).map_err(failed)?;
    play(&script, config).map_err(failed)
}
