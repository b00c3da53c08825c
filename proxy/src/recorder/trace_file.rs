//! The file of a recording. No existing file is lost: the trace is written to a temporary file in the same folder until
//! a client has sent something, and is then renamed. An older file with the same name is renamed to `FILE.old`.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{
    CWD, FlockOperation, Mode, OFlags, RenameFlags, fcntl_setfl, flock, open, renameat_with,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::result_path::{ResultPath, is_ours, keep_as_old, old, shown};

/// The maximum number of attempts to lock the temporary file. An attempt fails if another recorder renames or removes
/// the file meanwhile.
const ATTEMPTS: usize = 10;
/// The time in which a pipe's reader must open the pipe.
const READER: Duration = Duration::from_secs(1);

/// An open trace file. A lock excludes other recorders. The file's mode is 0600.
#[derive(Debug)]
pub(crate) struct TraceFile {
    file: File,
    /// `None` for a pipe or a device, which is written directly.
    name: Option<Name>,
}

/// The temporary and the final name of a trace.
#[derive(Debug)]
struct Name {
    _place: ResultPath,
    path: PathBuf,
    beside: PathBuf,
    taken: bool,
}

/// The outcome of the file at the end of a recording.
#[derive(Debug, Default)]
pub(crate) struct FileOutcome {
    /// The length of the file in bytes.
    pub(crate) len: u64,
    /// True if nothing was recorded, so that an older file keeps its name.
    pub(crate) left_alone: bool,
    /// The reason why no trace has the final name; `None` if one has it.
    pub(crate) trouble: Option<String>,
}

impl TraceFile {
    /// Opens a trace that will get the name `path`. An existing file with this name is not changed yet.
    pub(crate) fn open(path: &Path) -> io::Result<TraceFile> {
        let place = ResultPath::of(path)?;
        let path = place.path().to_owned();
        match place.metadata() {
            Some(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Some(found) if !found.is_file() => {
                let file = open_directly(&path, &found)?;
                return Ok(TraceFile { file, name: None });
            }
            _ => {}
        }
        let beside = beside(&path)?;
        refuse_recorded(&path)?;
        let file = locked(&beside)?;
        let opened = TraceFile {
            file,
            name: Some(Name {
                _place: place,
                path,
                beside,
                taken: false,
            }),
        };
        if let Some(name) = &opened.name {
            // The previous recorder with this temporary file may have renamed it just now.
            refuse_recorded(&name.path)?;
        }
        opened.file.set_len(0)?;
        opened.file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(opened)
    }

    /// The file to which the trace is written.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the trace to its final name on the first call. The error contains the name of the file that has the
    /// trace instead.
    pub(crate) fn take_name(&mut self) -> Result<(), String> {
        let Some(name) = self.name.as_mut().filter(|name| !name.taken) else {
            return Ok(());
        };
        // Renaming is tried only once, even if it fails.
        name.taken = true;
        let renamed = keep_as_old(&name.path).and_then(|()| fs::rename(&name.beside, &name.path));
        if let Err(error) = renamed {
            // The next recording would overwrite the temporary file.
            let mut other = name.path.as_os_str().to_owned();
            other.push(format!(".{}", std::process::id()));
            if renameat_with(CWD, &name.beside, CWD, &other, RenameFlags::NOREPLACE).is_ok() {
                name.beside = other.into();
            }
            return Err(format!(
                "{}: it cannot have that name: {error}; the trace is in {}",
                shown(&name.path).display(),
                shown(&name.beside).display()
            ));
        }
        name.beside.clone_from(&name.path);
        Ok(())
    }

    /// Fixes the trace's name at the end of the recording. Removes the file if the recording did not begin, or if no
    /// client sent anything and an older file has the name.
    pub(crate) fn end(mut self, began: bool) -> FileOutcome {
        let len = self.file.metadata().map_or(0, |file| file.len());
        let ended = FileOutcome {
            len,
            ..FileOutcome::default()
        };
        let Some(name) = &self.name else { return ended };
        if !name.taken {
            if !began || fs::symlink_metadata(&name.path).is_ok_and(|found| found.len() > 0) {
                // Dropping the value removes the temporary file.
                return FileOutcome {
                    left_alone: began,
                    ..ended
                };
            }
            if let Err(what) = self.take_name() {
                return FileOutcome {
                    trouble: Some(what),
                    ..ended
                };
            }
        }
        let Some(name) = &self.name else { return ended };
        let trouble = match is_at(&self.file, &name.beside) {
            true => None,
            false => Some(format!(
                "{}: the trace is gone: it was deleted, replaced or unmounted while it was recorded",
                shown(&name.beside).display()
            )),
        };
        FileOutcome { trouble, ..ended }
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        if let Some(name) = self.name.as_ref().filter(|name| !name.taken)
            && is_at(&self.file, &name.beside)
        {
            // A file that cannot be removed stays, and the next recording reuses it.
            let _ = fs::remove_file(&name.beside);
        }
    }
}

/// Opens a pipe, a device or a file without a name at `path`, which was `there`, for a result.
///
/// # Errors
/// Fails if a pipe or a device belongs to another user, because that user could read the result.
pub fn open_directly(path: &Path, there: &Metadata) -> io::Result<File> {
    let is_safe = |found: &Metadata| {
        (found.dev(), found.ino()) == (there.dev(), there.ino())
            && (found.is_file() || is_ours(found))
    };
    // Another user's pipe could have a reader of that user.
    if is_safe(there) {
        let file = with_reader(path)?;
        if is_safe(&file.metadata()?) {
            return Ok(file);
        }
    }
    Err(io::Error::other("not a file, and of another user"))
}

/// Opens the pipe or device at `path` for writing. A pipe without a reader is an error after [`READER`], because a wait
/// could last for ever.
fn with_reader(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let begun = Instant::now();
    let opened = loop {
        match open(path, flags, Mode::empty()) {
            Err(Errno::NXIO) if begun.elapsed() < READER => sleep(READER / 20),
            opened => break opened,
        }
    };
    let file = opened.map_err(|error| match error {
        Errno::NXIO => io::Error::other("no program reads this pipe: start its reader first"),
        error => error.into(),
    })?;
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file.into())
}

/// True if a recorder is currently writing the file at `path`.
pub fn is_being_recorded(path: &Path) -> bool {
    // Non-blocking, because a pipe may have no writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::empty());
    // The lock is shared, so that two concurrent checks do not detect each other.
    opened.is_ok_and(|file| {
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    })
}

/// Fails if another recorder writes the file at `path`, or the one that would be replaced by its old contents.
fn refuse_recorded(path: &Path) -> io::Result<()> {
    if is_being_recorded(path) {
        return Err(recorded_by_another());
    }
    match is_being_recorded(&old(path)) {
        true => Err(io::Error::other(
            "another recording writes the file of this name with .old; name another file with -o",
        )),
        false => Ok(()),
    }
}

fn recorded_by_another() -> io::Error {
    io::Error::other("another recording writes it now; name another file with -o")
}

/// Opens and locks the file at `path`, and creates it if it does not exist.
fn locked(path: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        let file = own_file(path)?;
        // A file system without locks does not prevent recording.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(recorded_by_another());
        }
        // Between opening and locking, the file's recorder may have renamed or removed it.
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    Err(recorded_by_another())
}

/// Opens the file at `path` for writing, and creates it, with mode 0600, if it does not exist.
///
/// # Errors
/// Fails if a link, a pipe, a file with another name or a file of another user, who could read it, has the name.
pub fn own_file(path: &Path) -> io::Result<File> {
    // Non-blocking, to avoid waiting on a pipe of this name.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = flags | OFlags::WRONLY | OFlags::CREATE;
    let file = File::from(open(path, flags, Mode::RUSR | Mode::WUSR)?);
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != geteuid().as_raw() || found.nlink() > 1 {
        let way = shown(path);
        let why = format!("{} is in the way: name another folder", way.display());
        return Err(io::Error::other(why));
    }
    Ok(file)
}

/// True if `path` is still a name of `file`.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

/// The path of the temporary file, `.FILE.recording` in the folder of `path`.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".recording");
    Ok(path.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::super::result_path::create_folder;
    use super::*;
    use std::io::Write;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Opens a trace whose recorder has just ended. A program that another test starts at that moment also holds the
    /// lock until its exec.
    fn open_again(path: &Path) -> TraceFile {
        for _ in 0..1000 {
            if let Ok(trace) = TraceFile::open(path) {
                return trace;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        TraceFile::open(path).unwrap()
    }

    #[test]
    fn older_file_is_renamed_when_the_trace_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        for (n, content) in ["one", "two", "three"].iter().enumerate() {
            let mut trace = open_again(&path);
            write!(trace.file(), "{content}").unwrap();
            assert_eq!(path.exists(), n > 0);
            trace.take_name().unwrap();
            let ended = trace.end(true);
            assert_eq!((ended.len, ended.trouble), (content.len() as u64, None));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(names(dir.path()), ["trace", "trace.old"]);
        let old = dir.path().join("trace.old");
        assert_eq!(fs::read_to_string(old).unwrap(), "two");
    }

    #[test]
    fn recording_without_clients_keeps_the_older_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        // If there is no older file, the recording keeps its trace, provided that the recording began.
        assert!(!TraceFile::open(&path).unwrap().end(false).left_alone);
        assert_eq!(names(dir.path()), [""; 0]);
        assert!(!open_again(&path).end(true).left_alone);
        assert_eq!(names(dir.path()), ["trace"]);
        fs::write(&path, "good").unwrap();
        assert!(open_again(&path).end(true).left_alone);
        drop(open_again(&path));
        assert_eq!(names(dir.path()), ["trace"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "good");
    }

    #[test]
    fn file_being_recorded_is_rejected_before_and_after_naming() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        let mut first = TraceFile::open(&path).unwrap();
        let refused = |path: &Path| TraceFile::open(path).unwrap_err().to_string();
        assert!(refused(&path).contains("another recording"));
        first.take_name().unwrap();
        assert!(refused(&path).contains("another recording"));
        assert!(is_being_recorded(&path));
        // The file is also recognized by another name.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(refused(&link).contains("another recording"));
        drop(first);
        assert!(!is_being_recorded(&path));
        TraceFile::open(&path).unwrap();
    }

    #[test]
    fn file_whose_old_contents_would_replace_a_recording_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = TraceFile::open(&dir.path().join("trace.old")).unwrap();
        first.take_name().unwrap();
        let refused = TraceFile::open(&dir.path().join("trace")).unwrap_err();
        assert!(refused.to_string().contains("with .old"), "{refused}");
    }

    #[test]
    fn leftover_file_of_a_killed_recorder_is_reused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        fs::write(dir.path().join(".trace.recording"), "left").unwrap();
        let mut trace = TraceFile::open(&path).unwrap();
        trace.take_name().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
        assert_eq!(names(dir.path()), ["trace"]);
    }

    #[test]
    fn trace_that_cannot_have_its_name_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        fs::write(&path, "good").unwrap();
        fs::create_dir(dir.path().join("trace.old")).unwrap();
        let mut first = TraceFile::open(&path).unwrap();
        first.file().write_all(b"one").unwrap();
        let other = format!("trace.{}", std::process::id());
        let told = first.take_name().unwrap_err();
        assert!(told.ends_with(&format!(
            "the trace is in {}",
            dir.path().join(&other).display()
        )));
        assert_eq!(first.end(true).trouble, None);
        let mut second = TraceFile::open(&path).unwrap();
        second.take_name().unwrap_err();
        let kept = fs::read_to_string(dir.path().join(other)).unwrap();
        assert_eq!(kept, "one");
        assert_eq!(fs::read_to_string(&path).unwrap(), "good");
    }

    #[test]
    fn deleted_or_replaced_trace_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        let recorded = || {
            let mut trace = TraceFile::open(&path).unwrap();
            trace.take_name().unwrap();
            trace
        };
        let trace = recorded();
        fs::remove_file(&path).unwrap();
        assert!(trace.end(true).trouble.unwrap().contains("deleted"));
        let trace = recorded();
        fs::rename(dir.path().join("trace"), dir.path().join("elsewhere")).unwrap();
        fs::write(&path, "another's").unwrap();
        assert!(trace.end(true).trouble.unwrap().contains("replaced"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "another's");
    }

    #[test]
    fn links_are_kept_and_devices_written_directly() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("trace"), dir.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink("trace", &link).unwrap();
        TraceFile::open(&link).unwrap().take_name().unwrap();
        assert_eq!(names(dir.path()), ["link", "trace", "trace.old"]);
        let mut device = TraceFile::open(Path::new("/dev/null")).unwrap();
        device.take_name().unwrap();
        assert!(device.end(true).trouble.is_none());
        let folder = TraceFile::open(dir.path()).unwrap_err();
        assert_eq!(folder.kind(), ErrorKind::IsADirectory);
    }

    #[test]
    fn replaced_pipe_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let null = fs::metadata("/dev/null").unwrap();
        open_directly(Path::new("/dev/null"), &null).unwrap();
        let path = dir.path().join("other");
        fs::write(&path, "precious").unwrap();
        open_directly(&path, &null).unwrap_err();
        if rustix::process::geteuid().is_root() {
            let pipe = dir.path().join("pipe");
            rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
            std::os::unix::fs::chown(&pipe, Some(12_345), None).unwrap();
            open_directly(&pipe, &fs::metadata(&pipe).unwrap()).unwrap_err();
        }
    }

    #[test]
    fn pipe_without_a_reader_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        let error = TraceFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("start its reader first"), "{error}");
        // A reader that starts a moment later is waited for, and may then be slow.
        let (reading, later) = (path.clone(), READER / 5);
        let reader = std::thread::spawn(move || {
            sleep(later);
            let mut reader = File::open(reading).unwrap();
            sleep(later);
            io::copy(&mut reader, &mut io::sink()).unwrap()
        });
        let mut trace = TraceFile::open(&path).unwrap().file().try_clone().unwrap();
        trace.write_all(&[0; 1 << 20]).unwrap();
        drop(trace);
        assert_eq!(reader.join().unwrap(), 1 << 20);
    }

    #[test]
    fn existing_pipe_and_foreign_link_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |name| TraceFile::open(&dir.path().join(name)).is_err();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join(".a.recording"), mode).unwrap();
        assert!(refused("a"));
        // With a reader, the pipe can be opened for writing.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let reader = rustix::fs::open(dir.path().join(".a.recording"), flags, mode).unwrap();
        assert!(refused("a"));
        drop(reader);
        fs::write(dir.path().join("mine"), "precious").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("mine", &link).unwrap();
        fs::hard_link(dir.path().join("mine"), dir.path().join(".b.recording")).unwrap();
        assert!(refused("b"));
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, dir.path().join("other")).unwrap();
        let into = dir.path().join("other/pages");
        assert!(create_folder(&into, 0o700).is_ok() && folder.join("pages").exists());
        // A link and a file of another user, which only root can create.
        if geteuid().is_root() {
            let planted = dir.path().join(".c.recording");
            fs::write(&planted, "").unwrap();
            std::os::unix::fs::chown(&planted, Some(12_345), None).unwrap();
            let error = TraceFile::open(&dir.path().join("c")).unwrap_err();
            assert!(error.to_string().ends_with("name another folder"));
            std::os::unix::fs::lchown(dir.path().join("other"), Some(12_345), None).unwrap();
            assert!(create_folder(&into, 0o700).is_err());
            std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
            assert!(refused("link"));
            let pipe = dir.path().join("pipe");
            rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
            std::os::unix::fs::chown(&pipe, Some(12_345), None).unwrap();
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            let _reader = rustix::fs::open(&pipe, flags, mode).unwrap();
            assert!(refused("pipe"));
            // A folder that is a link of another user.
            assert!(ResultPath::of(&dir.path().join("other/new")).is_err());
        }
        assert_eq!(fs::read(dir.path().join("mine")).unwrap(), b"precious");
    }
}
