//! `x11prof mark`: adds a mark to the running recording.

use std::process::ExitCode;

use x11prof_proxy::mark;

use crate::args::Mark;
use crate::error::{CommandError, Outcome};

/// Adds a mark to each running recording of the display.
pub(crate) fn run(arguments: Mark) -> Outcome {
    let display = arguments
        .display
        .or_else(|| std::env::var("DISPLAY").ok())
        .filter(|name| !name.is_empty());
    let display = display.ok_or_else(|| {
        CommandError::usage("DISPLAY is not set; name the recorded display with --display")
    })?;
    let marked = mark(&display, &arguments.text.join(" ")).map_err(CommandError::failed)?;
    if marked > 1 {
        say!("marked in {marked} recordings");
    }
    Ok(ExitCode::SUCCESS)
}
