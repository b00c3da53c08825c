//! `x11prof recover`: makes a complete trace from one whose recorder was killed.

use std::io::BufReader;
use std::process::ExitCode;

use x11prof_stacks::open_regular;
use x11prof_trace::{TraceError, recover};
use x11prof_views::units::counted;

use crate::args::Recover;
use crate::error::{CommandError, Outcome};
use crate::output::{Access, AtomicFile, refuse_input};

/// Copies all whole records of the trace into a new file.
pub(crate) fn run(arguments: &Recover) -> Outcome {
    let Recover { trace, output } = arguments;
    refuse_input(Some(output), [trace.as_path()])?;
    let source = open_regular(trace).map_err(|error| CommandError::file(trace, error))?;
    // An existing file is left unchanged.
    if output.is_file() {
        return Err(CommandError::file(
            output,
            "the file exists already; name a new file with -o",
        ));
    }
    // A trace contains keystrokes, so only the owner may read it.
    let writing = |error| CommandError::file(output, error);
    let mut sink = AtomicFile::begin(output, Access::Private).map_err(writing)?;
    let recovery = recover(BufReader::new(source), &mut sink).map_err(|error| match error {
        TraceError::Write(_) => CommandError::file(output, error),
        error => CommandError::file(trace, error),
    })?;
    sink.finish().map_err(writing)?;
    let was = if recovery.complete_before {
        "was complete"
    } else {
        "was incomplete"
    };
    say!("{}; the trace {was}", counted(recovery.records, "record"));
    Ok(ExitCode::SUCCESS)
}
