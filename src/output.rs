//! Where results go: standard output, or the file of `-o`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::error::{CommandError, Outcome};

/// Writes a result through `write`. A reader that has seen enough (a broken pipe, as in
/// `x11prof dump | head`) is a success.
pub(crate) fn emit(
    to: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Emit>,
) -> Outcome {
    let written = match to {
        Some(path) => {
            let file = File::create(path).map_err(|error| CommandError::file(path, error))?;
            let mut file = BufWriter::new(file);
            write(&mut file).and_then(|()| Ok(file.flush()?))
        }
        None => {
            let mut stdout = BufWriter::new(io::stdout().lock());
            write(&mut stdout).and_then(|()| Ok(stdout.flush()?))
        }
    };
    match written {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Emit::Writing(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        Err(Emit::Writing(error)) => Err(match to {
            Some(path) => CommandError::file(path, error),
            None => CommandError::failed(format_args!("standard output: {error}")),
        }),
        Err(Emit::Command(error)) => Err(error),
    }
}

/// Writes `text` as a whole.
pub(crate) fn emit_text(to: Option<&Path>, text: &str) -> Outcome {
    emit(to, |out| Ok(out.write_all(text.as_bytes())?))
}

/// Why a result was not written: the writing itself failed, or the work that makes it.
pub(crate) enum Emit {
    /// The output failed.
    Writing(io::Error),
    /// The work failed.
    Command(CommandError),
}

impl From<io::Error> for Emit {
    fn from(error: io::Error) -> Emit {
        Emit::Writing(error)
    }
}

impl From<CommandError> for Emit {
    fn from(error: CommandError) -> Emit {
        Emit::Command(error)
    }
}

/// Writes `value` as indented JSON.
pub(crate) fn emit_json(to: Option<&Path>, value: &impl serde::Serialize) -> Outcome {
    emit(to, |out| {
        serde_json::to_writer_pretty(&mut *out, value).map_err(io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    })
}
