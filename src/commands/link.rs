//! `x11prof ping`: the quality of a display's connection.

use x11prof_analyzer::LinkReport;
use x11prof_proxy::link;
use x11prof_trace::{Control, Record};
use x11prof_views::link as views;

use super::record::tell_silence;
use crate::args::{Format, Link};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::output::{emit_json, emit_text, page};

/// Measures the connection, or reads the measurement in a recording, and prints it.
pub(crate) fn run(arguments: &Link) -> Outcome {
    let measured = match &arguments.trace {
        Some(path) => kept(path)?,
        None => link(arguments.display.as_deref(), tell_silence).map_err(CommandError::failed)?,
    };
    let report = LinkReport::new(&measured);
    match arguments.format {
        Format::Text => emit_text(None, &views::text(&report, &page(None, true, None))),
        Format::Json => emit_json(None, &report),
    }
}

/// Returns the measurement of the connection that `record --link` stored in the trace at `path`.
fn kept(path: &std::path::Path) -> Result<x11prof_trace::Link, CommandError> {
    let mut reader = input::trace(path)?;
    let failed = |error| CommandError::file(path, error);
    while let Some(record) = reader.next().map_err(failed)? {
        match record {
            Record::Control(_, Control::Link(link)) => return Ok(link),
            // The recorder writes the measurement before the clients' messages.
            Record::Block(_) => break,
            _ => {}
        }
    }
    Err(CommandError::file(
        path,
        "the recording has no connection test; record with --link",
    ))
}
