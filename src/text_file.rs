//! Reads files of text, whose kind and length may be unexpected.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use x11prof_stacks::open_regular;

use crate::error::CommandError;

/// The maximum size in bytes of a file that is read as a whole. Cost tables and definitions are far shorter.
const LONGEST: u64 = 16 << 20;

/// Reads the text of the file at `path`, which the user has named. The pipes of a shell are accepted, devices are not.
/// `kind` names the expected kind of file in errors.
pub(crate) fn text(path: &Path, kind: &str) -> Result<String, CommandError> {
    // Elsewhere, a pipe may have no writer, and opening it would block.
    let opened = match path.starts_with("/dev") || path.starts_with("/proc") {
        true => File::open(path),
        false => open_regular(path),
    };
    let failed = |error| CommandError::file(path, error);
    let other = |why| CommandError::file(path, format_args!("not a {kind}: {why}"));
    let file = opened.map_err(failed)?;
    let found = file.metadata().map_err(failed)?.file_type();
    if found.is_char_device() || found.is_block_device() {
        return Err(other("a device"));
    }
    let mut bytes = Vec::new();
    let mut file = file.take(LONGEST + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(other("longer than 16 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| other("not text"))
}
