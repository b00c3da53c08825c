//! `x11prof dump`: the messages of a recording.

use std::io::Write;
use std::ops::ControlFlow;

use x11prof_trace::ConnectionId;
use x11prof_views::EscapedJson;
use x11prof_views::dump::{self as views, DumpFilter, DumpFormat};

use crate::args::{Dump, Format};
use crate::error::Outcome;
use crate::names;
use crate::output::emit;
use crate::pass::Pass;

/// Prints one line for each message.
pub(crate) fn run(arguments: &Dump) -> Outcome {
    let path = &arguments.trace;
    let pass = Pass::open(path)?.tell_missing();
    let format = match arguments.format {
        Format::Text => DumpFormat::Text,
        Format::Json => DumpFormat::Json,
    };
    let filter = DumpFilter {
        connection: arguments.connection.map(ConnectionId),
        messages: arguments.message.clone(),
        from: arguments.from,
        to: arguments.to,
        switches: arguments.switches,
    };
    let mut dump = views::Dump::new(format, filter);
    let written = emit(None, |out| {
        let mut json;
        let out: &mut dyn Write = match arguments.format {
            Format::Text => out,
            Format::Json => {
                json = EscapedJson::plain(out);
                &mut json
            }
        };
        let mut written = Ok(());
        pass.run_until(|observation| {
            written = dump.observe(observation, out);
            match written.is_err() || dump.is_over() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(written?)
    })?;
    names::unmatched(dump.unmatched().iter().map(String::as_str))?;
    Ok(written)
}
