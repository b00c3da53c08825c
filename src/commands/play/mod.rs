//! `x11prof drive` and `x11prof type`: a program driven by a session, recorded, and the latency of each action.

pub(crate) mod driver;
mod session;

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use signal_hook::consts::SIGTSTP;
use x11prof_analyzer::{
    EpisodeOptions, Episodes, EpisodesReport, Played, PlayedAction, PlaysReport, TraceSummary,
};
use x11prof_drive::{Driven, Pace, Session, Subject};
use x11prof_proxy::Target;
use x11prof_views::played as views;

use super::diff;
use super::internal_program::InternalProgram;
use crate::args::{Diff, Play, PlayPace, TableArguments, Type, Where, WindowChoice};
use crate::commands::emit_table::emit_table;
use crate::error::{CommandError, Outcome, shown};
use crate::input;
use crate::output::{emit_text, page, refuse_input_of_recording};
use crate::pass::Pass;

/// The name of the trace label that holds the session's name.
const PLAYED: &str = "played";
/// The default text to type.
const TEXT: &str = "the quick brown fox jumps over the lazy dog and sees five boxing wizards pack my box with a dozen liquor \
                    jugs while sphinx of black quartz judge my vow and how vexingly quick daft zebras jump all day long";

/// Runs `x11prof drive`: sends the session's input to the program, and prints the latency of each action.
pub(crate) fn play(arguments: &Play) -> Outcome {
    let path = &arguments.session;
    let session = session::read(path)?;
    if arguments.print {
        return emit_text(None, &session.to_string());
    }
    session::show(path, &session)?;
    let pace = match arguments.pace {
        PlayPace::Quiet => Pace::Quiet,
        PlayPace::Recorded => Pace::Recorded,
    };
    ask(&arguments.place, false)?;
    let name = input::shown_name(path);
    let drive = Drive {
        session: format!("{session:#}"),
        pace,
        place: &arguments.place,
        name: &name,
    };
    let shell = |line: &String| ["sh", "-c", line.as_str()].map(OsString::from).to_vec();
    let old = arguments.old.as_ref().map(shell);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    // The first run of a version has cold caches, so it is not compared.
    let first = u16::from(old.is_none());
    for time in first..=arguments.times {
        let sides = [
            (old.as_ref(), "-old", &mut before),
            (Some(&arguments.command), "", &mut after),
        ];
        for (command, side, traces) in sides {
            let Some(command) = command else { continue };
            let number = match time {
                0 => format!("{side}-cold"),
                _ => format!("{side}-{time}"),
            };
            let trace = numbered(&arguments.output, &number);
            refuse_input_of_recording(&trace, [path.as_path()])?;
            drive.once(&Subject::Command(command.clone()), &trace)?;
            if time > 0 {
                traces.push(trace);
            }
        }
    }
    if old.is_some() {
        return diff::run(&Diff {
            old: before,
            new: after,
            params: None,
            client: None,
            all: arguments.all,
            result: TableArguments {
                format: arguments.format,
                output: None,
            },
        });
    }
    let report = report(&after)?;
    let text = || views::text(&report, &page(None, arguments.all, None));
    emit_table(None, arguments.format, &report, text, || {
        views::csv(&report)
    })
}

/// Runs `x11prof type`: types into the program, and prints the distribution of the keys' latencies.
pub(crate) fn type_keys(arguments: &Type) -> Outcome {
    let text = arguments
        .text
        .as_deref()
        .map(|text| text.replace("\\n", "\n"));
    let session = Session::of_text(text.as_deref().unwrap_or(TEXT));
    if session.inputs() == 0 {
        return Err(CommandError::usage(
            "TEXT is empty; there is nothing to type",
        ));
    }
    let output = &arguments.output;
    let against = arguments.against.iter().map(PathBuf::as_path);
    refuse_input_of_recording(output, against)?;
    let subject = match arguments.window {
        Some(WindowChoice::Id(window)) => Subject::Window(window),
        Some(WindowChoice::Click) => Subject::Clicked,
        None => Subject::Command(arguments.command.clone()),
    };
    ask(&arguments.place, arguments.window.is_some())?;
    let drive = Drive {
        session: format!("{session:#}"),
        pace: Pace::Every(arguments.rate),
        place: &arguments.place,
        name: "typed keys",
    };
    drive.once(&subject, output)?;
    let traces: Vec<PathBuf> = std::iter::once(output)
        .chain(&arguments.against)
        .cloned()
        .collect();
    let report = report(&traces)?;
    let text = || views::keys(&report, &page(None, true, None));
    emit_table(None, arguments.format, &report, text, || {
        views::csv(&report)
    })
}

/// Asks the user for permission to use the keys and the pointer of the display. A private server needs no permission.
/// `is_there` is true if the window already exists on `$DISPLAY`.
fn ask(place: &Where, is_there: bool) -> Result<(), CommandError> {
    match &place.display {
        Some(display) => ask_for_input(display, place.yes, ""),
        None if is_there => {
            ask_for_input(&std::env::var("DISPLAY").unwrap_or_default(), place.yes, "")
        }
        None => Ok(()),
    }
}

/// Prompts before the keys and the pointer of `display` are used, unless `yes` permits it.
pub(super) fn ask_for_input(display: &str, yes: bool, caution: &str) -> Result<(), CommandError> {
    if yes {
        return Ok(());
    }
    let no = || {
        CommandError::usage(format_args!(
            "display {display} may be in use. --yes permits moving its pointer and pressing its keys"
        ))
    };
    if !std::io::stdin().is_terminal() {
        return Err(no());
    }
    say!(
        "this moves the pointer of display {display} and presses its keys.{caution} Continue? [y/N]"
    );
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        true => Ok(()),
        false => Err(no()),
    }
}

/// The settings with which a program is driven, for all recordings of a command.
struct Drive<'a> {
    /// The session as text, including every pause.
    session: String,
    pace: Pace,
    place: &'a Where,
    name: &'a str,
}

impl Drive<'_> {
    /// Drives the program or window `subject` once, and records it to `trace`.
    fn once(&self, subject: &Subject, trace: &Path) -> Result<(), CommandError> {
        let mut words = vec![driver::pace_word(self.pace).into()];
        words.extend(driver::subject_words(subject));
        let is_there = !matches!(subject, Subject::Command(_));
        let target = match &self.place.display {
            Some(display) => Target::Display(display.clone()),
            None if is_there => Target::Environment,
            None => Target::Private(self.place.server),
        };
        // The recorder passes the releases of keys on while the driver ends.
        crate::ignore(SIGTSTP);
        let what = format!("{}: not driven to its end", shown(trace));
        let stand_in = InternalProgram {
            word: driver::WORD,
            words,
            driven: match subject {
                Subject::Command(command) => command.clone(),
                Subject::Window(_) | Subject::Clicked => Vec::new(),
            },
            text: &self.session,
            label: (PLAYED, self.name.to_owned()),
            what: &what,
        };
        if subject == &Subject::Clicked {
            say!("click the window to type into");
        }
        let driven: Driven = match is_there {
            true => stand_in.attached(target, trace)?,
            false => stand_in.recorded(target, trace)?,
        };
        if let Some(why) = driven.stopped {
            return Err(CommandError::file(trace, why));
        }
        if let [first, rest @ ..] = driven.restless.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            say!(
                "{}: 5 s after action {first}{more}, the program or one that it started still ran",
                shown(trace)
            );
        }
        Ok(())
    }
}

/// Reports the latencies of the actions in the traces.
fn report(traces: &[PathBuf]) -> Result<PlaysReport, CommandError> {
    let plays = traces
        .iter()
        .map(|path| Ok((input::shown_name(path), actions(path)?)));
    Ok(PlaysReport::new(
        plays.collect::<Result<_, CommandError>>()?,
    ))
}

fn actions(path: &Path) -> Result<Vec<PlayedAction>, CommandError> {
    let mut summary = TraceSummary::default();
    let mut episodes = Episodes::new(&EpisodeOptions::default());
    let mut played = Played::default();
    Pass::open(path)?
        .take_together()
        .tell_missing()
        .run(|observation| {
            summary.observe(observation);
            episodes.observe(observation);
            played.observe(observation);
        })?;
    let episodes = EpisodesReport::new(&path.to_string_lossy(), &summary, &episodes.finish());
    if episodes.omitted > 0 {
        say!(
            "{}: the {} shortest episodes are not in the report; their actions count as without response",
            shown(path),
            episodes.omitted
        );
    }
    let actions = played.actions(summary.first().unwrap_or_default(), &episodes);
    match actions.is_empty() {
        true => Err(CommandError::file(path, "not a recording of drive or type")),
        false => Ok(actions),
    }
}

/// Inserts a number into the name of a recording: `drive.mcap` becomes `drive-1.mcap`.
fn numbered(path: &Path, number: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(number);
    name.push(".mcap");
    path.with_file_name(name)
}
