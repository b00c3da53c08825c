//! `x11prof issues`: what the users of many sessions suffer from, ranked.

use std::fs;
use std::path::Path;

use x11prof_collection::{IssuesReport, Known, Selection};
use x11prof_views::collection as views;

use crate::args::{Issues as Arguments, IssuesFormat};
use crate::error::{CommandError, Outcome};
use crate::output::{emit_json, emit_text, page, refuse_input};
use crate::sessions::{find, read};

/// Left-out files that are named one by one.
const NAMED: usize = 10;

/// Reads every session once and prints the list.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let to = arguments.output.as_deref();
    refuse_input(to, arguments.inputs.iter().map(AsRef::as_ref))?;
    let known = arguments
        .known
        .as_deref()
        .map_or_else(|| Ok(Known::default()), known)?;
    let found = find(&arguments.inputs)?;
    let selection = Selection {
        threshold: arguments.threshold.map(|ms| (ms * 1e6).round() as u64),
    };
    let (issues, left_out) = read(found, selection);
    let report = IssuesReport::new(&issues, &known, arguments.compare.clone(), left_out);
    if let (0, [left]) = (report.sessions, report.left_out.as_slice()) {
        return Err(CommandError::failed(format_args!(
            "{}: {}",
            left.file, left.why
        )));
    }
    for left in report.left_out.iter().take(NAMED) {
        say!("left out: {}: {}", left.file, left.why);
    }
    if report.left_out.len() > NAMED {
        say!(
            "left out: {} more files (--format json names them)",
            report.left_out.len() - NAMED
        );
    }
    if report.sessions == 0 {
        return Err(CommandError::failed(
            "no session was found; record some with: x11prof record -o FOLDER/1.mcap -- COMMAND",
        ));
    }
    if let Some(missing) = arguments
        .compare
        .iter()
        .flatten()
        .find(|one| !report.versions.contains(one))
    {
        return Err(CommandError::usage(format_args!(
            "no session is of version {missing}; there are: {}",
            report.versions.join(", ")
        )));
    }
    match (arguments.format, to) {
        (IssuesFormat::Text, _) => {
            emit_text(to, &views::text(&report, &page(to, arguments.all, None)))
        }
        (IssuesFormat::Json, _) | (IssuesFormat::Html, None) => emit_json(to, &report),
        (IssuesFormat::Html, Some(folder)) => html(&report, folder),
    }
}

fn html(_report: &IssuesReport, folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| CommandError::file(folder, error))?;
    Ok(std::process::ExitCode::SUCCESS)
}

fn known(path: &Path) -> Result<Known, CommandError> {
    let text = fs::read_to_string(path).map_err(|error| CommandError::file(path, error))?;
    Known::parse(&text).map_err(|error| CommandError::file(path, error))
}
