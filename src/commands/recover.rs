//! `x11prof recover`: a complete trace out of one whose recorder was killed.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

use x11prof_trace::{TraceError, recover};

use crate::args::Recover;
use crate::error::{CommandError, Outcome};

/// Copies all whole records of the trace into a new file.
pub(crate) fn run(arguments: &Recover) -> Outcome {
    let source = File::open(&arguments.trace)
        .map_err(|error| CommandError::file(&arguments.trace, error))?;
    // A trace holds keystrokes: it is its owner's alone. An existing file is left as it is.
    let sink = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&arguments.output)
        .map_err(|error| CommandError::file(&arguments.output, error))?;
    let mut sink = BufWriter::new(sink);
    let recovered = recover(BufReader::new(source), &mut sink);
    let recovered = recovered.and_then(|recovery| {
        sink.flush().map_err(TraceError::Write)?;
        Ok(recovery)
    });
    match recovered {
        Ok(recovery) => {
            let was = if recovery.complete_before {
                "was complete"
            } else {
                "had been cut off"
            };
            eprintln!("x11prof: {} records; the trace {was}", recovery.records);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            // What was begun is not a trace; leave nothing behind that looks like one.
            let _ = std::fs::remove_file(&arguments.output);
            Err(CommandError::file(&arguments.trace, error))
        }
    }
}
