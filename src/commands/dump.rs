//! `x11prof dump`: the messages of a recording.

use x11prof_analyzer::{DumpError, DumpFilter, DumpFormat, dump};
use x11prof_trace::ConnectionId;

use crate::args::{Dump, Format};
use crate::error::{CommandError, Outcome};
use crate::input;
use crate::names;
use crate::output::{Emit, emit};

/// Prints a line for each message.
pub(crate) fn run(arguments: &Dump) -> Outcome {
    let path = &arguments.trace;
    let mut reader = input::trace(path)?;
    let format = match arguments.format {
        Format::Text => DumpFormat::Text,
        Format::Json => DumpFormat::Json,
    };
    let filter = DumpFilter {
        connection: arguments.connection.map(ConnectionId),
        messages: arguments.message.clone(),
        from: arguments.from,
        to: arguments.to,
    };
    let mut unmatched = Vec::new();
    let written = emit(None, |out| {
        unmatched = dump(&mut reader, out, format, filter).map_err(|error| match error {
            DumpError::Write(error) => Emit::Writing(error),
            DumpError::Trace(error) => Emit::Command(CommandError::file(path, error)),
        })?;
        Ok(())
    })?;
    names::unmatched(unmatched.iter().map(String::as_str))?;
    Ok(written)
}
