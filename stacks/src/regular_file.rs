//! Opens files that other users may have created. Opening a pipe or a device could block or have effects.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the regular file at `path` for reading. Does not block if another process replaces the file by a pipe in the
/// meantime.
///
/// # Errors
/// Fails if the file cannot be opened or is not regular.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let irregular = || io::Error::other("not a regular file");
    if !path.metadata()?.is_file() {
        return Err(irregular());
    }
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(irregular()),
    }
}

/// Reads a file of `/proc` as text. Names of processes and files need not be UTF-8: the kernel cuts the name of a process
/// after 15 bytes, perhaps within a letter.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read_proc(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = std::fs::read(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
