//! The driver: a process that sends the input of a session to a program. The driver is a client of the recorder's
//! display. x11prof starts itself in this mode.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use x11prof_analyzer::play_mark;
use x11prof_drive::{DriveConfig, Driven, Pace, Session, Subject, drive};
use x11prof_proxy::{mark, relayed_clients};

use crate::commands::internal_program::tell;
use crate::error::{CommandError, Outcome};
use crate::progress::Steps;
use crate::text_file::text;

/// The first word of the driver's command line, which is internal and not in `--help`.
pub(crate) const WORD: &str = "--driver";
/// The word before the ID of an existing window in the driver's arguments, in place of a program's name.
const WINDOW: &str = "--window";

/// Drives a program. The `words` are the file that contains the session and later the result, the pace, the program and
/// its arguments.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut words = words.into_iter();
    let (Some(file), Some(pace)) = (words.next(), words.next()) else {
        return Err(CommandError::usage("for x11prof itself: x11prof drive"));
    };
    let pace = pace.to_str().and_then(pace_of);
    let words: Vec<OsString> = words.collect();
    // If the driver ended or stopped at once, a key could stay pressed on the display.
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CommandError::failed)?;
    }
    let config = DriveConfig {
        subject: subject_of(words),
        pace: pace.unwrap_or(Pace::Quiet),
        clients: || relayed_clients(&std::env::var("DISPLAY").unwrap_or_default()),
        stop,
    };
    let file = Path::new(&file);
    tell(file, driven(file, &config))
}

fn driven(path: &Path, config: &DriveConfig) -> Result<Driven, CommandError> {
    let text = text(path, "session")?;
    // `drive` has already parsed its file, so an error concerns the text of `type`.
    let session: Session = text.parse().map_err(CommandError::failed)?;
    let display = std::env::var("DISPLAY").unwrap_or_default();
    let mut lost = None;
    let mut steps = Steps::new("driving", session.inputs(), "actions");
    let driven = drive(&session, config, |action| {
        if action.is_some() {
            steps.step();
        }
        let line = action.map(|(number, action)| (number, action.to_string()));
        let line = line.as_ref().map(|(number, line)| (*number, line.as_str()));
        if let Err(error) = mark(&display, &play_mark(line)) {
            lost.get_or_insert(error);
        }
    });
    match lost {
        Some(error) => Err(CommandError::failed(error)),
        None => driven.map_err(CommandError::failed),
    }
}

/// Returns the driver's arguments for `subject`: a program with its arguments, or an existing window.
pub(super) fn subject_words(subject: &Subject) -> Vec<OsString> {
    match subject {
        Subject::Command(command) => command.clone(),
        Subject::Window(window) => vec![WINDOW.into(), window.to_string().into()],
        Subject::Clicked => vec![WINDOW.into()],
    }
}

fn subject_of(words: Vec<OsString>) -> Subject {
    match words.as_slice() {
        [word] if word == WINDOW => Subject::Clicked,
        [word, number] if word == WINDOW => {
            let number = number.to_str().and_then(|number| number.parse().ok());
            Subject::Window(number.unwrap_or_default())
        }
        _ => Subject::Command(words),
    }
}

/// Returns the driver's argument for a pace.
pub(super) fn pace_word(pace: Pace) -> String {
    match pace {
        Pace::Quiet => "quiet".to_owned(),
        Pace::Recorded => "recorded".to_owned(),
        Pace::Every(time) => format!("every={}", time.as_nanos()),
    }
}

fn pace_of(word: &str) -> Option<Pace> {
    match word {
        "recorded" => Some(Pace::Recorded),
        _ => {
            let nanos = word.strip_prefix("every=")?.parse().ok()?;
            Some(Pace::Every(Duration::from_nanos(nanos)))
        }
    }
}
