//! A directory that only this user can access, and that is removed at the end.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, read_dir, remove_dir_all, remove_file};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::processes::signals::{ENDING, before_default};

/// The prefix of all such directories' names.
const PREFIX: &str = "x11prof-";
/// The number of hexadecimal digits after the prefix.
const DIGITS: usize = 16;
/// The file in each directory that its owner holds a lock on. The kernel releases the lock however the owner ends.
const LOCK: &str = "lock";
/// A directory younger than this may not be locked yet, so it is kept.
const YOUNG: Duration = Duration::from_secs(60);

/// The directories of this process.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new directory of mode 0700 under the user's runtime directory, or under a temporary one if the session has none.
/// Other users must not be able to replace it, because programs load libraries from it. Dropping the value removes the
/// directory with its contents.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    /// The lock, which is held while the directory is in use.
    _lock: File,
}

impl PrivateDir {
    /// Creates a directory. Also removes the directories of recorders that were killed, because they contain cookies.
    ///
    /// # Errors
    /// Fails if other users could replace files in all possible parent folders.
    pub fn new() -> io::Result<PrivateDir> {
        static GUARD: Once = Once::new();
        // If this fails, a signal leaves the directories behind.
        GUARD.call_once(|| {
            _ = before_default(&ENDING, || {
                let dirs = own();
                for dir in dirs.iter() {
                    // A file may be created meanwhile.
                    _ = (0..3).any(|_| remove(dir).is_ok());
                }
                // No directory is created from here on.
                std::mem::forget(dirs);
            });
        });
        let mut refused = None;
        for base in bases() {
            match trusted(&base) {
                Ok(base) => {
                    remove_dead(&base, YOUNG);
                    return PrivateDir::new_in(&base);
                }
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    fn new_in(base: &Path) -> io::Result<PrivateDir> {
        let path = base.join(format!(
            "{PREFIX}{:0DIGITS$x}",
            u64::from_ne_bytes(random()?)
        ));
        own().push(path.clone());
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(PrivateDir { path, _lock: lock })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // A directory that cannot be removed stays.
        let _ = remove(&self.path);
        own().retain(|path| *path != self.path);
    }
}

/// The folders that may hold private directories, the preferred one first: the user's runtime directory, if the session
/// has one, and temporary folders.
fn bases() -> impl Iterator<Item = PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|dir| dir.is_absolute() && dir.is_dir());
    let temporary = [std::env::temp_dir(), PathBuf::from("/var/tmp")];
    runtime.into_iter().chain(temporary)
}

/// The path of `base` without links, if only this user and root can replace entries on it, and if LD_PRELOAD can name a
/// library in it. Links are resolved because the owner of a link could change it after the check.
fn trusted(base: &Path) -> io::Result<PathBuf> {
    let base = base.canonicalize()?;
    // Colons and spaces separate libraries, a dollar sign begins a variable (ld.so(8)).
    if base
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .any(|byte| b" :$".contains(byte))
    {
        return Err(io::Error::other(format!(
            "the name of {} has a space, a colon or a dollar sign: set TMPDIR to another folder",
            base.display()
        )));
    }
    match others_may_replace(&base)? {
        None => Ok(base),
        Some(folder) => Err(refusal(&folder)),
    }
}

/// The first folder on the path of `base` in which other users could replace this user's entries. In a folder with the
/// sticky bit only an entry's owner can do so (chmod(1), "Restricted deletion flag").
fn others_may_replace(base: &Path) -> io::Result<Option<PathBuf>> {
    for folder in base.ancestors() {
        let about = folder.metadata()?;
        let is_trusted = |owner: u32| owner == 0 || owner == geteuid().as_raw();
        // An ACL for other users appears as the group's mode (acl(5)).
        let is_open = about.mode() & 0o022 != 0 && about.mode() & 0o1000 == 0;
        if is_open || !is_trusted(about.uid()) {
            return Ok(Some(folder.to_owned()));
        }
    }
    Ok(None)
}

fn refusal(folder: &Path) -> io::Error {
    io::Error::other(format!(
        "other users could replace files in {}: set TMPDIR to a folder that only you can write, or set its sticky bit (chmod +t)",
        folder.display()
    ))
}

/// The directories of all recorders of this user. A recorder outside of this session may use another base folder.
pub(crate) fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in bases()
        .filter_map(|base| read_dir(base).ok())
        .flatten()
        .flatten()
    {
        let ours = is_dir_name(&entry.file_name())
            // A link is not followed: its target may be any file.
            && entry.path().symlink_metadata().is_ok_and(|about| is_private(&about));
        if ours && !found.contains(&entry.path()) {
            found.push(entry.path());
        }
    }
    found
}

/// True if a private directory may have this name.
fn is_dir_name(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// True for a directory that only this user can access.
fn is_private(about: &Metadata) -> bool {
    about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
}

/// Removes this user's directories in `base` whose locks are free and that are older than `young`.
fn remove_dead(base: &Path, young: Duration) {
    let Ok(entries) = read_dir(base) else { return };
    for entry in entries.flatten() {
        // A link is not followed: its target may be any file.
        let Ok(about) = entry.path().symlink_metadata() else {
            continue;
        };
        let old = about
            .modified()
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= young));
        let ours = is_dir_name(&entry.file_name()) && is_private(&about);
        if ours && old && is_dead(&entry.path()) {
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a directory with its contents. The directory itself, with its lock, stays as long as a process names it in its
/// environment and other users could make one of the same name: what a recorded program has left running would load
/// their libraries.
fn remove(path: &Path) -> io::Result<()> {
    let base = path.parent().map(Path::metadata).transpose()?;
    if base.is_none_or(|base| base.mode() & 0o022 == 0) || !is_named(path) {
        return remove_dir_all(path);
    }
    for entry in read_dir(path)?
        .flatten()
        .filter(|one| one.file_name() != LOCK)
    {
        match entry.file_type()?.is_dir() {
            true => remove_dir_all(entry.path())?,
            false => remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// True if a process was started with the name of a directory in its environment (proc(5)).
fn is_named(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    let Ok(processes) = read_dir("/proc") else {
        return false;
    };
    let mut all = processes.flatten();
    all.any(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        environment.windows(name.len()).any(|part| part == name)
    })
}

/// True if no process holds the lock of a directory. A directory without a lock file was not created by x11prof.
fn is_dead(path: &Path) -> bool {
    let lock = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path.join(LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Returns `N` random bytes from the kernel.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += getrandom(rest, GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_stays_while_a_process_names_it() {
        use std::os::unix::fs::PermissionsExt;
        let base = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o1777);
        std::fs::set_permissions(base.path(), open).unwrap();
        let dir = PrivateDir::new_in(base.path()).unwrap();
        let (path, library) = (dir.path().to_owned(), dir.path().join("library"));
        std::fs::write(&library, "").unwrap();
        let mut command = std::process::Command::new("sleep");
        let mut process = command.arg("60").env("NAMED", &library).spawn().unwrap();
        drop(dir);
        remove_dead(base.path(), Duration::ZERO);
        assert!(path.is_dir() && !library.exists());
        process.kill().unwrap();
        process.wait().unwrap();
        remove_dead(base.path(), Duration::ZERO);
        assert!(!path.exists());
    }

    #[test]
    fn folders_with_replaceable_entries_are_detected() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path().canonicalize().unwrap();
        let base = parent.join("tmp");
        std::fs::create_dir(&base).unwrap();
        let set = |folder: &Path, mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder, mode).unwrap();
        };
        for (parents, mode, found) in [
            (0o755, 0o700, None),
            (0o755, 0o1777, None),
            (0o755, 0o777, Some(&base)),
            (0o755, 0o770, Some(&base)),
            (0o777, 0o700, Some(&parent)),
            (0o1777, 0o700, None),
        ] {
            set(&parent, parents);
            set(&base, mode);
            assert_eq!(others_may_replace(&base).unwrap().as_ref(), found);
        }
        set(&parent, 0o755);
        set(&base, 0o700);
        // The runtime directory of another user, which root may inherit (sudo -E).
        if geteuid().is_root() {
            std::os::unix::fs::chown(&base, Some(12_345), None).unwrap();
            assert_eq!(others_may_replace(&base).unwrap(), Some(base));
        }
    }

    #[test]
    fn links_are_resolved_and_unsafe_folder_names_rejected() {
        let parent = tempfile::tempdir().unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert_eq!(trusted(&link).unwrap(), Path::new("/"));
        for name in ["a b", "a:b", "$LIB"] {
            let base = parent.path().join(name);
            std::fs::create_dir(&base).unwrap();
            assert!(trusted(&base).unwrap_err().to_string().contains("TMPDIR"));
        }
    }

    #[test]
    fn only_folders_of_dead_processes_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let alive = PrivateDir::new_in(base.path()).unwrap();
        let dead = PrivateDir::new_in(base.path()).unwrap();
        std::fs::write(dead.path().join("Xauthority"), "secret").unwrap();
        let dead_path = dead.path().to_owned();
        // Simulates a killed owner: the lock is released, the folder stays.
        let PrivateDir { path: _, _lock } = &dead;
        flock(_lock, FlockOperation::Unlock).unwrap();
        std::mem::forget(dead);
        let other = base.path().join("x11prof-of-somebody");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join(LOCK), "").unwrap();
        let link = base.path().join("x11prof-link");
        std::os::unix::fs::symlink(&dead_path, &link).unwrap();
        remove_dead(base.path(), YOUNG);
        assert!(dead_path.exists(), "it may be about to be locked");
        remove_dead(base.path(), Duration::ZERO);
        assert!(!dead_path.exists() && alive.path().exists() && other.exists());
        assert!(link.symlink_metadata().is_ok());
    }
}
