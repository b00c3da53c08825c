//! The destination of results: standard output, or the file of `-o`.

mod atomic_file;
mod terminal;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) use atomic_file::{Access, AtomicFile, scratch};
use signal_hook::consts::{SIGINT, SIGTERM};
use terminal::Pager;
pub(crate) use terminal::page;
use x11prof_views::EscapedJson;

use crate::error::{CommandError, Outcome};

/// Fails if the result file `to` is one of the input files `read`. Call this function before reading any input.
pub(crate) fn refuse_input<'a>(
    to: Option<&Path>,
    read: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CommandError> {
    // Compares device and inode, because a file may have several names.
    let id = |path: &Path| {
        let found = std::fs::metadata(path).ok().filter(|file| file.is_file())?;
        Some((found.dev(), found.ino()))
    };
    let Some((path, to)) = to.and_then(|path| Some((path, id(path)?))) else {
        return Ok(());
    };
    match read.into_iter().any(|read| id(read) == Some(to)) {
        true => Err(CommandError::usage(format_args!(
            "{}: the result would replace an input file; name another file with -o",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Like [`refuse_input`], for a recording: an earlier file of this name becomes FILE.old.
pub(crate) fn refuse_input_of_recording<'a>(
    to: &Path,
    read: impl IntoIterator<Item = &'a Path> + Clone,
) -> Result<(), CommandError> {
    refuse_input(Some(to), read.clone())?;
    let mut old = to.as_os_str().to_owned();
    old.push(".old");
    refuse_input(Some(Path::new(&old)).filter(|_| to.exists()), read)
}

/// Before long work: checks that the result can be written to `to`, and that `to` is not the input file `read`.
pub(crate) fn try_out(to: Option<&Path>, read: Option<&Path>) -> Result<(), CommandError> {
    refuse_input(to, read)?;
    let Some(path) = to else { return Ok(()) };
    // Dropping an unfinished file removes it.
    AtomicFile::begin(path, Access::Usual)
        .map(drop)
        .map_err(|error| CommandError::file(path, error))
}

/// Writes a result with `write` to the file `to`, or to standard output.
///
/// The file appears only when it is complete. Only the owner may read the file, because results contain window titles
/// and keys. A reader that stops early (a broken pipe, as in `x11prof dump | head`) is not an error.
pub(crate) fn emit(
    to: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Emit>,
) -> Outcome {
    emit_as(Access::Private, to, write)
}

fn emit_as(
    access: Access,
    to: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Emit>,
) -> Outcome {
    let pager = to.is_none().then(Pager::start).flatten();
    if pager.is_none() {
        // After a recording, handlers catch these signals. Their default action lets the user end a write that blocks.
        for signal in [SIGINT, SIGTERM] {
            let is_over = Arc::new(AtomicBool::new(true));
            let _ = signal_hook::flag::register_conditional_default(signal, is_over);
        }
    }
    let written = match (to, pager) {
        (Some(path), _) => {
            let mut file =
                AtomicFile::begin(path, access).map_err(|error| CommandError::file(path, error))?;
            write(&mut file).and_then(|()| Ok(file.finish()?))
        }
        (None, Some(pager)) => {
            let mut pager = BufWriter::new(pager);
            let written = write(&mut pager).and_then(|()| Ok(pager.flush()?));
            // Text that a closed pager did not read is dropped.
            pager.into_parts().0.finish();
            written
        }
        (None, None) => {
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

/// Writes `text` to the file `to`, or to standard output.
pub(crate) fn emit_text(to: Option<&Path>, text: &str) -> Outcome {
    emit(to, |out| Ok(out.write_all(text.as_bytes())?))
}

/// Writes text without session data, such as a cost table, to the file `to` or to standard output. The file has the
/// permissions that the umask allows.
pub(crate) fn emit_shared_text(to: Option<&Path>, text: &str) -> Outcome {
    emit_as(Access::Usual, to, |out| Ok(out.write_all(text.as_bytes())?))
}

/// The reason why a result was not written.
pub(crate) enum Emit {
    /// Writing the output failed.
    Writing(io::Error),
    /// Computing the result failed.
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

/// Writes all formats of the report `value` as one JSON object, for the crate `audit`. `others` are the formats other than JSON.
pub(crate) fn emit_all<const N: usize>(
    to: Option<&Path>,
    value: &impl serde::Serialize,
    others: [(&str, String); N],
) -> Outcome {
    emit_json(to, &(value, BTreeMap::from(others)))
}

/// Writes `value` as indented JSON to the file `to`, or to standard output.
pub(crate) fn emit_json(to: Option<&Path>, value: &impl serde::Serialize) -> Outcome {
    emit(to, |out| {
        serde_json::to_writer_pretty(EscapedJson::plain(&mut *out), value)
            .map_err(io::Error::from)?;
        Ok(out.write_all(b"\n")?)
    })
}
