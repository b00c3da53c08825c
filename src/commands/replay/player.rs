//! The process that plays: a client of the recorder's display. x11prof starts itself so.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use x11prof_replay::{Pace, PlayConfig, Played, Script, play};

use crate::error::{CommandError, Outcome};
use crate::input;

/// The first word of the player's command line. Not for people.
pub(crate) const WORD: &str = "--replay-player";
/// The paces, as words.
pub(super) const RECORDED: &str = "recorded";
pub(super) const FULL: &str = "full";

/// Plays: trace, pace, file of the outcome, folder of pictures.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut words = words.into_iter();
    let (Some(trace), Some(pace), Some(outcome)) = (words.next(), words.next(), words.next())
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
    // Whoever started the player says what went wrong.
    let played = played(Path::new(&trace), &config).map_err(|error| error.message());
    let text = serde_json::to_vec(&played).map_err(CommandError::failed)?;
    let outcome = Path::new(&outcome);
    fs::write(outcome, text).map_err(|error| CommandError::file(outcome, error))?;
    Ok(ExitCode::SUCCESS)
}

fn played(trace: &Path, config: &PlayConfig) -> Result<Played, CommandError> {
    let failed = |error| CommandError::file(trace, error);
    let script = Script::read(&mut input::trace(trace)?).map_err(failed)?;
    play(&script, config).map_err(failed)
}

/// The file through which a player tells its outcome. The file goes when this is dropped.
pub(super) struct OutcomeFile(PathBuf);

impl OutcomeFile {
    pub(super) fn new() -> io::Result<OutcomeFile> {
        let name = format!("x11prof-replay-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Nobody else's file, and no link.
        let _ = fs::remove_file(&path);
        fs::File::create_new(&path)?;
        Ok(OutcomeFile(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The outcome, or the reason why the script was not played.
    pub(super) fn read(&self) -> io::Result<Result<Played, String>> {
        Ok(serde_json::from_slice(&fs::read(&self.0)?)?)
    }
}

impl Drop for OutcomeFile {
    fn drop(&mut self) {
        // Nothing can be done about a file that stays.
        let _ = fs::remove_file(&self.0);
    }
}
