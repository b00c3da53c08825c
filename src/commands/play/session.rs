//! Converts the input in a recording to a session.

use std::path::Path;

use x11prof_analyzer::{InputWindow, UserInput, UserInputs};
use x11prof_drive::{InputKind, Place, RecordedInput, Session, WindowName};
use x11prof_stacks::open_regular;

use crate::error::CommandError;
use crate::input;
use crate::pass::Pass;
use crate::text_file::text;

/// The first bytes of a trace (the magic number of MCAP).
const TRACE: &[u8] = b"\x89MCAP";

/// The maximum number of lines that are printed of a recorded session.
const LINES: usize = 20;

/// Prints the actions of the recording at `path` before they are sent to a program, because keys in a recording from
/// another person may be commands.
pub(super) fn show(path: &Path, session: &Session) -> Result<(), CommandError> {
    if !is_trace(path)? {
        return Ok(());
    }
    let text = session.to_string();
    say!("actions in {}:", input::shown_name(path));
    for line in text.lines().take(LINES) {
        say!("  {line}");
    }
    let more = text.lines().count().saturating_sub(LINES);
    if more > 0 {
        say!("  {more} more lines: x11prof drive --print");
    }
    Ok(())
}

fn is_trace(path: &Path) -> Result<bool, CommandError> {
    let failed = |error| CommandError::file(path, error);
    let mut start = [0; TRACE.len()];
    let file = open_regular(path).map_err(failed)?;
    Ok(std::io::Read::read_exact(&mut &file, &mut start).is_ok() && start == TRACE)
}

/// Reads the session in the file: text, or the user's actions in a recording.
pub(super) fn read(path: &Path) -> Result<Session, CommandError> {
    let session = match is_trace(path)? {
        true => recorded(path)?,
        false => {
            let text = text(path, "session")?;
            text.parse()
                .map_err(|error| CommandError::file(path, error))?
        }
    };
    match session.inputs() {
        0 => Err(CommandError::file(
            path,
            "the recording has no keyboard or pointer input",
        )),
        _ => Ok(session),
    }
}

fn recorded(path: &Path) -> Result<Session, CommandError> {
    let mut inputs = UserInputs::default();
    Pass::open(path)?.run(|observation| inputs.observe(observation))?;
    let start = inputs.list.first().map(|input| input.time);
    let windows: Vec<WindowName> = inputs.windows.iter().map(window).collect();
    let list = inputs.list.iter().filter_map(|input| {
        Some(RecordedInput {
            time: input.time.since(start?),
            kind: kind(input)?,
            window: input.window.map(|number| windows[number].clone()),
            at: Place {
                x: input.input.within.0,
                y: input.input.within.1,
            },
            modifiers: input.input.modifiers,
        })
    });
    let (session, unnamed) = Session::of_inputs(list);
    let name = input::shown_name(path);
    if unnamed > 0 {
        say!(
            "{name}: {unnamed} keys are skipped: the recording has no keyboard map that names them"
        );
    }
    if inputs.omitted > 0 {
        say!(
            "{name}: the last {} inputs are skipped: a session has a maximum length",
            inputs.omitted
        );
    }
    if inputs.touches > 0 {
        say!(
            "{name}: {} touches are skipped: XTEST cannot send touches",
            inputs.touches
        );
    }
    if inputs.from_the_middle {
        say!(
            "{name}: the recording began after the clients; the names of older windows are unknown"
        );
    }
    Ok(session)
}

fn window(of: &InputWindow) -> WindowName {
    WindowName {
        class: of.class.clone(),
        title: Some(of.title.clone()).filter(|title| !title.is_empty()),
    }
}

fn kind(input: &UserInput) -> Option<InputKind> {
    let button = input.input.detail;
    Some(match input.input.kind {
        2 | 3 => InputKind::Key {
            down: input.input.kind == 2,
            names: input
                .key
                .map(|name| name.map(|name| name.as_str().to_owned())),
        },
        4 | 5 => InputKind::Button {
            down: input.input.kind == 4,
            button,
        },
        6 => InputKind::Motion,
        _ => return None,
    })
}
