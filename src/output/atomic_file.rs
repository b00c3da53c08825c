//! A file that gets its name only when it is complete, so that a failure or an interruption never destroys an existing
//! file.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::BuildHasher;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;
use rustix::process::geteuid;
use x11prof_proxy::{ResultPath, is_being_recorded, open_directly};

/// The permissions of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The permissions that the umask allows, or the mode of the replaced file.
    Usual,
    /// Only the owner may read the file, because it contains keystrokes.
    Private,
}

/// A file that gets its name only when it is complete.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: BufWriter<File>,
    /// The final and the temporary path. `None` for a pipe, a device or a file without a name, which is written
    /// directly.
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    result: ResultPath,
    /// The file's temporary path. If the file system does not support unnamed files, the file has this path from the
    /// start.
    before: PathBuf,
}

impl AtomicFile {
    /// Creates a file for `path`. An existing file at `path` stays until [`finish`](AtomicFile::finish).
    pub(crate) fn begin(path: &Path, access: Access) -> io::Result<AtomicFile> {
        let result = ResultPath::of(path)?;
        let there = result.metadata();
        if there.as_ref().is_some_and(|there| there.is_dir()) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if let Some(there) = there
            .as_ref()
            .filter(|there| result.is_nameless() || !there.is_file())
        {
            let file = BufWriter::new(open_directly(result.path(), there)?);
            return Ok(AtomicFile { file, place: None });
        }
        if is_being_recorded(result.path()) {
            return Err(io::Error::other("a recording writes it now"));
        }
        let before = result.path().with_file_name(hidden_name());
        let file = create(&before, access)?;
        let place = Some(Place { result, before });
        let beside = AtomicFile {
            file: BufWriter::new(file),
            place,
        };
        // The mode that another user gave a file is not kept.
        let there = there.filter(|there| there.uid() == geteuid().as_raw());
        if let (Some(there), Access::Usual) = (there, access) {
            let mode = Permissions::from_mode(there.permissions().mode() & 0o777);
            beside.file.get_ref().set_permissions(mode)?;
        }
        Ok(beside)
    }

    /// Completes the file, and moves it to its final path.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.named(None)
    }

    /// Completes the file, and moves it to the first of these paths at which there is no file. All are in the file's folder.
    pub(crate) fn finish_as_new(
        mut self,
        mut paths: impl Iterator<Item = PathBuf>,
    ) -> io::Result<PathBuf> {
        let Some(place) = self.complete()? else {
            return Err(ErrorKind::Unsupported.into());
        };
        loop {
            let path = paths.next().ok_or(ErrorKind::AlreadyExists)?;
            let to = ResultPath::of(&path)?;
            match renameat_with(CWD, &place.before, CWD, to.path(), RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(path),
                Err(Errno::EXIST) => {}
                // The file system cannot do that.
                Err(Errno::INVAL) => return fs::rename(&place.before, to.path()).map(|()| path),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Completes the file, and moves it to `path`, which is on the same file system.
    pub(crate) fn finish_as(self, path: &Path) -> io::Result<()> {
        self.named(Some(path))
    }

    /// Writes the file to the disk, with its temporary path. `None` for a file that is written directly.
    fn complete(&mut self) -> io::Result<Option<&Place>> {
        self.file.flush()?;
        let Some(place) = &self.place else {
            return Ok(None);
        };
        let file = self.file.get_ref();
        file.sync_all()?;
        if file.metadata()?.nlink() == 0 {
            let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, unnamed, CWD, &place.before, AtFlags::SYMLINK_FOLLOW)?;
        }
        Ok(Some(place))
    }

    fn named(mut self, path: Option<&Path>) -> io::Result<()> {
        let Some(place) = self.complete()? else {
            return Ok(());
        };
        let other = path.map(ResultPath::of).transpose()?;
        fs::rename(
            &place.before,
            other.as_ref().unwrap_or(&place.result).path(),
        )
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // The file exists only if it was not finished. It stays if it cannot be removed.
        if let Some(place) = &self.place {
            let _ = fs::remove_file(&place.before);
        }
    }
}

/// Returns a name that no other user can guess, and so occupy.
fn hidden_name() -> String {
    let random = RandomState::new().hash_one(());
    format!(".{}-{random:016x}", env!("CARGO_PKG_NAME"))
}

/// Creates an unnamed file for a name in the folder of `before`, which disappears if this process is interrupted. If the
/// file system does not support unnamed files, the file has the path `before`.
fn create(before: &Path, access: Access) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mode = match access {
        Access::Usual => 0o666,
        Access::Private => 0o600,
    };
    options.read(true).write(true).mode(mode);
    let folder = match before.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let unnamed = OFlags::TMPFILE.bits().cast_signed();
    match options.clone().custom_flags(unnamed).open(folder) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Unsupported | ErrorKind::IsADirectory | ErrorKind::InvalidInput
            ) =>
        {
            options.create_new(true).open(before)
        }
        opened => opened,
    }
}

/// Creates an unnamed file in `folder`, which disappears when this process ends.
pub(crate) fn scratch(folder: &Path) -> io::Result<File> {
    let before = folder.join(hidden_name());
    let file = create(&before, Access::Private)?;
    // Unnamed files may not be supported.
    match fs::remove_file(&before) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn old_file_remains_until_the_new_one_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut beside = AtomicFile::begin(&path, Access::Usual).unwrap();
        beside.write_all(b"half").unwrap();
        beside.flush().unwrap();
        drop(beside);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut beside = AtomicFile::begin(&path, Access::Usual).unwrap();
        beside.write_all(b"new").unwrap();
        beside.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(
            (mode(&path), names(dir.path())),
            (0o640, vec!["result".to_owned()])
        );
        AtomicFile::begin(&path, Access::Private)
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn file_at_the_temporary_path_does_not_become_the_result() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result");
        let mut ours = AtomicFile::begin(&path, Access::Usual).unwrap();
        ours.write_all(b"ours").unwrap();
        if ours.file.get_ref().metadata().unwrap().nlink() == 0 {
            fs::write(&ours.place.as_ref().unwrap().before, "theirs").unwrap();
            ours.finish().unwrap_err();
            assert!(!path.exists());
        }
        let names = [hidden_name(), hidden_name()];
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn unnamed_file_is_written_through_its_link() {
        let dir = tempfile::tempdir().unwrap();
        let nameless = tempfile::tempfile().unwrap();
        let link = dir.path().join("stdout");
        let target = format!("/proc/self/fd/{}", nameless.as_raw_fd());
        std::os::unix::fs::symlink(target, &link).unwrap();
        let mut through = AtomicFile::begin(&link, Access::Private).unwrap();
        through.write_all(b"new").unwrap();
        through.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
    }

    #[test]
    fn links_are_kept_devices_written_and_folders_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        fs::write(dir.path().join("result"), "old").unwrap();
        std::os::unix::fs::symlink("result", &link).unwrap();
        AtomicFile::begin(&link, Access::Usual)
            .unwrap()
            .finish()
            .unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&link).unwrap().len(), 0);
        AtomicFile::begin(Path::new("/dev/null"), Access::Usual)
            .unwrap()
            .finish()
            .unwrap();
        assert!(AtomicFile::begin(dir.path(), Access::Usual).is_err());
    }
}
